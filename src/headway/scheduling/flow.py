"""What is known of the rows that flow through an operator, and of how long those of its query take.

1. An operator's `Flow` counts the rows that wait, were taken and were given. What a row costs and how many rows come
   out of one are measured over `INTERVAL`, by whoever schedules: `ran` is called after every run.
2. Selectivity never is zero: an operator that has given nothing yet, such as a window before its end, has at best given
   one row for all it took.
3. A query's `Lag` has the latency that its sinks see, as means over `STEP`, and its gradient: by how much it grows in a
   unit of time, the mean over the last steps. 1 means that the query falls behind as fast as time passes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import inf
from typing import Any

INTERVAL = 0.05
STEP = 0.1
STEPS = 5
SMOOTHING = 0.2
"""The weight of the newest measurement."""


class Lag:
    """The latency of one query, as the sinks of one node see it."""

    __slots__ = ("_before", "_began", "_count", "_gradients", "_sum", "gradient", "own")

    def __init__(self) -> None:
        self._began: float | None = None
        self._sum = 0.0
        self._count = 0
        self._before: tuple[float, float] | None = None
        """The mean of the step before, and when that ended."""
        self._gradients: deque[float] = deque(maxlen=STEPS)
        self.gradient = 0.0
        """0 while nothing is known."""
        self.own: Any = None
        """For a policy of one's own."""

    def observe(self, latency: float, now: float) -> None:
        """A result or a marker has come out after so many seconds."""
        if self._began is None:
            self._began = now
        self._sum += latency
        self._count += 1
        if now - self._began >= STEP:
            self._end_step(now)

    def _end_step(self, now: float) -> None:
        mean = self._sum / self._count
        if self._before is not None and now > self._before[1]:
            self._gradients.append((mean - self._before[0]) / (now - self._before[1]))
            self.gradient = sum(self._gradients) / len(self._gradients)
        self._before = (mean, now)
        self._began, self._sum, self._count = now, 0.0, 0


@dataclass(slots=True, eq=False)
class Flow:
    """See the module. Fields that never change once the operator is wired come first."""

    stage: Hashable = None
    place: int = 0
    """Its place in the query, upstream first."""
    lag: Lag = field(default_factory=Lag)
    backlog: Callable[[float], int] | None = None
    """Not None iff it is a source: how many rows it could read at a time."""

    pending: int = 0
    taken: int = 0
    cost: float = 0.0
    """Seconds per row taken; 0 until it was measured."""
    selectivity: float = 1.0
    """Rows given per row taken."""
    output_selectivity: float = 1.0
    output_cost: float = 0.0
    rate: float = inf
    """Results per second of work from here on."""
    below: Any = None
    """What a policy knows of it and of all below it, and from what, as long as nothing new was measured."""
    last: float = -inf
    """When its last run ended."""
    nested: float = 0.0
    """Seconds that other operators took inside of its run, which is about to be measured."""

    _took: int = 0
    _gave: int = 0
    _silent: int = 0
    """Rows taken since any were given."""
    _seconds: float = 0.0
    _since: float = -inf

    def came(self, rows: int) -> None:
        self.pending += rows

    def took(self, rows: int) -> None:
        self.pending -= rows
        self.took_at_once(rows)

    def took_at_once(self, rows: int) -> None:
        """Rows that never waited."""
        self.taken += rows
        self._took += rows

    def put_back(self, rows: int) -> None:
        """So many of those taken last were not."""
        self.took(-rows)

    def gave(self, rows: int) -> None:
        self._gave += rows

    def waiting(self, now: float) -> int:
        """Rows that it could take now."""
        return self.pending if self.backlog is None else self.backlog(now)

    def ran(self, seconds: float, now: float) -> None:
        """A run that took so long has ended."""
        self.last = now
        self._seconds += max(0.0, seconds - self.nested)
        self.nested = 0.0
        if self._took and not 0.0 <= now - self._since < INTERVAL:
            self._measure(now)

    def _measure(self, now: float) -> None:
        cost = self._seconds / self._took
        first = self.cost == 0.0
        self.cost = cost if first else self.cost + SMOOTHING * (cost - self.cost)
        self._silent = 0 if self._gave else self._silent + self._took
        measured = self._gave / self._took if self._gave else 1.0 / self._silent
        self.selectivity = measured if first else self.selectivity + SMOOTHING * (measured - self.selectivity)
        self._took, self._gave, self._seconds, self._since = 0, 0, 0.0, now
        self.below = None


def flow_of(operator: Any) -> Flow:
    """The flow of an operator's profile; of anything else, one that knows nothing."""
    profile = getattr(operator, "profile", None)
    return profile.flow if profile is not None else Flow()
