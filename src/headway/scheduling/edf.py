"""Earliest deadline first: as least laxity first, but the operator's own cost does not count."""

from __future__ import annotations

from headway.scheduling.deadlines import Deadlines


class Edf(Deadlines):
    """
    >>> Edf().urgency(t=30, latency=50, cost=20, path=5)
    75
    """

    name = "edf"

    def urgency(self, t: float, latency: float, cost: float, path: float) -> float:
        return t + latency - path
