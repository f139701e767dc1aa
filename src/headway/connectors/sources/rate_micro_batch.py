"""The `rate-micro-batch` source: the same rows in every run, batch after batch.

1. Batch b holds the values from b * rowsPerBatch on, all with timestamp startTimestamp + b * advanceMillisPerBatch.
2. Headway has no micro-batches, so a batch is due every advanceMillisPerBatch of real time, that is, generated time
   runs like real time; but at least once a second, and once a second where time does not advance (0), for a source
   that waits an hour for its next row helps nobody.
3. A restarted stream goes on with the next batch at once: as in Spark, no batch passes while nothing runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headway.connectors.api import Polled, Position, Reached
from headway.connectors.sources.options import integer, refuse_unknown
from headway.dataflow.graph import Source
from headway.dataflow.types import arrow_schema
from headway.errors import InvalidOption

LONGEST_WAIT_MS = 1000


@dataclass(frozen=True)
class Batches:
    """What the batches hold and when they are due."""

    rows: int
    start_ms: int
    advance_ms: int

    @property
    def interval_ms(self) -> int:
        return min(self.advance_ms, LONGEST_WAIT_MS) or LONGEST_WAIT_MS


class MicroBatchPartition:
    """One partition of the stream: values v with v % partitions = partition."""

    def __init__(self, batches: Batches, schema: pa.Schema, position: dict[str, int]) -> None:
        self._batches = batches
        self._schema = schema
        self._begin_ms = position["begin_ms"]
        self._partition = position["partition"]
        self._stride = position["partitions"]
        self._next = position["next"]

    def poll(self, now: float, max_rows: int) -> Polled | None:
        """Rows of one batch at a time, for they share a timestamp."""
        batch = self._next // self._batches.rows
        arrival = self._due(batch)
        if now < arrival or max_rows <= 0:
            return None
        end = (batch + 1) * self._batches.rows
        rows = min(-((self._next - end) // self._stride), max_rows)
        first, self._next = self._next, self._next + rows * self._stride
        values = np.arange(first, self._next, self._stride, dtype=np.int64)
        return Polled(self._record_batch(batch, values), arrival, arrival)

    def next_due(self, now: float) -> float:
        return self._due(self._next // self._batches.rows)

    def backlog(self, now: float) -> int:
        elapsed = math.floor(now * 1000 + 1e-3) - self._begin_ms
        end = (elapsed // self._batches.interval_ms + 1) * self._batches.rows
        return max(0, -((self._next - end) // self._stride))

    def position(self) -> Position:
        return {
            "begin_ms": self._begin_ms,
            "partition": self._partition,
            "partitions": self._stride,
            "next": self._next,
        }

    def reached(self) -> Reached:
        """Whole batches of which all rows were given."""
        batches, done = self._batches, self._next // self._batches.rows
        shown = {"offset": done * batches.rows, "timestamp": batches.start_ms + done * batches.advance_ms}
        return Reached(done, shown)

    def _due(self, batch: int) -> float:
        return (self._begin_ms + batch * self._batches.interval_ms) / 1000

    def _record_batch(self, batch: int, values: np.ndarray[Any, Any]) -> pa.RecordBatch:
        time_us = (self._batches.start_ms + batch * self._batches.advance_ms) * 1000
        times = np.full(len(values), time_us, dtype=np.int64)
        columns = [
            pa.Array.from_buffers(field.type, len(values), [None, pa.py_buffer(column)])
            for field, column in zip(self._schema, (times, values), strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


@dataclass(frozen=True)
class MicroBatchSource:
    """The source as planned; partitions default to the number of nodes."""

    batches: Batches
    num_partitions: int | None
    schema: pa.Schema
    replayable: bool = True

    def partitions(self, nodes: int, restored: Sequence[Position] | None, now: float) -> list[Position]:
        now_ms = math.floor(now * 1000)
        if restored:
            done = min(position["next"] for position in restored) // self.batches.rows
            return [{**position, "begin_ms": now_ms - done * self.batches.interval_ms} for position in restored]
        count = self.num_partitions or nodes
        return [{"begin_ms": now_ms, "partition": p, "partitions": count, "next": p} for p in range(count)]

    def open(self, position: Position) -> MicroBatchPartition:
        return MicroBatchPartition(self.batches, self.schema, position)


def open_rate_micro_batch(source: Source) -> MicroBatchSource:
    """Check the options; rowsPerBatch has no default, as in Spark."""
    refuse_unknown(source, ("rowsPerBatch", "numPartitions", "startTimestamp", "advanceMillisPerBatch"))
    if source.option("rowsPerBatch") is None:
        raise InvalidOption("source rate-micro-batch needs the option rowsPerBatch: give a whole number >= 1")
    rows = integer(source, "rowsPerBatch", 0)
    start = integer(source, "startTimestamp", 0, least=0)
    advance = integer(source, "advanceMillisPerBatch", 1000, least=0)
    count: Any = source.option("numPartitions") and integer(source, "numPartitions", 1)
    return MicroBatchSource(Batches(rows, start, advance), count, arrow_schema(source.schema))
