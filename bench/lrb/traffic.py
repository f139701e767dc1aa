"""A seeded simulation of expressways, second by second, and the reports that its cars send.

1. A car enters at a ramp, reports every 30 seconds from then on, and leaves from lane 4 with its last report. Most who
   enter before downtown (segments 33 to 66) leave there.
2. A segment with many cars is slow; so are the one with an accident and the one before it.
3. Accidents: two cars of one segment stop side by side, go on reporting, and drive on some minutes later. No other car
   has speed zero, so four reports of speed zero are four at one position.
4. One report in two hundred is followed by a question for the account's balance or a day's expenditure (types 2, 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

SEGMENTS, FEET = 100, 5280
PERIOD = 30
"""Seconds between reports of a car."""
FIELDS = (
    "type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos", "qid", "s_init", "s_end", "dow", "tod", "day",
)  # fmt: skip
_DOWNTOWN = 33, 66
_CROWDS = np.array([72, 87, 102, 117, 132])
_STATE = ("vid", "xway", "dir", "lane", "entry", "exit", "since", "speed", "pos", "stopped")
_FEET_PER_SECOND = FEET / 3600


@dataclass(frozen=True)
class Size:
    """How much traffic: seconds, new cars per second and expressway, expressways."""

    seconds: int = 3600
    cars_per_s: float = 2.0
    xways: int = 1
    accident_every: int = 600


class Traffic:
    """The cars on the road, a column per property; `step` moves them by a second."""

    def __init__(self, seed: int, size: Size) -> None:
        self._random = np.random.default_rng(seed)
        self._size = size
        self._next_vid = 1
        self._cars = {name: np.zeros(0, np.float64 if name == "pos" else np.int64) for name in _STATE}
        self._accident_at = [self._soon(0) for _ in range(size.xways)]
        self._closed: dict[tuple[int, int, int], int] = {}
        """Segments with an accident, and until when."""

    def _soon(self, now: int) -> int:
        every = self._size.accident_every
        return now + every // 2 + int(self._random.integers(0, every))

    def step(self, now: int) -> Any:
        """A second passes; the reports of this second, as rows of FIELDS."""
        self._enter(now)
        self._clear(now)
        self._move()
        for xway in range(self._size.xways):
            if now >= self._accident_at[xway]:
                self._crash(xway, now)
        return self._report(now)

    def _enter(self, now: int) -> None:
        size, random = self._size, self._random
        busy = np.sin(np.pi * now / size.seconds) + 0.8 + random.random()
        count = int(np.ceil(busy * size.cars_per_s * size.xways)) if size.cars_per_s >= 1 else random.poisson(busy)
        direction = random.integers(0, 2, count)
        along = random.integers(0, SEGMENTS - 2, count)  # counted in the direction of travel
        last = SEGMENTS - 1
        leave = np.minimum(along + 2 + (random.random(count) * (last - along - 1)).astype(np.int64), last)
        downtown = (along < _DOWNTOWN[0]) & (random.random(count) < 0.8)
        leave = np.where(downtown, random.integers(*_DOWNTOWN, count), leave)
        entry, leave = (np.where(direction == 0, at, last - at) for at in (along, leave))
        new = {
            "vid": self._next_vid + np.arange(count),
            "xway": random.integers(0, size.xways, count),
            "dir": direction,
            "lane": np.zeros(count, np.int64),
            "entry": entry,
            "exit": leave,
            "since": np.full(count, now),
            "speed": np.full(count, 10),
            "pos": entry * float(FEET) + np.where(direction == 0, 0, FEET - 1),
            "stopped": np.zeros(count, np.int64),
        }
        self._next_vid += count
        self._cars = {name: np.concatenate([self._cars[name], new[name]]) for name in _STATE}

    def _places(self) -> Any:
        """The number of each car's (expressway, direction, segment)."""
        cars = self._cars
        return (cars["xway"] * 2 + cars["dir"]) * SEGMENTS + (cars["pos"] // FEET).astype(np.int64)

    def _slowed(self) -> Any:
        """How much slower each car goes for the others around it and for accidents."""
        places = self._places()
        crowd = np.bincount(places, minlength=self._size.xways * 2 * SEGMENTS)
        slow = 10 * np.searchsorted(_CROWDS, crowd)
        for xway, direction, segment in self._closed:
            before = segment - 1 if direction == 0 else segment + 1
            for at in (segment, before):
                if 0 <= at < SEGMENTS:
                    slow[(xway * 2 + direction) * SEGMENTS + at] += 40
        return slow[places]

    def _move(self) -> None:
        cars, random = self._cars, self._random
        count = len(cars["vid"])
        ramp = cars["lane"] == 0
        change = ~ramp & (random.random(count) < 0.4)
        faster = np.where(ramp, random.integers(0, 10, count), random.integers(0, 5, count))
        drift = np.where(change & (random.random(count) < 0.5), -faster, faster)
        cap = np.where(ramp, 40, 70) - self._slowed() + random.integers(-4, 5, count)
        speed = np.clip(cars["speed"] + drift, 8, np.maximum(cap, 8))
        speed = np.where(cars["stopped"] > 0, 0, speed)
        lanes = np.where(change & (cars["lane"] < 4), random.integers(1, 4, count), cars["lane"])
        cars["lane"] = np.where(cars["stopped"] > 0, cars["lane"], lanes)
        cars["pos"] = np.clip(
            cars["pos"] + np.where(cars["dir"] == 0, 1, -1) * speed * _FEET_PER_SECOND, 0, FEET * SEGMENTS - 1
        )
        cars["speed"] = speed
        self._change_lanes()

    def _change_lanes(self) -> None:
        """Into traffic a segment after the ramp, and out of it at the exit."""
        cars = self._cars
        segment = (cars["pos"] // FEET).astype(np.int64)
        left_ramp = (cars["lane"] == 0) & (segment != cars["entry"])
        at_exit = (segment == cars["exit"]) & (cars["stopped"] == 0)
        cars["lane"] = np.where(at_exit, 4, np.where(left_ramp, 1, cars["lane"]))

    def _crash(self, xway: int, now: int) -> None:
        """Two cars of one segment stop at one place; if there are none, an accident is due in the next second too."""
        cars = self._cars
        driving = np.flatnonzero((cars["xway"] == xway) & (cars["lane"] > 0) & (cars["lane"] < 4))
        driving = driving[cars["stopped"][driving] == 0]
        places = self._places()[driving]
        found, sizes = np.unique(places, return_counts=True)
        if not (sizes >= 2).any():
            return
        crowded = found[np.argmax(sizes)]
        one, other = driving[places == crowded][:2]
        until = now + 300 + int(self._random.integers(0, 300))
        for name in ("pos", "lane"):
            cars[name][other] = cars[name][one]
        for car in (one, other):
            cars["pos"][car], cars["speed"][car], cars["stopped"][car] = np.floor(cars["pos"][one]), 0, until
        segment = int(crowded) % SEGMENTS
        self._closed[xway, int(crowded) // SEGMENTS % 2, segment] = until
        self._accident_at[xway] = self._soon(now)

    def _clear(self, now: int) -> None:
        cars = self._cars
        freed = (cars["stopped"] > 0) & (cars["stopped"] <= now)
        cars["stopped"] = np.where(freed, 0, cars["stopped"])
        self._closed = {place: until for place, until in self._closed.items() if until > now}

    def _report(self, now: int) -> Any:
        cars = self._cars
        due = (now - cars["since"]) % PERIOD == 0
        rows = np.full((int(due.sum()), len(FIELDS)), -1, np.int64)
        position = cars["pos"][due].astype(np.int64)
        told = {"type": 0, "time": now, "seg": position // FEET, "pos": position}
        for name in ("vid", "speed", "xway", "lane", "dir"):
            told[name] = cars[name][due]
        for name, values in told.items():
            rows[:, FIELDS.index(name)] = values
        stay = ~(due & (cars["lane"] == 4))
        self._cars = {name: column[stay] for name, column in cars.items()}
        return np.concatenate([rows, self._questions(rows)])

    def _questions(self, reports: Any) -> Any:
        """For balances and expenditures, after some reports."""
        drawn = self._random.random(len(reports))
        asked = reports[drawn < 0.006]
        kinds = np.where(drawn[drawn < 0.006] < 0.005, 2, 3)
        rows = np.full((len(asked), len(FIELDS)), -1, np.int64)
        for name in ("time", "vid"):
            rows[:, FIELDS.index(name)] = asked[:, FIELDS.index(name)]
        rows[:, FIELDS.index("type")] = kinds
        rows[:, FIELDS.index("qid")] = asked[:, FIELDS.index("vid")]
        days = self._random.integers(1, 69, len(asked))
        rows[:, FIELDS.index("day")] = np.where(kinds == 3, days, -1)
        return rows


HOUR = Size()


@lru_cache(maxsize=2)
def reports(seed: int, size: Size = HOUR) -> pa.Table:
    """All rows of a simulation in order of time: FIELDS, 64 bits each."""
    traffic = Traffic(seed, size)
    rows = np.concatenate([traffic.step(now) for now in range(size.seconds)])
    return pa.table({name: np.ascontiguousarray(rows[:, n]) for n, name in enumerate(FIELDS)})
