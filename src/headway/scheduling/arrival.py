"""Arrival order: the operator whose next message came to the node first."""

from __future__ import annotations

import heapq
from typing import Any

from headway.scheduling.api import Policy, Queue
from headway.scheduling.contexts import PriorityContext


class ArrivalQueue:
    """
    >>> queue, context = ArrivalQueue(), PriorityContext(0, 0, None, 0.0, 1.0, "query")
    >>> queue.push("b", context, arrival=2, now=0.0)
    >>> queue.push("a", context, arrival=1, now=0.0)
    >>> queue.pop(now=0.0)
    'a'
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Any]] = []
        self._held: set[Any] = set()
        self._number = 0

    def __len__(self) -> int:
        return len(self._held)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator not in self._held:
            self._held.add(operator)
            self._number += 1  # operators do not compare
            heapq.heappush(self._heap, (arrival, self._number, operator))

    def pop(self, now: float, worker: int = 0) -> Any | None:
        if not self._heap:
            return None
        operator = heapq.heappop(self._heap)[2]
        self._held.discard(operator)
        return operator

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        """Nothing to account for."""


class Arrival(Policy):
    """See the module."""

    name = "arrival"

    def queue(self, workers: int = 1) -> Queue:
        return ArrivalQueue()
