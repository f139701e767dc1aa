"""The virtual clock: a heap of events, nodes whose workers take operators from the policy's queue, and what they do.

1. Events of one moment all happen before a worker chooses: what came at the same time is chosen from together.
2. A run takes its message when it begins; what it makes leaves when it ends. Then it is acknowledged: the channel has
   room again and the sender hears of costs, both after the exchange where that is another node.
3. Costs are told with the first acknowledgements of an operator and then with some, as nodes do.
"""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from typing import Any

from headway.scheduling import Policy, ReplyContext
from headway.scheduling.contexts import EARLIEST, PriorityContext
from headway.simulate.build import Built
from headway.simulate.operators import Channel, Leaving, Message, Operator, SourceOperator
from headway.simulate.scenario import Scenario

_FINISH, _DELIVER, _REPLY, _ARRIVE, _WAKE = range(5)
ALWAYS_REPLIES = 16
REPLIES_EVERY = 8


class _Node:
    """Workers that are idle, the one that became so last at the end; what the others run."""

    __slots__ = ("idle", "last", "queue", "running", "waits", "wakes")

    def __init__(self, policy: Policy, workers: int) -> None:
        self.queue = policy.queue(workers=workers)
        self.idle = list(range(workers - 1, -1, -1))
        self.running: list[Any] = [None] * workers
        self.last: list[Operator | None] = [None] * workers
        """What each worker runs, or ran last."""
        self.waits = False
        """Whether idle workers shall look at the queue before time goes on."""
        self.wakes = -inf
        """When they shall next look at a queue that holds operators back."""


@dataclass
class Measured:
    """What a simulation saw."""

    results: list[list[tuple[float, float, int, int, int]]]
    """Per job: when each result came out, the arrival of the last event it needed, its event time, its weight, and
    the operator it came from."""
    reads: list[Counter[int]]
    """Per job: rows of the source taken by its first stage, by second."""
    work: list[defaultdict[int, float]]
    """Per job: seconds that its runs took, without what scheduling took, by second."""
    busy: dict[int, float] = field(default_factory=dict)
    """Seconds that workers worked, by second of the simulation."""
    runs: int = 0
    end: float = 0.0
    """When the last run ended."""
    timeline: list[tuple[int, int, float, float, Operator, Leaving]] | None = None
    """Node, worker, begin, seconds, operator and message of each run, if asked for."""


class Engine:
    """See the module."""

    def __init__(self, scenario: Scenario, jobs: list[Built], policy: Policy, timeline: bool = False) -> None:
        cluster = scenario.cluster
        self._policy = policy
        self._limit = inf if scenario.drain else scenario.seconds
        self._exchange = cluster.exchange
        self._exchange_row = cluster.exchange_row
        self._overhead = cluster.overhead
        self._switch = cluster.switch
        self._nodes = [_Node(policy, cluster.workers) for _ in range(cluster.nodes)]
        self._jobs = jobs
        self._events: list[tuple[float, int, int, Any, Any]] = []
        self._number = 0
        """Of events and arrivals, so that equal times keep their order."""
        self._now = 0.0
        self._second = 1
        """When the next second of the simulation begins."""
        self._worked = 0.0
        """What workers worked in this second."""
        self._runs = 0
        self._choosing: list[_Node] = []
        self.measured = Measured(
            [[] for _ in jobs],
            [Counter() for _ in jobs],
            [defaultdict(float) for _ in jobs],
            timeline=[] if timeline else None,
        )

    def run(self) -> Measured:
        """Until nothing is left to do, or the end if nothing is to be drained."""
        for job in self._jobs:
            for source in job.sources:
                self._expect(source)
        # What runs make forms no cycles: collecting would find nothing, again and again.
        collects = gc.isenabled()
        gc.disable()
        try:
            self._loop()
        finally:
            if collects:
                gc.enable()
        self._turn(self._now)
        self.measured.end, self.measured.runs = self._now, self._runs
        return self.measured

    def _loop(self) -> None:
        events = self._events
        handlers = (self._finish, self._deliver, self._credit, self._arrive, self._wake)
        while events:
            now = events[0][0]
            if now >= self._limit:
                break
            if now >= self._second:
                self._turn(now)
            self._now = now
            while events and events[0][0] <= now:
                _, _, kind, subject, detail = heappop(events)
                handlers[kind](subject, detail)
            if self._choosing:
                self._choose()

    def _turn(self, now: float) -> None:
        """Another second begins: account for the one before."""
        self.measured.busy[self._second - 1] = self._worked
        self._worked = 0.0
        self._second = int(now) + 1

    def _at(self, when: float, kind: int, subject: Any, detail: Any) -> None:
        self._number += 1
        heappush(self._events, (when, self._number, kind, subject, detail))

    def _choose(self) -> None:
        """Idle workers take operators."""
        nodes, self._choosing = self._choosing, []
        now = self._now
        for node in nodes:
            node.waits = False
            queue, idle = node.queue, node.idle
            while idle and len(queue):
                operator = queue.pop(now, idle[-1])
                if operator is None:
                    self._hold(node)
                    break
                self._begin(node, idle.pop(), operator)

    def _hold(self, node: _Node) -> None:
        """The queue holds back all that waits: ask again when it says so."""
        when = node.queue.wakes(self._now)  # type: ignore[attr-defined]
        if not self._now < node.wakes <= when:
            node.wakes = when
            self._at(when, _WAKE, node, when)

    def _wake(self, node: _Node, when: float) -> None:
        if node.wakes == when and node.idle and not node.waits:
            node.waits = True
            self._choosing.append(node)

    def _begin(self, node: _Node, worker: int, operator: Operator) -> None:
        now = self._now
        operator.queued = False
        operator.running = True
        channel, message = operator.next()
        leaving, triggered = operator.take(channel, message.what)
        seconds = operator.seconds(message.what, triggered)
        overhead = self._overhead if node.last[worker] is operator else self._overhead + self._switch
        node.last[worker] = operator
        node.running[worker] = (operator, channel, message, leaving, seconds, overhead, triggered)
        self._at(now + seconds + overhead, _FINISH, node, worker)
        if self.measured.timeline is not None:
            self.measured.timeline.append((operator.node, worker, now, seconds + overhead, operator, message.what))

    def _finish(self, node: _Node, worker: int) -> None:
        now = self._now
        operator, channel, message, leaving, seconds, overhead, triggered = node.running[worker]
        operator.running = False
        operator.profile.ran(seconds, triggered)
        for what in leaving:
            self._send(operator, message.context, what, worker)
            operator.profile.flow.gave(what.rows)
        self._acknowledge(operator, channel, now - overhead - seconds - message.since, worker)
        if channel.counts:
            self.measured.reads[operator.job][int(now)] += message.what.weight
        self.measured.work[operator.job][int(now)] += seconds
        self._worked += seconds + overhead
        self._runs += 1
        self._offer(operator, worker)
        node.queue.done(operator, now, worker)
        node.idle.append(worker)
        if not node.waits:
            node.waits = True
            self._choosing.append(node)

    def _send(self, operator: Operator, cause: PriorityContext, what: Leaving, worker: int | None) -> None:
        """A message leaves an operator, to all stages that read it, or as a result."""
        now = self._now
        for edge in operator.edges:
            context = self._policy.at_operator(edge.converter, cause, what.p, what.t, what.partition, now)
            if len(edge.channels) == 1:
                self._pass(operator, edge.channels[0], Message(what, context), worker)
                continue
            for channel, part in zip(edge.channels, edge.parts(what), strict=True):
                self._pass(operator, channel, Message(part, context), worker)
        if not operator.edges and what.weight:
            result = (now, what.t, what.event, what.weight, operator.number)
            self.measured.results[operator.job].append(result)
            operator.profile.flow.lag.observe(now - what.t, now)

    def _pass(self, operator: Operator, channel: Channel, message: Message, worker: int | None) -> None:
        channel.room -= 1
        if channel.room == 0:
            operator.full += 1
        if channel.remote:
            # A short message does not overtake a long one.
            came = max(channel.last, self._now + self._exchange + self._exchange_row * message.what.rows)
            channel.last = came
            self._at(came, _DELIVER, channel, message)
        else:
            self._receive(channel, message, worker)

    def _deliver(self, channel: Channel, message: Message) -> None:
        self._receive(channel, message, None)

    def _receive(self, channel: Channel, message: Message, worker: int | None) -> None:
        self._number += 1
        message.arrival = self._number
        message.since = self._now
        operator = channel.receiver
        if operator.put(channel, message) and not operator.running:
            self._offer(operator, worker)

    def _offer(self, operator: Operator, worker: int | None) -> None:
        """The operator's next message is another one: tell its node's queue, if it can run."""
        if not operator.heads:
            return
        if operator.full:
            operator.blocked = True
            return
        channel = operator.heads[0][2]
        message = channel.messages[0]
        if channel.sender is None:  # a source that has something due
            message.context = self._policy.at_source(operator.own, message.what.t, self._now)
        node = self._nodes[operator.node]
        operator.queued = True
        node.queue.push(operator, message.context, message.arrival, self._now, worker)
        if node.idle and not node.waits:
            node.waits = True
            self._choosing.append(node)

    def _acknowledge(self, operator: Operator, channel: Channel, waited: float, worker: int) -> None:
        reply = None
        runs = operator.profile.runs
        if runs <= ALWAYS_REPLIES or runs % REPLIES_EVERY == 0:
            operator.profile.waited(max(0.0, waited))
            converters = [edge.converter for edge in operator.edges]
            reply = self._policy.prepare_reply(operator.profile, converters, operator.waiting)
            self._policy.process_reply(operator.own, operator.number, reply)
        if channel.remote:
            self._at(self._now + self._exchange, _REPLY, channel, reply)
        elif channel.sender is not None:
            self._credit(channel, reply, worker)

    def _credit(self, channel: Channel, reply: ReplyContext | None, worker: int | None = None) -> None:
        """The sender hears that a message was taken."""
        sender, edge = channel.sender, channel.edge
        assert sender is not None
        assert edge is not None
        if reply is not None:
            self._policy.process_reply(edge.converter, channel.receiver.number, reply)
        channel.room += 1
        if channel.room == 1:
            sender.full -= 1
            if sender.blocked and not sender.full:
                sender.blocked = False
                self._go_on(sender, worker)

    def _go_on(self, operator: Operator, worker: int | None) -> None:
        """There is room again for what the operator gives."""
        if operator.scheduled:
            if not operator.running:
                self._offer(operator, worker)
        else:
            self._pour(operator)

    def _expect(self, source: SourceOperator) -> None:
        due = source.due()
        if due is not None:
            self._at(due, _ARRIVE, source, None)

    def _arrive(self, source: SourceOperator, _: None) -> None:
        what = source.arrive()
        self._expect(source)
        if source.scheduled:
            self._receive(source.inputs[0], Message(what, EARLIEST), None)
        elif source.full:
            source.put(source.inputs[0], Message(what, EARLIEST))
            source.blocked = True
        else:
            self._send(source, self._policy.at_source(source.own, what.t, self._now), what, None)

    def _pour(self, source: Operator) -> None:
        """A client sends what it has, as long as there is room."""
        while source.heads:
            if source.full:
                source.blocked = True
                return
            _, message = source.next()
            context = self._policy.at_source(source.own, message.what.t, self._now)
            self._send(source, context, message.what, None)
