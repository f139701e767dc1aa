"""Least laxity first: by the latest time at which a message may start."""

from __future__ import annotations

from headway.scheduling.deadlines import Deadlines


class Llf(Deadlines):
    """The default.

    >>> Llf().urgency(t=30, latency=50, cost=20, path=0)
    60
    """

    name = "llf"

    def urgency(self, t: float, latency: float, cost: float, path: float) -> float:
        return t + latency - cost - path
