"""What all operators share: an inbox of channels, outputs, and the alignment of barriers.

1. A run takes messages for a moment (small ones would cost less than choosing who is next), each from the channel
   whose next message has the lowest local priority; equal ones in order of arrival. Within a channel the order stays:
   marks say something of the rows before them.
2. A channel that gave its barrier waits until all have; then the operator's state is that of the epoch, it tells the
   deployment, and the barrier goes on.
3. An operator never blocks, and runs only while every output has room.
4. What costs little is taken at once where it was made, by an operator that has nothing before it: a message that
   waits for its turn costs more than to filter a few thousand rows.
5. What it sends has a priority context, made with what it knows of the receiving stage (its converter). Every now and
   then it tells upstream what its runs cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import pyarrow as pa

from headway.memory import Block, Rows, row_bytes
from headway.node.message import Barrier, Message, Watermark
from headway.node.operators.host import Host, State
from headway.node.outputs import Output
from headway.node.ports import Channel, ChannelKey, Port
from headway.node.watermarks import NOTHING, InputWatermark
from headway.observe.misses import Spent
from headway.scheduling import Converter, PriorityContext, Profile
from headway.scheduling.contexts import EARLIEST

AT_ONCE = 0.0005
"""Seconds that a message may cost to be taken where it was made."""
ALWAYS_REPLIES = 16
REPLIES_EVERY = 8
"""The first messages are all answered with a reply context, later ones now and then."""

NO_MESSAGE = Message()
Head = tuple[PriorityContext, int]
"""The context of what an operator would do next, and its order of arrival in the node."""


class Operator:
    """Base of operators."""

    reads = False
    """Whether it brings rows into the node: only then the memory that its query has matters."""
    at_once = False
    """Whether it may take a message where it was made."""
    takes_blocks = False
    """Whether it can do with a block where others need Arrow columns."""
    absorbs = False
    """Whether it can take blocks ahead of the message that tells of them."""

    def __init__(self, host: Host, stage: int, channels: Iterable[ChannelKey]) -> None:
        self.host = host
        self.account = host.account
        self.stage = stage
        self.channels = {key: Channel(key) for key in channels}
        self.outputs: Sequence[Output] = ()
        self.ports: Sequence[Port] = ()
        """Those of all outputs."""
        self.converters: list[Converter] = []
        """One per output: what is known of the stage behind it."""
        self.deaf: list[Output] = []
        """Those of the outputs behind which watermarks are of no use."""
        self.listeners: list[tuple[Port, Converter]] = []
        """Those that get marks but no rows, and what is known of the stage there."""
        self.own: Converter
        """What is known of this operator itself: for what it does by itself, and when the policy changes."""
        self.profile = Profile()
        self.inputs = InputWatermark(self.channels)
        self.queued = False
        """True iff the scheduler holds this operator."""
        self.offered = EARLIEST
        """The context with which the scheduler got it last."""
        self.current = NO_MESSAGE
        """The message that is being taken; not longer, for its rows are memory that others can use while it is warm."""
        self.cause = EARLIEST
        """The context of the message that was taken last."""
        self._from: Channel | None = None
        self._began = 0.0
        self._waited = 0.0
        self._messages = 0
        """Taken in this run."""
        self._rows = 0
        """The same."""
        self.row_cost = 0.0
        """Seconds per row, of the last run that took rows and gave no results of windows; 0: there was none."""
        self._triggered = False
        """True iff a mark made results leave in this run."""
        self._serial = 0
        self._row_bytes: float | None = None
        """Bytes per row of the output, 0 if it varies; None until the first batch."""
        self._aligned = 0

    def start(self) -> None:
        """All operators of the deployment are wired; rows may flow."""

    def close(self) -> None:
        """The deployment ends."""

    def knows(self) -> Iterable[Converter]:
        """All converters: of itself, of the stages that get its rows, of those that only listen."""
        return (self.own, *self.converters, *(converter for _, converter in self.listeners))

    def restore(self, states: Sequence[State]) -> None:
        """Take the states that operators of this stage had at the epoch that is restored."""

    def receive(self, channel: Channel, message: Message) -> None:
        batch = message.batch
        if batch is not None:
            self.profile.flow.came(batch.num_rows)
            self.account.add(message.size)
            if isinstance(batch, Block):
                message = message._replace(batch=batch.packed(self.host.memory))
        channel.put(self.host.arrival(), self.host.now(), message)
        if not self.queued:
            self.schedule()
        elif len(channel.messages) == 1 and message.context.local < self.offered.local and not channel.blocked:
            self.offer()

    def hand(self, channel: Channel, message: Message) -> None:
        """As `receive`, for the only channel of this operator, by a sender that is done with the message."""
        host = self.host
        profile = self.profile
        # A marker is only passed on; other marks may end windows.
        cost = profile.taking if message.batch is not None or message.marker else profile.cost
        if not self._takes_at_once(channel, cost):
            self.receive(channel, message)
            return
        outside, host.nested = host.nested, 0.0
        self.current, self.cause, self._from = message, message.context, channel
        self._began, self._waited = host.now(), 0.0
        if message.batch is not None:
            self.profile.flow.took_at_once(message.batch.num_rows)
            self._rows += message.batch.num_rows
        self._take(channel, message)
        self._messages += 1
        ended = host.now()
        took = ended - self._began
        self.profile.flow.ran(took - host.nested, ended)
        self.ran(took - host.nested)
        host.nested = outside + took
        if channel.messages:
            self.schedule()

    def _takes_at_once(self, channel: Channel, cost: float) -> bool:
        return not (
            self.queued
            or channel.messages
            or channel.blocked
            or cost > AT_ONCE
            or not self.host.burst()
            or not self._has_room()
        )

    def absorb(self, channel: Channel, block: Block) -> bool:
        """Take rows whose message is about to come, if one must come at all (see `note`)."""
        if not (self.absorbs and self._takes_at_once(channel, self.profile.taking)):
            return False
        host, flow = self.host, self.profile.flow
        self._from, self._waited = channel, 0.0
        began = host.now()
        self._absorb(block)
        ended = host.now()
        flow.took_at_once(block.num_rows)
        self._rows += block.num_rows
        flow.ran(ended - began, ended)
        self.ran(ended - began)
        host.nested += ended - began
        return True

    def _absorb(self, block: Block) -> None:
        raise NotImplementedError

    def note(self, channel: Channel, partition: int, p: int | None, t: float, polled: float) -> bool:
        """Whether what was absorbed needs no message, which would have said this: what it would change is done."""
        raise NotImplementedError

    def put_back(self, channel: Channel, message: Message) -> None:
        """What is left of the message that is being taken goes first when there is room again."""
        assert message.batch is not None
        channel.put_back(self.host.now(), message)
        self.profile.flow.put_back(message.batch.num_rows)
        self.account.add(message.size)

    def schedule(self) -> None:
        """Offer this operator to the scheduler, if it can run."""
        if not self.queued and self._has_room():
            self.offer()

    def offer(self) -> None:
        """Tell the scheduler what this operator would do next."""
        head = self._head()
        if head is not None:
            self.queued = True
            self.offered = head[0]
            self.host.dispatcher.ready(self, *head, self.host.now())

    def _has_room(self) -> bool:
        for port in self.ports:
            if not port.room():
                return False
        return not self.reads or self.account.may_read(self.schedule)

    def _next_channel(self) -> Channel | None:
        best = None
        lowest: tuple[float, int] = (0.0, 0)
        for channel in self.channels.values():
            if channel.messages and not channel.blocked:
                arrival, _, message = channel.messages[0]
                order = (message.context.local, arrival)
                if best is None or order < lowest:
                    best, lowest = channel, order
        return best

    def _head(self) -> Head | None:
        channel = self._next_channel()
        if channel is None:
            return None
        arrival, _, message = channel.messages[0]
        return message.context, arrival

    def _own_head(self, t: float) -> Head:
        """For what the operator does by itself and could have done at t."""
        return self.host.dispatcher.at_source(self.own, t, self.host.now()), self.host.arrival()

    def run(self) -> None:
        """Take messages, for a moment. Called by the worker loop when the scheduler chose this operator."""
        self.queued = False
        now = self.host.now()
        until = now + self.host.burst()
        while (channel := self._next_channel()) is not None and self._has_room():
            since, message = channel.take()
            if message.batch is not None:
                self.profile.flow.took(message.batch.num_rows)
                self._rows += message.batch.num_rows
                self.account.add(-message.size)
            self.current, self.cause, self._from = message, message.context, channel
            self._began = now
            self._waited = now - since
            self._take(channel, message)
            self._messages += 1
            now = self.host.now()
            if now >= until:
                break
        self.schedule()

    def ran(self, seconds: float) -> None:
        """A run took so long. Called by the worker loop after it."""
        profile = self.profile
        profile.ran(seconds / max(1, self._messages), self._triggered)
        if self._rows and not self._triggered:
            self.row_cost = seconds / self._rows
        self._triggered = False
        self._messages = self._rows = 0
        self.current = NO_MESSAGE
        if profile.runs <= ALWAYS_REPLIES or profile.runs % REPLIES_EVERY == 0:
            profile.waited(self._waited)
            self._reply()

    def taken(self) -> tuple[str, int, int | None, float]:
        """What the last run took, for a record of it: kind, rows, p, t."""
        message = self.current
        if message.batch is None:
            return "mark", 0, message.p, message.t
        return "rows", message.batch.num_rows, message.p, message.t

    def _reply(self) -> None:
        dispatcher = self.host.dispatcher
        waiting = sum(len(channel.messages) for channel in self.channels.values())
        reply = dispatcher.prepare_reply(self.profile, self.converters, waiting)
        dispatcher.process_reply(self.own, self.stage, reply)
        if self._from is not None:
            self._from.on_reply(reply)

    def spent(self) -> Spent:
        """Where the time of the current message went, this run included."""
        return self.current.spent.and_then(self._waited, self.host.now() - self._began)

    def _spent_by(self, cause: Message) -> Spent:
        """The same of the message that results are timed from: the current one, or one kept with what it had spent."""
        return self.spent() if cause is self.current else cause.spent

    def kept(self, message: Message) -> Message:
        """A message to time later results from, as it is after its own run."""
        return message._replace(batch=None, spent=self.spent())

    def _take(self, channel: Channel, message: Message) -> None:
        if message.batch is not None:
            self.on_rows(channel, message)
        elif message.barrier is not None:
            self._align(channel, message.barrier)
        elif message.marker:
            self.on_marker(message)
        elif message.watermark is not None and message.watermark.of_partition:
            self.inputs.update(channel.key, NOTHING)
            self.broadcast(message)  # to a watermark step that may follow
        elif message.watermark is not None and self.inputs.update(channel.key, message.watermark):
            self.on_watermark(message)

    def _align(self, channel: Channel, barrier: Barrier) -> None:
        self._aligned += 1
        if self._aligned < len(self.channels):
            channel.blocked = True
            return
        self._aligned = 0
        for waiting in self.channels.values():
            waiting.blocked = False
        self.on_barrier(barrier)

    def on_rows(self, channel: Channel, message: Message) -> None:
        raise NotImplementedError

    def on_watermark(self, cause: Message) -> None:
        """The inputs' watermark has changed; `cause` is the message that did it."""
        self.tell(self.inputs.current, cause)

    def on_marker(self, message: Message) -> None:
        for output, converter in zip(self.outputs, self.converters, strict=True):
            port = output.ports[message.partition % len(output.ports)]
            port.send(message._replace(context=self._context(converter, None, message.t, message.partition)))

    def _lagged(self, marker: Message) -> float:
        """A marker has come to the query's end: how long it took, which the scheduler may want to know."""
        now = self.host.now()
        self.profile.flow.lag.observe(now - marker.first_t, now)
        return now - marker.first_t

    def on_barrier(self, barrier: Barrier) -> None:
        self.host.passed(self, barrier, self.snapshot())
        self.broadcast(Message(barrier=barrier, t=self.host.now()))

    def snapshot(self) -> State:
        return State()

    def wake(self, now: float) -> None:
        """A time asked for with `host.at` has come."""
        self.schedule()

    def measure(self, now: float) -> None:
        """Fill the gauges of the metrics."""

    def give(self, batch: Rows, p: int | None, t: float, cause: Message, partition: int = 0) -> None:
        """Send rows downstream; results of them are timed from `cause`."""
        self._serial += 1
        self.profile.flow.gave(batch.num_rows)
        for output, converter in zip(self.outputs, self.converters, strict=True):
            output.rows(self._message(batch, converter, p, t, cause, partition))

    def give_each(self, parts: Sequence[pa.RecordBatch], p: int | None, t: float, cause: Message) -> None:
        """Send rows downstream that are dealt to the ports of the only output already."""
        self._serial += 1
        self.profile.flow.gave(sum(part.num_rows for part in parts))
        for port, part in zip(self.outputs[0].ports, parts, strict=True):
            if part.num_rows:
                port.send(self._message(part, self.converters[0], p, t, cause, 0))

    def _message(
        self, batch: Rows, converter: Converter, p: int | None, t: float, cause: Message, partition: int
    ) -> Message:
        self._triggered = self._triggered or self.current.batch is None
        size = batch.nbytes if isinstance(batch, Block) else self._size(batch)
        return Message(
            batch, p, t, cause.first_t, cause.polled, self._serial, partition, None, None, False, size,
            self._context(converter, p, t, partition), self._spent_by(cause)
        )  # fmt: skip

    def _context(self, converter: Converter, p: int | None, t: float, partition: int) -> PriorityContext:
        return self.host.dispatcher.at_operator(converter, self.cause, p, t, partition, self.host.now())

    def _size(self, batch: pa.RecordBatch) -> int:
        """The bytes of a batch. Arrow's own count takes 30 microseconds, so rows of fixed width are multiplied."""
        if self._row_bytes is None:
            self._row_bytes = row_bytes(batch.schema)
        return int(batch.num_rows * self._row_bytes) if self._row_bytes else batch.nbytes

    def tell(self, watermark: Watermark, cause: Message) -> None:
        """Send a watermark downstream; results that it triggers are timed from its cause."""
        spent = self._spent_by(cause)
        self.broadcast(
            Message(None, watermark.value, cause.t, cause.first_t, cause.polled, 0, cause.partition, watermark,
                    spent=spent)
        )  # fmt: skip

    def _own_step(self, value: int | None) -> Watermark:
        """The watermark behind state. Rows that leave later are not before it, so it counts idle or not; without a
        watermark upstream there is none."""
        current = self.inputs.current
        return current._replace(value=value, steps=((self.stage, value, False),) if current.steps else ())

    def broadcast(self, message: Message) -> None:
        """Send a mark to every operator downstream. It hurries as rows do that no window holds back."""
        for output, converter in zip(self.outputs, self.converters, strict=True):
            if message.watermark is not None and output in self.deaf:
                continue
            context = self._context(converter, None, message.t, message.partition)
            # Marks are cheap, and others wait for them: an operator takes one as soon as it is the next of its channel.
            marked = message._replace(context=context._replace(local=-inf))
            for port in output.ports:
                port.send(marked)
        for port, converter in self.listeners:
            context = self._context(converter, None, message.t, message.partition)
            port.send(message._replace(context=context._replace(local=-inf)))
