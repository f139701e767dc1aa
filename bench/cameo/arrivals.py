"""When messages come to a source and how many rows they have: functions of the seed, the source and the number alone.

1. Constant: every source sends a message of so many rows at a fixed interval, at a phase of its own.
2. Pareto: a source's volume in a second is so many times its mean, Pareto distributed with shape 1.5 and cut at 1000
   times the mean, drawn anew for every source and second. It sends so many messages then, evenly spaced.
3. Skewed: constant, but the rows per message grow geometrically from the first source to the last, 200-fold.

The mean volume of all sources together is the same in all three. Times are microseconds since the stream's beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

SECOND = 1_000_000
SHAPE = 1.5
LONGEST_TAIL = 1000.0
SKEW = 200.0
_MASK = (1 << 64) - 1


def mix(x: int) -> int:
    """A bijection of 64 bits (the finalizer of splitmix64)."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


def uniform(*numbers: int) -> float:
    """A number in (0, 1], the same for the same numbers."""
    h = 0x9E3779B97F4A7C15
    for number in numbers:
        h = mix((h + number * 0x9E3779B97F4A7C15) & _MASK)
    return ((h >> 11) + 1) / (1 << 53)


def _scale() -> float:
    """The least value of the Pareto distribution whose mean, cut at `LONGEST_TAIL`, is 1: by halving the gap."""
    low, high = 0.1, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        mean = (SHAPE * middle - middle**SHAPE * LONGEST_TAIL ** (1 - SHAPE)) / (SHAPE - 1)
        low, high = (middle, high) if mean < 1 else (low, middle)
    return low


_SCALE = _scale()


def volume(seed: int, source: int, second: int) -> float:
    """A Pareto distributed volume of mean 1."""
    drawn: float = _SCALE * uniform(seed, source, second, 1) ** (-1 / SHAPE)
    return min(drawn, LONGEST_TAIL)


def weights(sources: int) -> list[float]:
    """Shares of skewed sources, of mean 1, the last `SKEW` times the first.

    >>> [round(weight, 3) for weight in weights(3)]
    [0.014, 0.196, 2.79]
    """
    raw = [SKEW ** (k / max(1, sources - 1)) for k in range(sources)]
    mean = sum(raw) / sources
    return [weight / mean for weight in raw]


class Schedule(Protocol):
    """The messages of one source, by number."""

    rows: int
    """Of every message."""

    def due(self, number: int) -> int: ...

    def count(self, until: int) -> int:
        """How many messages are due by then (inclusive)."""


class Constant:
    """See the module."""

    def __init__(self, seed: int, source: int, rate: float, rows: int) -> None:
        self.rows = rows
        self._interval = max(1, round(SECOND / rate))
        self._phase = int(uniform(seed, source, 0) * self._interval) % self._interval

    def due(self, number: int) -> int:
        return self._phase + number * self._interval

    def count(self, until: int) -> int:
        return max(0, (until - self._phase) // self._interval + 1)


class Pareto:
    """See the module. Asking in order is cheap, going back starts over."""

    def __init__(self, seed: int, source: int, rate: float, rows: int) -> None:
        self.rows = rows
        self._of = (seed, source)
        self._rate = rate
        self._second, self._first, self._messages = 0, 0, self._draw(0)

    def _draw(self, second: int) -> int:
        """The messages of a second, rounded at random so that the mean holds."""
        return int(self._rate * volume(*self._of, second) + uniform(*self._of, second, 2) * (1 - 1e-12))

    def _at(self, second: int, index: int, messages: int) -> int:
        phase = int(uniform(*self._of, 0) * SECOND) % SECOND
        return second * SECOND + (index * SECOND + phase) // messages

    def due(self, number: int) -> int:
        if number < self._first:
            self._second, self._first, self._messages = 0, 0, self._draw(0)
        while number >= self._first + self._messages:
            self._first += self._messages
            self._second += 1
            self._messages = self._draw(self._second)
        return self._at(self._second, number - self._first, self._messages)

    def count(self, until: int) -> int:
        if until < 0:
            return 0
        second, before, messages = self._second, self._first, self._messages
        if until < second * SECOND:
            second, before, messages = 0, 0, self._draw(0)
        while until >= (second + 1) * SECOND:
            before, second = before + messages, second + 1
            messages = self._draw(second)
        return before + sum(self._at(second, index, messages) <= until for index in range(messages))


@dataclass(frozen=True)
class Arrivals:
    """What comes to a job: `sources` of them, each `rate` messages of `rows` rows a second, by a `process`."""

    seed: int
    sources: int
    rate: float
    rows: int
    process: str = "constant"

    @property
    def rows_per_s(self) -> float:
        return self.sources * self.rate * self.rows

    def schedule(self, source: int) -> Schedule:
        match self.process:
            case "constant":
                return Constant(self.seed, source, self.rate, self.rows)
            case "pareto":
                return Pareto(self.seed, source, self.rate, self.rows)
            case "skewed":
                rows = max(1, round(self.rows * weights(self.sources)[source]))
                return Constant(self.seed, source, self.rate, rows)
        raise ValueError(f"there is no arrival process {self.process!r}; there are constant, pareto, skewed")

    def until(self, source: int, end: int) -> Iterator[tuple[int, int]]:
        """The (number, time) of a source's messages due before `end`."""
        schedule = self.schedule(source)
        number = 0
        while (due := schedule.due(number)) < end:
            yield number, due
            number += 1

    def options(self) -> dict[str, Any]:
        """As options of a stream reader."""
        return {name: getattr(self, name) for name in ("seed", "sources", "rate", "rows", "process")}

    @staticmethod
    def of(options: dict[str, str]) -> Arrivals:
        return Arrivals(
            int(options["seed"]),
            int(options["sources"]),
            float(options["rate"]),
            int(options["rows"]),
            options.get("process", "constant"),
        )
