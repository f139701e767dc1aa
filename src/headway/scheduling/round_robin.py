"""Round Robin: every operator in turn, one run each."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable
from typing import Any

from headway.scheduling.api import Policy, Queue
from headway.scheduling.contexts import PriorityContext
from headway.scheduling.flow import flow_of

_Place = tuple[int, int, int]
"""Of a query, of an operator in it, and of its push among equals."""


class Cycle:
    """Operators in a fixed order, over and over. `drain`: the one whose turn it is goes on until it has no more.

    The order is that in which queries were first seen, and within a query upstream first.

    >>> queue, context = Cycle(), PriorityContext(0, 0, None, 0.0, 1.0, "query")
    >>> for operator in ("a", "b"):
    ...     queue.push(operator, context, arrival=1, now=0.0)
    >>> queue.pop(now=0.0)
    'a'
    >>> queue.push("a", context, arrival=1, now=0.0)
    >>> queue.pop(now=0.0)
    'b'
    """

    def __init__(self, drain: bool = False) -> None:
        self._drain = drain
        self._queries: dict[Hashable, int] = {}
        self._order: list[_Place] = []
        self._waiting: dict[Any, _Place] = {}
        self._held: dict[_Place, Any] = {}
        self._turn: tuple[Any, _Place] = (None, (-1, -1, -1))
        """Whose turn it was last, and where that was."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._order)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator not in self._waiting:
            self._number += 1
            query = self._queries.setdefault(context.query, len(self._queries))
            place = (query, flow_of(operator).place, self._number)
            self._waiting[operator] = place
            self._held[place] = operator
            insort(self._order, place)

    def pop(self, now: float, worker: int = 0) -> Any | None:
        if not self._order:
            return None
        last, (query, stage, _) = self._turn
        place = self._waiting.get(last) if self._drain else None
        if place is None:
            # Those of the same place that came later have their turn when it comes round again.
            place = self._order[bisect_right(self._order, (query, stage, self._number)) % len(self._order)]
        self._order.remove(place)
        operator = self._held.pop(place)
        del self._waiting[operator]
        self._turn = (operator, place)
        return operator

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        """Nothing to account for."""


class RoundRobin(Policy):
    """See the module."""

    name = "rr"

    def queue(self, workers: int = 1) -> Queue:
        return Cycle()
