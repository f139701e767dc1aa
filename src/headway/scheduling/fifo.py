"""Arrival order: the operator whose next message came first."""

from __future__ import annotations

import heapq
from collections.abc import Hashable

from headway.scheduling.api import Head


class Fifo:
    """Messages in the order in which they arrived in the node.

    >>> policy = Fifo()
    >>> policy.push("b", Head(2, None, 0.0, None), now=0.0)
    >>> policy.push("a", Head(1, None, 0.0, None), now=0.0)
    >>> policy.pop(now=0.0)
    'a'
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, Hashable]] = []

    def push(self, operator: Hashable, head: Head, now: float) -> None:
        heapq.heappush(self._heap, (head.arrival, operator))

    def pop(self, now: float) -> Hashable | None:
        return heapq.heappop(self._heap)[1] if self._heap else None

    def __len__(self) -> int:
        return len(self._heap)
