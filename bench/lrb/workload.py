"""The source, the query for every system, and its exact answer over rows that are stamped at emission.

Stamped so, as in Enjima's runs, the ring of an hour's reports turns many times in a minute: a load, not traffic. The
answer is exact all the same; on simulated time it is the oracle's (`bench.lrb.oracle`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from bench.answers import right
from bench.flink.job import FlinkJob
from bench.lines import Line
from bench.lrb import on_flink
from bench.lrb.oracle import Place, Toll
from bench.lrb.query import MINUTES, STOPPED, ZONE, tolls
from bench.lrb.traffic import FEET, FIELDS, HOUR, SEGMENTS, reports
from bench.numbered import TIME, NumberedSource, Pace
from bench.ring import RingPartition, occurrences
from bench.workload import RingWorkload

READ = ("type", "vid", "speed", "xway", "lane", "dir", "seg", "pos")
Occurrences = Callable[[int, int], Any]
"""How often each row occurs from a moment (microseconds) until another."""


class LrbPartition(RingPartition):
    """One partition, polled by a node."""

    schema = pa.schema([pa.field("event_time", TIME), *[pa.field(name, pa.int64()) for name in FIELDS]])

    @classmethod
    def ring(cls, position: dict[str, Any]) -> pa.Table:
        return reports(position["seed"], replace(HOUR, seconds=60 * position["minutes"]))


class LrbSource(NumberedSource):
    """`spark.readStream.format("lrb")` with options rate (rows/s), seed, t0_us and minutes."""

    opened = LrbPartition
    ddl = "event_time timestamp, " + ", ".join(f"{name} bigint" for name in FIELDS)
    numbers = ("seed", "minutes")

    @classmethod
    def name(cls) -> str:
        return "lrb"


class Exact:
    """The answer from how often each row occurs when."""

    def __init__(self, rows: pa.Table, occurring: Occurrences, window_us: int) -> None:
        columns = {name: rows[name].to_numpy() for name in READ}
        self._kept = columns["type"] == 0
        self._speed, self._vid = columns["speed"], columns["vid"]
        self._place = np.where(self._kept, (columns["xway"] * 2 + columns["dir"]) * SEGMENTS + columns["seg"], 0)
        standing = self._kept & (columns["speed"] == 0) & (columns["lane"] >= 1) & (columns["lane"] <= 3)
        self._standing = np.flatnonzero(standing)
        self._where = {n: columns[n][self._standing] for n in ("xway", "dir", "lane", "pos", "vid")}
        self._occurring = occurring
        self._window = window_us
        self._sums: dict[int, tuple[Any, Any, Any]] = {}

    def _minute(self, end_us: int) -> tuple[Any, Any, Any]:
        """Cars, sums of speeds, readings, by place, of the minute that ends then."""
        if end_us not in self._sums:
            seen = self._occurring(end_us - self._window, end_us) * self._kept
            there = seen > 0
            places = int(self._place.max()) + 1
            pairs = np.unique(self._place[there] * (1 << 32) + self._vid[there])
            cars = np.bincount(pairs >> 32, minlength=places)
            speeds, readings = (np.bincount(self._place, seen * what, places) for what in (self._speed, 1))
            self._sums[end_us] = cars, speeds.astype(np.int64), readings.astype(np.int64)
        return self._sums[end_us]

    def _closed(self, end_us: int) -> set[int]:
        """Places that an accident makes free at a moment."""
        seen = self._occurring(end_us - 2 * self._window, end_us)[self._standing]
        xway, direction, lane, pos, vid = self._where.values()
        cars, which = np.unique(np.stack([xway, direction, lane, pos, vid]), axis=1, return_inverse=True)
        stopped = cars[:, np.bincount(which.ravel(), seen, cars.shape[1]) >= STOPPED]
        spots, sizes = np.unique(stopped[:4], axis=1, return_counts=True)
        closed = set()
        for x, d, _, p in spots[:, sizes >= 2].T.tolist():
            seg = p // FEET
            zone = range(max(seg - ZONE, 0), seg + 1) if d == 0 else range(seg, min(seg + ZONE, SEGMENTS - 1) + 1)
            closed |= {(x * 2 + d) * SEGMENTS + s for s in zone}
        return closed

    def at(self, end_us: int) -> dict[tuple[int, Place], Toll]:
        """The tolls that come into effect then."""
        cars, closed = self._minute(end_us)[0], self._closed(end_us)
        _, speeds, readings = (sum(c) for c in zip(*map(self._minute, self._last(end_us)), strict=True))
        found: dict[tuple[int, Place], Toll] = {}
        for place in np.flatnonzero(cars).tolist():
            n, mean = int(cars[place]), int((2 * speeds[place] + readings[place]) // (2 * readings[place]))
            dear = n > 50 and mean < 40 and place not in closed
            key = place // (2 * SEGMENTS), place // SEGMENTS % 2, place % SEGMENTS
            found[end_us, key] = n, mean, 2 * (n - 50) ** 2 if dear else 0
        return found

    def _last(self, end_us: int) -> list[int]:
        return [end_us - n * self._window for n in range(MINUTES)]


class Lrb(RingWorkload):
    """Tolls per segment and minute."""

    name = "lrb"
    source = LrbSource
    settings = {  # noqa: RUF012
        "window": (20, "seconds of a minute (60, 40 or 20 in Enjima); the other windows follow"),
        "minutes": (60, "length of the simulation that is replayed"),
    }
    first_guess = {"headway": 20_000_000, "spark": 600_000, "flink": 600_000}  # noqa: RUF012
    left_out = {  # noqa: RUF012
        "bytewax": "a toll takes windows over the results of windows, and event time, which Bytewax counts for each "
        "key, does not go from one window operator to the next",
        "pathway": "a toll takes windows over the results of windows, and joins of them, which Pathway would compute "
        "anew for every change that a row makes to the first of them, or hold back by a delay for each",
    }

    def __init__(self, seed: int, **told: int) -> None:
        super().__init__(seed, **told)
        self.window_us = self.told["window"] * 1_000_000

    def query(self, events: DataFrame) -> DataFrame:
        return tolls(events, self.told["window"])

    def ring(self) -> pa.Table:
        return LrbPartition.ring(self.options()).select(READ)

    def exact(self, t0_us: int, rate: int | str, until_us: int) -> dict[tuple[int, Place], Toll]:
        """What all minutes that end by `until_us` give, from the definition of the rows alone."""
        pace, ring = Pace(str(rate), t0_us), self.ring()

        def occurring(start: int, end: int) -> Any:
            return occurrences(pace.first_at(start), pace.first_at(end), ring.num_rows)

        exact = Exact(ring, occurring, self.window_us)
        first = (t0_us // self.window_us + 1) * self.window_us
        return {key: toll for end in range(first, until_us + 1, self.window_us) for key, toll in exact.at(end).items()}

    def correct(self, lines: list[Line], t0_us: int, rate: int | str) -> bool:
        found = by_place(lines)
        once = len(found) == len(lines)
        return right(found, once, lambda until: self.exact(t0_us, rate, until - self.window_us), self.window_us)

    def flink(self) -> FlinkJob:
        return FlinkJob(self.ring(), on_flink.query(), on_flink.views(self.told["window"]))


def by_place(lines: list[Line]) -> dict[tuple[int, Place], Toll]:
    """Results by when they come into effect, a microsecond after the minute's last, and place."""
    return {(at + 1, (xway, direction, seg)): tuple(toll) for at, xway, direction, seg, *toll in lines}
