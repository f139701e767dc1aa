"""The `rate` source: rows (timestamp, value) at a given speed.

1. Value v has the timestamp that Spark gives it: milliseconds since the stream began, rounded half up.
2. A row is due when its timestamp passes; that is also its arrival, so a source that lags shows its lag.
3. Partition p of n holds the values v with v % n = p; they go on from the same beginning after a restart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from headway.connectors.api import Filled, Polled, Position, Reached, filled
from headway.connectors.sources.options import integer, milliseconds, refuse_unknown
from headway.dataflow.graph import Source
from headway.dataflow.types import arrow_schema
from headway.errors import InvalidOption

VALUE = "value"
_INT64_MAX = 2**63 - 1
_UNBOUNDED = 2**63 - 1
_MICROS = np.uint64(1000)
_SCALE = np.uint64(2000)
Column: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


class Segment(NamedTuple):
    """A stretch of values that come at one speed: those from `first` up to `end`."""

    first: int
    end: int
    begin_ms: int
    """When `first` is due, in milliseconds since the stream began."""
    per_second: int


@dataclass(frozen=True)
class Ramp:
    """How fast values come: Spark's linear ramp in whole seconds, then `per_second` for ever."""

    per_second: int
    ramp_seconds: int = 0

    def value_at(self, second: int) -> int:
        """The first value that is not due before `second`."""
        ramping = min(second, self.ramp_seconds)
        step = self.per_second // (self.ramp_seconds + 1)
        return step * ramping * (ramping + 1) // 2 + (second - ramping) * self.per_second

    def segment_of(self, value: int) -> Segment:
        """The stretch that holds `value`."""
        first_steady = self.value_at(self.ramp_seconds)
        if value >= first_steady:
            return Segment(first_steady, _UNBOUNDED, self.ramp_seconds * 1000, self.per_second)
        second = self._second_of(value)
        first, end = self.value_at(second), self.value_at(second + 1)
        return Segment(first, end, second * 1000, end - first)

    def segment_at(self, ms: int) -> Segment:
        """The stretch that runs `ms` milliseconds after the stream began."""
        second = ms // 1000
        if second >= self.ramp_seconds:
            return self.segment_of(self.value_at(self.ramp_seconds))
        first, end = self.value_at(second), self.value_at(second + 1)
        return Segment(first, end, second * 1000, end - first)

    def _second_of(self, value: int) -> int:
        low, high = 0, self.ramp_seconds
        while low < high - 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.value_at(middle) <= value else (low, middle)
        return low


def due_end(segment: Segment, ms: int) -> int:
    """The first value of `segment` that is not due `ms` milliseconds after the stream began."""
    # round-half-up(k * 1000 / n) <= e  iff  k * 2000 < (2e + 1) * n
    elapsed = ms - segment.begin_ms
    if elapsed < 0:
        return segment.first
    return min(segment.end, segment.first + ((2 * elapsed + 1) * segment.per_second + 1999) // 2000)


def due_ms(segment: Segment, value: int) -> int:
    """When `value` is due, in milliseconds since the stream began."""
    n = segment.per_second
    return segment.begin_ms + ((value - segment.first) * 2000 + n) // (2 * n)


class RatePartition:
    """One partition of a rate stream."""

    def __init__(self, ramp: Ramp, schema: pa.Schema, position: dict[str, int]) -> None:
        self._ramp = ramp
        self.schema = schema
        self._begin_ms = position["begin_ms"]
        self._partition = position["partition"]
        self._stride = position["partitions"]
        self._next = position["next"]
        self._segment = ramp.segment_of(self._next)
        self._steps = np.zeros(0, np.int64)

    def poll(self, now: float, max_rows: int) -> Polled | None:
        return filled(self, max_rows, now)

    def fill(self, columns: Sequence[Column], most: int, now: float) -> Filled | None:
        segment = self._segment
        end = due_end(segment, self._elapsed_ms(now))
        rows = min(-((self._next - end) // self._stride), most)
        if rows <= 0:
            return None
        first, last = self._next, self._next + (rows - 1) * self._stride
        for field, column in zip(self.schema, columns, strict=True):
            write = self._write_values if field.name == VALUE else self._write_times
            write(segment, first, column[:rows])
        self._next = last + self._stride
        if self._next >= segment.end:
            self._segment = self._ramp.segment_of(self._next)
        return Filled(rows, self._arrival(segment, first), self._arrival(segment, last))

    def next_due(self, now: float) -> float:
        return self._arrival(self._segment, self._next)

    def backlog(self, now: float) -> int:
        elapsed = self._elapsed_ms(now)
        if elapsed < 0:
            return 0
        return max(0, -((self._next - due_end(self._ramp.segment_at(elapsed), elapsed)) // self._stride))

    def position(self) -> Position:
        return {
            "begin_ms": self._begin_ms,
            "partition": self._partition,
            "partitions": self._stride,
            "next": self._next,
        }

    def reached(self) -> Reached:
        """Whole seconds of which all rows were given."""
        segment = self._segment
        seconds = segment.begin_ms // 1000 + (self._next - segment.first) // segment.per_second
        return Reached(seconds, seconds)

    def _elapsed_ms(self, now: float) -> int:
        # The microsecond makes up for what a float cannot hold, so that a row is due at the time next_due gave.
        return math.floor(now * 1000 + 1e-3) - self._begin_ms

    def _arrival(self, segment: Segment, value: int) -> float:
        return (self._begin_ms + due_ms(segment, value)) / 1000

    def _write_values(self, segment: Segment, first: int, values: Column) -> None:
        np.add(self._steps_of(len(values)), first, out=values)

    def _write_times(self, segment: Segment, first: int, times: Column) -> None:
        """The timestamps of `due_ms`, exactly, in a whole column."""
        n = segment.per_second
        # Counted from a whole second near the first value, the products below fit 64 bits however long it runs.
        second = (first - segment.first) // n
        begin_us = (self._begin_ms + segment.begin_ms + second * 1000) * 1000
        scaled = (first - segment.first - second * n) * 2000 + n
        unsigned = times.view(np.uint64)
        np.multiply(self._steps_of(len(times)).view(np.uint64), _SCALE, out=unsigned)
        unsigned += np.uint64(scaled)
        unsigned //= np.uint64(2 * n)
        unsigned *= _MICROS
        unsigned += np.uint64(begin_us)

    def _steps_of(self, rows: int) -> Column:
        """How far each of so many values is from the first."""
        if len(self._steps) < rows:
            self._steps = np.arange(2 * rows, dtype=np.int64) * self._stride
        return self._steps[:rows]


@dataclass(frozen=True)
class RateSource:
    """The rate source as planned; partitions default to the number of nodes."""

    ramp: Ramp
    num_partitions: int | None
    schema: pa.Schema
    replayable: bool = True

    def partitions(self, nodes: int, restored: Sequence[Position] | None, now: float) -> list[Position]:
        """Restored positions keep the number of partitions that the stream began with."""
        if restored:
            return list(restored)
        count = self.num_partitions or nodes
        begin = math.floor(now * 1000)
        return [{"begin_ms": begin, "partition": p, "partitions": count, "next": p} for p in range(count)]

    def open(self, position: Position) -> RatePartition:
        return RatePartition(self.ramp, self.schema, position)

    def narrowed(self, columns: tuple[int, ...]) -> RateSource:
        return replace(self, schema=pa.schema([self.schema.field(i) for i in columns]))


def open_rate(source: Source) -> RateSource:
    """Check the options of a rate source."""
    refuse_unknown(source, ("rowsPerSecond", "rampUpTime", "numPartitions"), ("useManualClock",))
    per_second = integer(source, "rowsPerSecond", 1)
    ramp_seconds = milliseconds(source, "rampUpTime", "0s", bare_unit="s") // 1000
    if ramp_seconds > _INT64_MAX // per_second:
        raise InvalidOption(f"rampUpTime of {ramp_seconds} s overflows with {per_second} rowsPerSecond: lower one")
    count: Any = source.option("numPartitions") and integer(source, "numPartitions", 1)
    return RateSource(Ramp(per_second, ramp_seconds), count, arrow_schema(source.schema))
