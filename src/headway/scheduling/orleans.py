"""A bag that prefers the worker's own recent work, as the Orleans scheduler does.

What a worker's operators made ready is the worker's own: it takes the newest of it first. Then it takes what came from
outside, the oldest first, and last what other workers have, their oldest. Turns are as in the run queue.
"""

from __future__ import annotations

from typing import Any

from headway.scheduling.api import Policy, Queue, Turns
from headway.scheduling.contexts import PriorityContext
from headway.scheduling.fifo import QUANTUM


class Bag:
    """
    >>> bag, context = Bag(), PriorityContext(0, 0, None, 0.0, 1.0, "query")
    >>> bag.push("from outside", context, arrival=1, now=0.0)
    >>> bag.push("mine", context, arrival=2, now=0.0, worker=0)
    >>> bag.push("my newest", context, arrival=3, now=0.0, worker=0)
    >>> [bag.pop(now=0.0) for _ in range(3)]
    ['my newest', 'mine', 'from outside']
    """

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum
        self._held: dict[Any, dict[Any, None]] = {}
        """The place in which each operator waits; in a place, the newest is last."""
        self._own: dict[int, dict[Any, None]] = {}
        self._outside: dict[Any, None] = {}
        self._turns = Turns()

    def __len__(self) -> int:
        return len(self._held)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator not in self._held:
            place = self._outside if worker is None else self._own.setdefault(worker, {})
            place[operator] = None
            self._held[operator] = place

    def pop(self, now: float, worker: int = 0) -> Any | None:
        operator = self._turns.going_on(now, worker, self._quantum)
        if operator not in self._held:
            operator = self._next(worker)
        if operator is not None:
            del self._held.pop(operator)[operator]
            self._turns.run(operator, now, worker)
        return operator

    def _next(self, worker: int) -> Any | None:
        own = self._own.get(worker)
        if own:
            return next(reversed(own))
        for place in (self._outside, *self._own.values()):
            if place:
                return next(iter(place))
        return None

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        """Nothing to account for."""


class Orleans(Policy):
    """See the module."""

    name = "orleans"

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum

    def queue(self, workers: int = 1) -> Queue:
        return Bag(self._quantum)
