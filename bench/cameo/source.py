"""The generator of the experiments' streams, a Python data source that Headway polls inside its nodes.

1. A poll gives one message, due or overdue: a batch of rows of the event time at which it was due. So messages keep
   their size however far a node lags, and lag shows as latency.
2. Row i of message n of source k has an id of its own; its values are a function of the id and the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource

from bench.cameo.arrivals import Arrivals
from headway.connectors.api import Polled

FIELDS = ("event_time", "event_id", "campaign", "revenue", "job", "status", "error_class")
DDL = "event_time timestamp, " + ", ".join(f"{name} bigint" for name in FIELDS[1:])
CAMPAIGNS, REVENUES, JOBS, STATUSES, ERRORS = 100, 1000, 200, 5, 10
_TYPES = (pa.timestamp("us", "UTC"), *[pa.int64()] * 6)
_SCHEMA = pa.schema([pa.field(name, type_) for name, type_ in zip(FIELDS, _TYPES, strict=True)])
_SOURCE_BITS, _ROW_BITS = 44, 20
"""An id is source, message and row side by side: up to a million rows a message, 16 million messages a source."""


def first_id(source: int, number: int) -> int:
    """The id of a message's first row."""
    return source << _SOURCE_BITS | number << _ROW_BITS


@numba.njit(nogil=True, cache=True, inline="always")
def random_bits(event_id: Any, seed: Any) -> Any:
    """64 bits that the values of a row are cut from."""
    x = np.uint64(event_id) + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True, inline="always")
def value(bits: Any, shift: Any, size: Any) -> Any:
    """The 12 bits from `shift` on, as a number below `size`."""
    return np.int64((((bits >> np.uint64(shift)) & np.uint64(0xFFF)) * np.uint64(size)) >> np.uint64(12))


@numba.njit(nogil=True, cache=True)
def fill(first: int, seed: int, time_us: int, out: Any) -> None:
    """Fill `out` (7 columns by rows) with the rows of a message."""
    for row in range(out.shape[1]):
        bits = random_bits(first + row, seed)
        out[0, row] = time_us
        out[1, row] = first + row
        out[2, row] = value(bits, 0, 100)
        out[3, row] = value(bits, 12, 1000)
        out[4, row] = value(bits, 24, 200)
        out[5, row] = value(bits, 36, 5)
        out[6, row] = value(bits, 48, 10)


class CameoPartition:
    """One source, polled by a node."""

    def __init__(self, position: dict[str, Any]) -> None:
        self._at = position
        self._arrivals = Arrivals.of(position)
        self._schedule = self._arrivals.schedule(position["source"])
        self._t0: int = position["t0_us"]
        self._next: int = position["next"]
        self._due = self._time(self._next)

    def _time(self, number: int) -> float:
        return (self._t0 + self._schedule.due(number)) / 1e6

    def poll(self, now: float, max_rows: int) -> Polled | None:
        due = self._due
        if due > now:
            return None
        rows = self._schedule.rows
        block = pa.allocate_buffer(len(FIELDS) * rows * 8)
        columns = np.frombuffer(block, np.int64).reshape(len(FIELDS), rows)
        time_us = self._t0 + self._schedule.due(self._next)
        fill(first_id(self._at["source"], self._next), self._arrivals.seed, time_us, columns)
        self._next += 1
        self._due = self._time(self._next)
        width = rows * 8
        arrays = [
            pa.Array.from_buffers(type_, rows, [None, block.slice(n * width, width)], 0)
            for n, type_ in enumerate(_TYPES)
        ]
        return Polled(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA), due, due)

    def next_due(self, now: float) -> float:
        return self._due

    def backlog(self, now: float) -> int:
        return (self._schedule.count(int(now * 1e6) - self._t0) - self._next) * self._schedule.rows

    def position(self) -> dict[str, Any]:
        return {**self._at, "next": self._next}


class CameoInline:
    """All sources of a job; the nodes share them."""

    replayable = True

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self, nodes: int, restored: Sequence[Any] | None, now: float) -> list[Any]:
        if restored is not None:
            return list(restored)
        arrivals = Arrivals.of(self._options)
        t0 = int(self._options.get("t0_us", int(now * 1e6)))
        begin = {**arrivals.options(), "t0_us": t0, "next": 0}
        return [{**begin, "source": source} for source in range(arrivals.sources)]

    def open(self, position: dict[str, Any]) -> CameoPartition:
        return CameoPartition(position)


class CameoSource(DataSource):
    """`spark.readStream.format("cameo")` with options sources, rate (messages/s), rows, process, seed and t0_us."""

    @classmethod
    def name(cls) -> str:
        return "cameo"

    def schema(self) -> str:
        return DDL

    def headwaySource(self, schema: Any) -> CameoInline:
        return CameoInline(dict(self.options))
