"""Operators by a priority that is computed from their state, in epochs.

1. The highest priority runs next; of equal ones the deepest in its query, then in the order in which they were pushed.
   All priorities are computed anew when an epoch begins: the loop acts on no stale state.
2. An epoch is longer where many operators wait, so that ranking them stays a small part of it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from math import inf
from typing import Any

from headway.scheduling.contexts import PriorityContext
from headway.scheduling.flow import Flow, flow_of

PERIOD = 0.02
"""Seconds. To change to another query has a cost: with the 1 ms of the paper, nodes that have all they can take read a
twentieth less."""
RANKING = 20e-6
"""The least length of an epoch per operator that waits."""
_Entry = tuple[float, int, int, Any, Flow]
"""How it ranks: the priority and the place in the query, both negative, and the number of its push, which no other has;
then the operator and its flow."""


class StateQueue:
    """See the module. `priority`: the higher, the sooner."""

    def __init__(self, priority: Callable[[Flow], float], period: float = PERIOD) -> None:
        self._priority = priority
        self._period = period
        self._order: list[_Entry] = []
        self._waiting: set[Any] = set()
        self._running: dict[Any, float] = {}
        """Operators that run, and when that began."""
        self._again: dict[Any, int] = {}
        """Those that have more to do after it, with the numbers of their pushes."""
        self._epoch = (-inf, -inf)
        """When it began and ends."""
        self._priorities: dict[Any, float] = {}
        """Of this epoch, as far as they were asked for."""
        self._number = 0

    def __len__(self) -> int:
        return len(self._order) + len(self._again)

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None:
        if operator in self._waiting or operator in self._again:
            return
        self._number += 1
        if operator in self._running:
            self._again[operator] = self._number
        else:
            self._add(operator, self._number)

    def _add(self, operator: Any, number: int) -> None:
        self._waiting.add(operator)
        insort(self._order, self._entry(operator, flow_of(operator), number))

    def _entry(self, operator: Any, flow: Flow, number: int) -> _Entry:
        priority = self._priorities.get(operator)
        if priority is None:
            priority = self._priorities[operator] = self._priority(flow)
        return -priority, -flow.place, number, operator, flow

    def pop(self, now: float, worker: int = 0) -> Any | None:
        if not self._epoch[0] <= now < self._epoch[1]:
            self._begin_epoch(now)
        if not self._order:
            return None
        operator = self._order.pop(0)[3]
        self._waiting.remove(operator)
        self._running[operator] = now
        return operator

    def _begin_epoch(self, now: float) -> None:
        self._epoch = (now, now + max(self._period, RANKING * len(self._order)))
        self._priorities.clear()
        self._order = sorted(self._entry(operator, flow, number) for _, _, number, operator, flow in self._order)

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        flow_of(operator).ran(max(0.0, now - self._running.pop(operator)), now)
        number = self._again.pop(operator, None)
        if number is not None:
            self._add(operator, number)
