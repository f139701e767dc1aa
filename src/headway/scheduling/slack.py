"""Deadlines between queries, output costs within the slack that deadlines leave.

1. The latest time to start is that of least laxity first. It counts in steps, `STEPS` to the query's target: who must
   start in an earlier step goes first.
2. Within a step nobody's deadline suffers from the order. There the operator goes first that is worth a run: one for
   which as many rows wait as its query's event threshold says, or that has been idle for longer than its idle threshold
   (see `thresholds`), so that runs are few and long.
3. Of those, the one with the lowest output cost, divided by the weight of its query, goes first: rows that are nearly
   out get out, which makes the mean latency the lowest, and queries that fall behind are preferred.
4. Nobody is held back for what is not there: if no operator is worth a run, the one with the lowest output cost runs.
5. Queries without a target come after all others. Among them, who came in an earlier `BULK_STEP` goes first, then as
   above: none waits for ever because its results cost more.
6. Turns, starvation and floods are as for all deadlines: see `queue`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from typing import Any

from headway.scheduling.api import Queue
from headway.scheduling.contexts import PriorityContext
from headway.scheduling.deadlines import STEADY, coarse
from headway.scheduling.enjima import weight
from headway.scheduling.flow import flow_of
from headway.scheduling.llf import Llf
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.queue import PriorityQueue
from headway.scheduling.thresholds import Thresholds, thresholds_of

STEPS = 32
BULK_STEP = 0.1
LOOKS = 4
"""Operators that are looked at to find one that is worth a run."""


class SlackQueue(PriorityQueue):
    """See the module."""

    def _rank(self, operator: Any, context: PriorityContext) -> Any:
        flow = flow_of(operator)
        came = coarse(context.t, BULK_STEP) if context.latency == inf else 0.0
        return came, flow.output_cost / weight(flow.lag), self._number

    def _first(self, now: float) -> list[Any] | None:
        first = super()._first(now)
        if first is None or self._worth(first, now):
            return first
        return self._better(first, now) or first

    def _worth(self, entry: list[Any], now: float) -> bool:
        flow = flow_of(entry[2])
        thresholds: Thresholds = thresholds_of(flow.lag)
        thresholds.adapt(flow.lag.gradient, now)
        return thresholds.eligible(flow, now)

    def _better(self, first: list[Any], now: float) -> list[Any] | None:
        """One of the same step that is worth a run, unlike the first."""
        passed: list[list[Any]] = []
        found = None
        heap = self._heap
        while heap and found is None and len(passed) < LOOKS:
            entry = heappop(heap)
            if entry[2] is None:
                continue
            passed.append(entry)
            if entry[0] != first[0] or entry[1][0] != first[1][0]:
                break
            if entry is not first and self._worth(entry, now):
                found = entry
        for entry in passed:
            heappush(heap, entry)
        return found

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        flow_of(operator).ran(max(0.0, now - self._running[worker][0]), now)
        super().done(operator, now, worker)


class Slack(OutputCosts, Llf):
    """See the module."""

    name = "slack"

    def urgency(self, t: float, latency: float, cost: float, path: float) -> float:
        return coarse(super().urgency(t, latency, cost, path), latency / STEPS)

    def queue(self, workers: int = 1) -> Queue:
        return SlackQueue(self._grain, self._patience, self._share, workers=workers, steady=STEADY)
