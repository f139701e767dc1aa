"""Generators whose row number i is a function of i alone: what all such sources share.

1. A row's event time is its scheduled emission: a system that lags shows it as latency, never as fewer rows.
2. The rate is constant, or changes at given seconds: "1000" or "1000,60:2000,120:6000" (rows/s of all partitions).
3. Partition k of n has the rows whose number is k mod n.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import pyarrow as pa
from pyspark.sql.datasource import DataSource

from headway.connectors.api import Filled, Polled, filled

TIME = pa.timestamp("us", "UTC")
_NEVER = 1 << 62
_RUN = 8
Columns = tuple[int, ...] | None
"""Which columns of a source are read; None: all."""


class Leg(NamedTuple):
    """A stretch of constant rate: its first row, when that is due, and rows/s."""

    first: int
    start_us: int
    rate: int

    def time_us(self, number: int) -> int:
        return self.start_us + (number - self.first) * 1_000_000 // self.rate


class Pace:
    """When every row is due."""

    def __init__(self, rate: str, t0_us: int) -> None:
        self._legs: list[Leg] = []
        first = 0
        for part in rate.split(","):
            at, _, value = part.rpartition(":")
            start = t0_us + int(float(at or 0) * 1e6)
            if self._legs:
                first += (start - self._legs[-1].start_us) * self._legs[-1].rate // 1_000_000
            self._legs.append(Leg(first, start, int(value)))
        self._firsts = [leg.first for leg in self._legs]

    def leg(self, number: int) -> tuple[Leg, int]:
        """The leg of a row, and the first row of the next leg."""
        at = bisect_right(self._firsts, number) - 1
        return self._legs[at], self._firsts[at + 1] if at + 1 < len(self._firsts) else _NEVER

    def time_us(self, number: int) -> int:
        return self.leg(number)[0].time_us(number)

    def first_at(self, at_us: int) -> int:
        """The first row that is due at `at_us` or later."""
        for leg in reversed(self._legs):
            if at_us >= leg.start_us:
                return leg.first - (leg.start_us - at_us) * leg.rate // 1_000_000
        return 0

    def scheduled(self, now_us: float) -> int:
        """How many rows are due at `now_us`, of all partitions."""
        for leg in reversed(self._legs):
            if now_us >= leg.start_us:
                return leg.first + int((now_us - leg.start_us) * leg.rate // 1_000_000) + 1
        return 0


@numba.njit(nogil=True, cache=True)
def times(first: int, step: int, start_us: int, rate: int, column: Any) -> None:
    """Scheduled emissions, start + floor(i * 1e6 / rate)."""
    whole, rest = divmod(first * 1_000_000, rate)
    whole_step, rest_step = divmod(step * 1_000_000, rate)
    at, rows = start_us + whole, column.shape[0]
    if whole_step == 0 and rest_step * _RUN <= rate:
        # Many rows have the same microsecond: they are written at once, with one division for all of them.
        row = 0
        while row < rows:
            run = min((rate - rest + rest_step - 1) // rest_step, rows - row)
            column[row : row + run] = at
            row += run
            rest += run * rest_step - rate
            at += 1
        return
    for row in range(rows):
        column[row] = at
        rest += rest_step
        carry = 1 if rest >= rate else 0
        rest -= carry * rate
        at += whole_step + carry


class NumberedPartition:
    """One partition, polled by a node. A workload says what its rows are: `schema` and `columns`."""

    schema: pa.Schema

    def __init__(self, position: dict[str, Any], columns: Columns = None) -> None:
        self._at = dict(position)
        if columns is not None:
            self.schema = pa.schema([self.schema.field(i) for i in columns])
        self._pace = Pace(position["rate"], position["t0_us"])
        self.step: int = position["step"]
        self._leg, self._leg_end = self._pace.leg(position["next"])
        self._asked, self._scheduled = 0.0, 0
        """When it was last asked, and what was due then: blocks are filled in turn up to one time."""

    def columns(self, first: int, rows: int, leg: Leg) -> list[pa.Array]:
        """The rows first, first + step, …, all of one leg."""
        raise NotImplementedError

    def contiguous(self, first: int) -> int:
        """At most so many rows may be made at once from `first` on."""
        return _NEVER

    def _due(self, now: float) -> int:
        """Rows of this partition that are scheduled up to `now` and not given yet."""
        if now != self._asked:
            self._asked, self._scheduled = now, self._pace.scheduled(now * 1e6)
        missing: int = self._scheduled - self._at["next"]
        return max(0, -(-missing // self.step))

    def _take(self, most: int, now: float) -> tuple[int, Leg, Filled] | None:
        """The next rows: their first number, their leg, how many they are and when they came."""
        first: int = self._at["next"]
        if first >= self._leg_end:
            self._leg, self._leg_end = self._pace.leg(first)
        leg = self._leg
        rows = min(self._due(now), most, -(-(self._leg_end - first) // self.step), self.contiguous(first))
        if rows <= 0:
            return None
        last = first + (rows - 1) * self.step
        self._at["next"] = last + self.step
        return first, leg, Filled(rows, leg.time_us(first) / 1e6, leg.time_us(last) / 1e6)

    def poll(self, now: float, max_rows: int) -> Polled | None:
        taken = self._take(max_rows, now)
        if taken is None:
            return None
        first, leg, (rows, *arrived) = taken
        return Polled(pa.RecordBatch.from_arrays(self.columns(first, rows, leg), schema=self.schema), *arrived)

    def next_due(self, now: float) -> float:
        return self._pace.time_us(self._at["next"]) / 1e6

    def backlog(self, now: float) -> int:
        return self._due(now)

    def position(self) -> dict[str, Any]:
        return dict(self._at)


class FilledPartition(NumberedPartition):
    """One whose columns are all 64 bits wide and never null: it fills memory that is lent to it."""

    def write(self, first: int, rows: int, leg: Leg, out: Any) -> None:
        """Put the rows first, first + step, … at the beginning of the columns `out`."""
        raise NotImplementedError

    def fill(self, columns: Any, most: int, now: float) -> Filled | None:
        taken = self._take(most, now)
        if taken is None:
            return None
        first, leg, found = taken
        self.write(first, found.rows, leg, columns)
        return found

    def poll(self, now: float, max_rows: int) -> Polled | None:
        return filled(self, max_rows, now)


class NumberedInline:
    """The partitions, one per node; `numbers` are the options that a workload's rows depend on."""

    replayable = True

    def __init__(
        self,
        opened: type[NumberedPartition],
        options: dict[str, str],
        numbers: tuple[str, ...],
        columns: Columns = None,
    ) -> None:
        self._opened = opened
        self._options = options
        self._numbers = numbers
        self._columns = columns

    def partitions(self, nodes: int, restored: Sequence[Any] | None, now: float) -> list[Any]:
        if restored is not None:
            return list(restored)
        told = {name: int(self._options.get(name, "0")) for name in self._numbers}
        t0 = int(self._options.get("t0_us", int(now * 1e6)))
        begin = {**told, "t0_us": t0, "rate": self._options["rate"], "step": nodes}
        return [{**begin, "next": k} for k in range(nodes)]

    def open(self, position: dict[str, Any]) -> NumberedPartition:
        return self._opened(position, self._columns)

    def narrowed(self, columns: tuple[int, ...]) -> NumberedInline:
        """Columns that nobody reads are not made, here as in the peers."""
        return NumberedInline(self._opened, self._options, self._numbers, columns)


class NumberedSource(DataSource):
    """`spark.readStream.format(name)` with options rate, t0_us and those that the rows depend on."""

    opened: type[NumberedPartition]
    ddl: str
    numbers: tuple[str, ...] = ("seed",)

    def schema(self) -> str:
        return self.ddl

    def headwaySource(self, schema: Any) -> NumberedInline:
        return NumberedInline(self.opened, dict(self.options), self.numbers)
