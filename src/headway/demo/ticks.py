"""A stream that both engines read alike, and a sink that tells how late each row was when it could be seen.

Spark's own `rate` source hands rows to Structured Streaming once a second, which would not be a fair comparison: the
rows of `Ticks` can be read at the moment they are due.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

TICKS_PER_SECOND = 200


class _Range(InputPartition):  # type: ignore[misc]
    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end


class Ticks(DataSource):  # type: ignore[misc]
    """Rows `(value, due)`: numbers, and the time at which each came into being, in seconds since the epoch."""

    @classmethod
    def name(cls) -> str:
        return "headway-ticks"

    def schema(self) -> str:
        return "value long, due double"

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:
        return _TicksReader()


class _TicksReader(DataSourceStreamReader):  # type: ignore[misc]
    def initialOffset(self) -> dict[str, int]:
        return {"tick": _now()}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"tick": max(start["tick"], _now())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [_Range(start["tick"], end["tick"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Range)
        ticks = range(partition.first, partition.end)
        due = [tick / TICKS_PER_SECOND for tick in ticks]
        yield pa.record_batch([pa.array(ticks, pa.int64()), pa.array(due, pa.float64())], names=["value", "due"])


def _now() -> int:
    return int(time.time() * TICKS_PER_SECOND)


class Probe:
    """For `foreach`: measures, when it gets a row, how long ago the row was due, and writes that to a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._seen: list[tuple[float, float]] = []

    def open(self, partition: int, epoch: int) -> bool:
        self._seen = []
        return True

    def process(self, row: Any) -> None:
        now = time.time()
        self._seen.append((now, now - row.due))

    def close(self, error: Exception | None) -> None:
        (Path(self._directory) / f"{uuid.uuid4()}.json").write_text(json.dumps(self._seen))


def latencies(directory: str, after: float) -> list[float]:
    """What probes saw later than `after`: seconds from due to seen, sorted."""
    seen = [pair for file in Path(directory).glob("*.json") for pair in json.loads(file.read_text())]
    return sorted(latency for at, latency in seen if at > after)
