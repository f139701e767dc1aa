"""First in, first out: a run queue of operators, in the order in which they had something to do.

An operator whose turn it is takes its messages, in order, until none is left or its turn has taken the quantum.
"""

from __future__ import annotations

from typing import Any

from headway.scheduling.api import Policy, Queue, Turns
from headway.scheduling.contexts import PriorityContext

QUANTUM = 0.1
"""As long as an actor's turn may take in Orleans, by default."""


class RunQueue:
    """
    >>> queue, context = RunQueue(), PriorityContext(0, 0, None, 0.0, 1.0, "query")
    >>> queue.push("a", context, arrival=2, now=0.0)
    >>> queue.push("b", context, arrival=1, now=0.0)
    >>> queue.pop(now=0.0)
    'a'
    """

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum
        self._operators: dict[Any, None] = {}
        self._turns = Turns()

    def __len__(self) -> int:
        return len(self._operators)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        self._operators.setdefault(operator)

    def pop(self, now: float, worker: int = 0) -> Any | None:
        operator = self._turns.going_on(now, worker, self._quantum)
        if operator not in self._operators:
            operator = next(iter(self._operators), None)
        if operator is not None:
            del self._operators[operator]
            self._turns.run(operator, now, worker)
        return operator

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        """Nothing to account for."""


class Fifo(Policy):
    """See the module."""

    name = "fifo"

    def __init__(self, quantum: float = QUANTUM) -> None:
        self._quantum = quantum

    def queue(self, workers: int = 1) -> Queue:
        return RunQueue(self._quantum)
