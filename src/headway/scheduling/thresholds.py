"""When an operator is worth a run: Enjima's eligibility, with thresholds that follow the query's latency.

1. An operator that could run is eligible if as many rows wait as the event threshold says, or if it has been idle for
   longer than the idle threshold. (One without room for its output could not run.) One at which only marks wait is
   eligible: no rows that come would make its run worth more.
2. Every `ADAPT_EVERY` the thresholds change by the latency gradient times themselves, at most by a step, as long as
   they stay above 0 and below their maximum: while latency grows, runs become fewer and longer; while it falls, more
   frequent.
3. If the gradient is higher than when they were changed last, the change made it worse: it is reverted.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.scheduling.flow import Flow, Lag

ADAPT_EVERY = 1.0


@dataclass(frozen=True)
class Range:
    """Where a threshold begins, the least it must stay below, and the most it changes at a time."""

    start: float
    most: float
    step: float

    def changed(self, value: float, gradient: float) -> float:
        """
        >>> Range(1000, 10_000, 1000).changed(4000, 0.5), Range(1000, 10_000, 1000).changed(4000, -0.5)
        (5000, 2000.0)
        """
        change = min(gradient * value, self.step)
        return value + change if 0 < value + change < self.most else value


EVENTS = Range(1000, 10_000, 1000)
IDLE = Range(0.001, 0.1, 0.01)


@dataclass
class Thresholds:
    """Those of one query."""

    events_range: Range = EVENTS
    idle_range: Range = IDLE
    events: float = field(init=False)
    idle: float = field(init=False)

    def __post_init__(self) -> None:
        self.events, self.idle = self.events_range.start, self.idle_range.start
        self._before = (self.events, self.idle)
        self._gradient: float | None = None
        """That of the last change; None: there was none."""
        self._adapted: float | None = None

    def eligible(self, flow: Flow, now: float) -> bool:
        """Algorithm 1, for an operator that could run."""
        return now - flow.last > self.idle or not 0 < flow.waiting(now) < self.events

    def adapt(self, gradient: float, now: float) -> None:
        """Eqn. 5, when it is time."""
        if self._adapted is not None and 0.0 <= now - self._adapted < ADAPT_EVERY:
            return
        first, self._adapted = self._adapted is None, now
        if first:
            return
        if self._gradient is not None and gradient > self._gradient:
            self.events, self.idle = self._before
            self._gradient = None
            return
        self._before = (self.events, self.idle)
        self._gradient = gradient
        self.events = self.events_range.changed(self.events, gradient)
        self.idle = self.idle_range.changed(self.idle, gradient)


def thresholds_of(lag: Lag, events: Range = EVENTS, idle: Range = IDLE) -> Thresholds:
    """Those of a query, made when they are first asked for."""
    if not isinstance(lag.own, Thresholds):
        lag.own = Thresholds(events, idle)
    return lag.own
