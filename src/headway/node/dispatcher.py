"""A node's scheduling policy and its queue, between them and the operators.

1. A policy that raises, in a handler or in its queue, is reported once and the node goes on in order of arrival.
2. A change of policy keeps every message: what waits gets a new context and goes to the new queue.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from math import inf
from typing import TYPE_CHECKING, Any

from headway.scheduling import Arrival, Converter, Policy, PriorityContext, Profile, ReplyContext

if TYPE_CHECKING:
    from headway.node.operators.base import Operator


class Dispatcher:
    """See the module. `failed` is told the error of a policy that raised, `operators` gives all of the node's."""

    def __init__(
        self, policy: Policy, failed: Callable[[Exception], None], operators: Callable[[], Iterable[Operator]]
    ) -> None:
        self._failed = failed
        self._operators = operators
        self._running = False
        self._use(policy)

    def switch(self, policy: Policy, now: float) -> None:
        """From now on, this policy decides."""
        self._use(policy)
        for operator in self._operators():
            for converter in operator.knows():
                converter.held = None  # it is the other policy's
            for channel in operator.channels.values():
                waiting = [
                    (arrival, since, message._replace(context=self.at_source(operator.own, message.t, now)))
                    for arrival, since, message in channel.messages
                ]
                channel.messages.clear()
                channel.messages.extend(waiting)
        self._offer_all()

    def _use(self, policy: Policy) -> None:
        self.policy = policy
        self._queue = policy.queue()
        self._wakes = getattr(self._queue, "wakes", None)

    def _offer_all(self) -> None:
        """The operators that the queue before held."""
        for operator in self._operators():
            if operator.queued:
                operator.offer()

    def _fall_back(self, error: Exception) -> None:
        self._use(Arrival())
        self._failed(error)
        self._offer_all()

    def ready(self, operator: Operator, context: PriorityContext, arrival: int, now: float) -> None:
        """The operator can run."""
        # What a source could read came from outside, whoever says so.
        worker = 0 if self._running and operator.channels else None
        try:
            self._queue.push(operator, context, arrival, now, worker)
        except Exception as error:
            self._fall_back(error)

    def next(self, now: float) -> Any | None:
        """The operator to run now, if any; `done` must follow."""
        try:
            operator = self._queue.pop(now)
        except Exception as error:
            self._fall_back(error)
            return self.next(now)
        self._running = operator is not None
        return operator

    def wakes(self, now: float) -> float:
        """When to ask for the next operator again, for one that is held back; infinite if none is."""
        try:
            return inf if self._wakes is None else self._wakes(now)
        except Exception as error:
            self._fall_back(error)
            return now

    def done(self, operator: Any, now: float) -> None:
        self._running = False
        try:
            self._queue.done(operator, now)
        except Exception as error:
            self._fall_back(error)

    def at_operator(
        self, converter: Converter, cause: PriorityContext, p: int | None, t: float, partition: Hashable, now: float
    ) -> PriorityContext:
        try:
            return self.policy.at_operator(converter, cause, p, t, partition, now)
        except Exception as error:
            self._fall_back(error)
            return self.policy.at_operator(converter, cause, p, t, partition, now)

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        try:
            return self.policy.at_source(converter, t, now)
        except Exception as error:
            self._fall_back(error)
            return self.policy.at_source(converter, t, now)

    def prepare_reply(self, profile: Profile, converters: list[Converter], waiting: int) -> ReplyContext:
        reply: ReplyContext = self._ask("prepare_reply", profile, converters, waiting)
        return reply

    def process_reply(self, converter: Converter, sender: Hashable, reply: ReplyContext) -> None:
        self._ask("process_reply", converter, sender, reply)

    def _ask(self, handler: str, *arguments: Any) -> Any:
        try:
            return getattr(self.policy, handler)(*arguments)
        except Exception as error:
            self._fall_back(error)
            return getattr(self.policy, handler)(*arguments)
