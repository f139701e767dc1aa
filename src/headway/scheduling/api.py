"""What a scheduling policy is: four handlers of contexts, and the order in which a node's operators run.

1. `at_source` makes the context of a source that has something due, `at_operator` that of a message an operator sends;
   `prepare_reply` and `process_reply` carry costs upstream. The node calls them; they may keep what they like in the
   converter, and nothing else.
2. `queue` makes the order of one node: its workers push operators that could run and pop the one to run next.
3. A policy knows no clock: `now` comes with every call. It may be pickled, and is, to every node.
4. A policy that raises is reported, and its node goes on in order of arrival.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Protocol

from headway.scheduling.contexts import Converter, PriorityContext, Profile, ReplyContext


class Queue(Protocol):
    """The operators of a node that could run.

    An operator is pushed when it has a message and room for its output. Pushed again while it is there, it takes the
    new context: a message that goes before the others has come. `worker` is the worker whose running operator made it
    ready, None if something from outside did. `done` is called after every run, before the worker's next `pop`; an
    operator that has more to do is pushed again before. `pop` may hold operators back: it gives None, and the queue's
    `wakes(now)` (a method that only such queues have) says when to ask again though nothing has come by then. What it
    may know of an operator's rows is in its `profile.flow`.
    """

    def push(
        self, operator: Any, context: PriorityContext, arrival: int, now: float, worker: int | None = None
    ) -> None: ...

    def pop(self, now: float, worker: int = 0) -> Any | None: ...

    def done(self, operator: Any, now: float, worker: int = 0) -> None: ...

    def __len__(self) -> int: ...


class Policy:
    """Base of policies: contexts that say nothing, costs that travel upstream. A policy must say its `queue`."""

    name: ClassVar[str]

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        """Rows that came to a source at t are due. `converter` is the source's of itself."""
        return PriorityContext(t, t, None, t, converter.latency, converter.query)

    def at_operator(
        self, converter: Converter, cause: PriorityContext, p: int | None, t: float, partition: Hashable, now: float
    ) -> PriorityContext:
        """A message with times (p, t) goes to the converter's stage; `cause` is the context of what made it."""
        return PriorityContext(t, t, p, t, converter.latency, converter.query, cause.tag)

    def prepare_reply(self, profile: Profile, converters: list[Converter], waiting: int) -> ReplyContext:
        """What an operator tells upstream of itself and of the costliest path below it."""
        path = max((c.cost + c.path for c in converters), default=0.0)
        return ReplyContext(profile.cost, path, profile.queueing, waiting)

    def process_reply(self, converter: Converter, sender: Hashable, reply: ReplyContext) -> None:
        """`sender`, an operator of the converter's stage, told its costs."""
        converter.replied(sender, reply)

    def queue(self, workers: int = 1) -> Queue:
        """The order of a node with so many workers."""
        raise NotImplementedError


class Turns:
    """Whose turn it is at each worker: queues that let an operator go on for a while share this."""

    __slots__ = ("_began", "_operators")

    def __init__(self) -> None:
        self._operators: dict[int, Any] = {}
        self._began: dict[int, float] = {}

    def run(self, operator: Any, now: float, worker: int) -> None:
        """`operator` runs now; its turn began earlier if it was the worker's last."""
        if self._operators.get(worker) is not operator:
            self._operators[worker] = operator
            self._began[worker] = now

    def going_on(self, now: float, worker: int, longest: float) -> Any | None:
        """The operator whose turn has not taken `longest` yet. A clock that went back ends a turn."""
        operator = self._operators.get(worker)
        if operator is not None and not 0.0 <= now - self._began[worker] < longest:
            # Should it be chosen all the same, it begins another turn.
            self.end(worker)
            return None
        return operator

    def taken(self, now: float, worker: int) -> float:
        """How long the worker's turn has taken."""
        return now - self._began[worker]

    def end(self, worker: int) -> None:
        """The worker's turn is over."""
        self._operators.pop(worker, None)
