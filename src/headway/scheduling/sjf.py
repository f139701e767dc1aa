"""Shortest job first: by the operator's cost alone; it knows of no deadline."""

from __future__ import annotations

from headway.scheduling.api import Queue
from headway.scheduling.contexts import Converter, PriorityContext
from headway.scheduling.deadlines import Deadlines
from headway.scheduling.queue import PriorityQueue


class Sjf(Deadlines):
    """
    >>> Sjf().urgency(t=30, latency=50, cost=20, path=5)
    20
    """

    name = "sjf"

    def urgency(self, t: float, latency: float, cost: float, path: float) -> float:
        return cost

    def priority(self, urgency: float) -> float:
        return urgency

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        return self._context(converter, converter.cost, None, t, None)

    def queue(self, workers: int = 1) -> Queue:
        # A cost is no time: nothing is overdue by it.
        return PriorityQueue(self._grain, self._patience, self._share, floods=False)
