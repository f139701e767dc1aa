"""A node on a virtual clock: operators with inboxes, workers, and the queue under test between them."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

from headway.scheduling import PriorityContext, Queue


class Message(NamedTuple):
    context: PriorityContext
    cost: float
    then: Callable[[], None] | None


class Run(NamedTuple):
    operator: Any
    began: float
    ended: float
    waited: float
    message: Message


def context(priority: float, query: Any = "query", latency: float = 1.0, t: float = 0.0) -> PriorityContext:
    return PriorityContext(t, priority, None, t, latency, query)


def due(query: Any, latency: float, after: float | None = None) -> Callable[[float], PriorityContext]:
    """Contexts of messages that came just now and are due after so long, by default the target."""
    return lambda now: context(now + (latency if after is None else after), query, latency, now)


class VirtualNode:
    """Runs as a node's loop does: a run ends, the operator is pushed again if it has more, then the queue is told."""

    def __init__(self, queue: Queue, workers: int = 1) -> None:
        self.now = 0.0
        self.runs: list[Run] = []
        self._queue = queue
        self._idle = list(range(workers))
        self._inboxes: dict[Any, deque[Message]] = {}
        self._since: dict[Any, float] = {}
        self._running: set[Any] = set()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._numbers), action))

    def send(
        self, operator: Any, context: PriorityContext, cost: float, then: Callable[[], None] | None = None
    ) -> None:
        """A message comes to an operator now; `then` is called when it has run."""
        self._inboxes.setdefault(operator, deque()).append(Message(context, cost, then))
        if operator not in self._running and operator not in self._since:
            self._push(operator, None)

    def send_at(self, time: float, operator: Any, context: PriorityContext, cost: float) -> None:
        self.at(time, lambda: self.send(operator, context, cost))

    def _push(self, operator: Any, worker: int | None) -> None:
        self._since[operator] = self.now
        self._queue.push(operator, self._inboxes[operator][0].context, next(self._numbers), self.now, worker)

    def run(self, until: float) -> None:
        while self._events and self._events[0][0] <= until:
            self.now = self._events[0][0]
            while self._events and self._events[0][0] <= self.now:
                heapq.heappop(self._events)[2]()
            while self._idle and len(self._queue) and self._start(self._idle[-1]):
                self._idle.pop()

    def _start(self, worker: int) -> bool:
        operator = self._queue.pop(self.now, worker)
        if operator is None:  # all are held back
            self.at(self._queue.wakes(self.now), lambda: None)  # type: ignore[attr-defined]
            return False
        began, waited = self.now, self.now - self._since.pop(operator)
        assert operator not in self._running
        self._running.add(operator)
        message = self._inboxes[operator].popleft()
        self.at(self.now + message.cost, lambda: self._end(Run(operator, began, self.now, waited, message), worker))
        return True

    def _end(self, run: Run, worker: int) -> None:
        self.runs.append(run)
        self._running.discard(run.operator)
        if run.message.then is not None:
            run.message.then()
        if self._inboxes[run.operator] and run.operator not in self._since:
            self._push(run.operator, worker)
        self._queue.done(run.operator, self.now, worker)
        self._idle.append(worker)

    def longest_wait(self, operator: Any) -> float:
        """Up to now, whether or not it has run since."""
        waits = [run.waited for run in self.runs if run.operator == operator]
        return max([*waits, self.now - self._since.get(operator, self.now)])

    def time_of(self, *operators: Any) -> float:
        return sum(run.ended - run.began for run in self.runs if run.operator in operators)

    def late(self, operator: Any) -> int:
        """How many results came after t + L."""
        return sum(
            run.operator == operator and run.ended > run.message.context.t + run.message.context.latency + 1e-9
            for run in self.runs
        )


def always_busy(
    node: VirtualNode, operator: Any, cost: float, make: Callable[[float], PriorityContext], start: float = 0.0
) -> None:
    """The operator always has one more message."""

    def send() -> None:
        node.send(operator, make(node.now), cost, send)

    node.at(start, send)
