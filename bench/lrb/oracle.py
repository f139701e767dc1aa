"""The benchmark's own rules, report by report: what tolls are in effect. Nothing is shared with the query.

1. minute(t) = floor(t / 60) + 1. The toll of minute M comes of the cars that reported from the segment in minute M - 1,
   and of the mean speed of all readings there in the five minutes before M.
2. A car is stopped at its fourth report in a row from one position and lane. Two stopped cars at one place are an
   accident, until either reports from elsewhere.
3. An accident counts from the minute after it happened through the minute in which it is cleared, for the segments
   from which it lies at most four ahead.
4. The toll is 2 (cars - 50)^2 where there are more than 50 cars, slower than 40 miles/h, and no accident; else 0.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import pyarrow as pa

Place = tuple[int, int, int]
"""(expressway, direction, segment)."""
Toll = tuple[int, int, int]
"""(cars, mean speed, toll)."""
_NEVER = 1 << 40


@dataclass
class _Car:
    place: tuple[int, ...] = ()
    """(expressway, direction, lane, position) of the last report."""
    reports: int = 0
    """In a row from there."""


@dataclass
class _Accident:
    place: Place
    first_minute: int
    cars: frozenset[int]
    last_minute: int = _NEVER


@dataclass
class Oracle:
    """Takes reports in order of time; then `tolls` knows all minutes that have ended."""

    _cars: dict[int, _Car] = field(default_factory=dict)
    _stopped: dict[tuple[int, ...], set[int]] = field(default_factory=lambda: defaultdict(set))
    _accidents: list[_Accident] = field(default_factory=list)
    _seen: dict[tuple[int, Place], set[int]] = field(default_factory=lambda: defaultdict(set))
    _speeds: dict[tuple[int, Place], list[int]] = field(default_factory=lambda: defaultdict(list))

    def report(self, time: int, vid: int, speed: int, xway: int, lane: int, direction: int, seg: int, pos: int) -> None:
        minute, place = time // 60 + 1, (xway, direction, seg)
        self._seen[minute, place].add(vid)
        self._speeds[minute, place].append(speed)
        car, at = self._cars.setdefault(vid, _Car()), (xway, direction, lane, pos)
        if car.place != at:
            self._moved(vid, car, minute)
            car.place, car.reports = at, 0
        car.reports += 1
        if car.reports == 4:
            self._stop(vid, at, place, minute)

    def _moved(self, vid: int, car: _Car, minute: int) -> None:
        self._stopped[car.place].discard(vid)
        for accident in self._accidents:
            if vid in accident.cars and accident.last_minute == _NEVER:
                accident.last_minute = minute

    def _stop(self, vid: int, at: tuple[int, ...], place: Place, minute: int) -> None:
        others = self._stopped[at]
        others.add(vid)
        if len(others) == 2:
            self._accidents.append(_Accident(place, minute + 1, frozenset(others)))

    def _blocked(self, minute: int, place: Place) -> bool:
        xway, direction, seg = place
        ahead = range(seg, seg + 5) if direction == 0 else range(seg, seg - 5, -1)
        return any(
            accident.first_minute <= minute <= accident.last_minute
            and accident.place[:2] == (xway, direction)
            and accident.place[2] in ahead
            for accident in self._accidents
        )

    def tolls(self, until: int) -> dict[tuple[int, Place], Toll]:
        """By the second at which a minute begins, up to `until`, and place: what is in effect in that minute."""
        found = {}
        for (before, place), cars in self._seen.items():
            if before * 60 <= until:
                readings = [speed for m in range(before - 4, before + 1) for speed in self._speeds.get((m, place), [])]
                mean = (2 * sum(readings) + len(readings)) // (2 * len(readings))
                dear = len(cars) > 50 and mean < 40 and not self._blocked(before + 1, place)
                found[before * 60, place] = len(cars), mean, 2 * (len(cars) - 50) ** 2 if dear else 0
        return found


def oracle(rows: pa.Table) -> Oracle:
    """An oracle that has seen all position reports of a simulation."""
    told = Oracle()
    names = ("type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")
    for kind, *report in zip(*(rows[name].to_pylist() for name in names), strict=True):
        if kind == 0:
            told.report(*report)
    return told
