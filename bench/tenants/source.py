"""The events of one tenant, a Python data source that Headway polls inside its nodes.

1. An event is (event_time, key, value); its number n in the tenant's schedule says all: key = n mod 10, value = n.
2. Its event time is the moment it is due: a system that lags shows it as latency, never as fewer rows.
3. A tenant has one partition with events; the others are empty, so that tenants are dealt to the nodes in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from bench.tenants.schedule import Run, schedule
from headway.connectors.api import Polled

KEYS = 10
DDL = "event_time timestamp, key bigint, value bigint"
_SCHEMA = pa.schema([("event_time", pa.timestamp("us", "UTC")), ("key", pa.int64()), ("value", pa.int64())])
_NEVER = float("inf")


class TenantPartition:
    """One partition, polled by a node. `runs` are what is left of the schedule, `taken` what of the first is given."""

    def __init__(self, position: dict[str, Any]) -> None:
        self._runs = [Run(*run) for run in position["runs"]]
        self._taken = int(position["taken"])
        self._number = int(position["number"])

    def poll(self, now: float, max_rows: int) -> Polled | None:
        if not self._runs:
            return None
        run = self._runs[0]
        rows = min(run.due(now * 1e6) - self._taken, max_rows)
        if rows <= 0:
            return None
        first = run.start_us + self._taken * run.gap_us
        times = first + np.arange(rows, dtype=np.int64) * run.gap_us
        numbers = np.arange(self._number, self._number + rows, dtype=np.int64)
        self._advance(run, rows)
        arrays = [pa.array(times).cast(_SCHEMA.field(0).type), pa.array(numbers % KEYS), pa.array(numbers)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
        return Polled(batch, first / 1e6, int(times[-1]) / 1e6)

    def _advance(self, run: Run, rows: int) -> None:
        self._taken += rows
        self._number += rows
        if self._taken == run.rows:
            del self._runs[0]
            self._taken = 0

    def next_due(self, now: float) -> float:
        if not self._runs:
            return _NEVER
        return (self._runs[0].start_us + self._taken * self._runs[0].gap_us) / 1e6

    def backlog(self, now: float) -> int:
        return sum(run.due(now * 1e6) for run in self._runs) - self._taken if self._runs else 0

    def position(self) -> dict[str, Any]:
        return {"runs": [list(run) for run in self._runs], "taken": self._taken, "number": self._number}


class TenantInline:
    """The partitions, one per node, all but one of them empty."""

    replayable = True

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self, nodes: int, restored: Sequence[Any] | None, now: float) -> list[Any]:
        if restored is not None:
            return list(restored)
        tenant = int(self._options["tenant"])
        runs = runs_of(self._options)
        return [
            {"runs": [list(run) for run in runs] if node == tenant % nodes else [], "taken": 0, "number": 0}
            for node in range(nodes)
        ]

    def open(self, position: dict[str, Any]) -> TenantPartition:
        return TenantPartition(position)


def runs_of(options: dict[str, str]) -> list[Run]:
    """The schedule that a source's options name."""
    return schedule(int(options["seed"]), int(options["tenant"]), int(options["t0_us"]), float(options["seconds"]))


class TenantSource(DataSource):
    """`spark.readStream.format("tenant")` with options tenant, seed, t0_us and seconds."""

    @classmethod
    def name(cls) -> str:
        return "tenant"

    def schema(self) -> str:
        return DDL

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        raise NotImplementedError("the tenants' events are made for Headway's nodes alone")

    def headwaySource(self, schema: Any) -> TenantInline:
        return TenantInline(dict(self.options))
