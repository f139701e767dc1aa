"""What all operators share: an inbox of channels, outputs, and the alignment of barriers.

1. An operator takes one message at a time, from the channel whose next message arrived first.
2. A channel that gave its barrier waits until all have; then the operator's state is that of the epoch, it tells the
   deployment, and the barrier goes on.
3. An operator never blocks, and runs only while every output has room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from headway.node.message import Barrier, Message, Watermark
from headway.node.outputs import Output
from headway.node.ports import Channel, ChannelKey
from headway.node.watermarks import InputWatermark
from headway.observe.metrics import QueryMetrics
from headway.scheduling import Head


@dataclass
class State:
    """What an operator puts in a checkpoint: rows, and a JSON value."""

    table: pa.Table | None = None
    value: Any = None


class Host(Protocol):
    """What an operator needs of the deployment it belongs to."""

    metrics: QueryMetrics
    latency: float | None

    def now(self) -> float: ...

    def arrival(self) -> int: ...

    def sources(self) -> int:
        """How many sources the node polls, of all queries."""

    def ready(self, operator: Operator, head: Head) -> None:
        """The operator can run."""

    def notify(self, operator: Operator) -> None:
        """From any thread: run the operator's `schedule` soon."""

    def at(self, when: float, operator: Operator) -> None:
        """Run the operator's `wake` at `when`."""

    def passed(self, operator: Operator, barrier: Barrier, state: State) -> None:
        """The operator is through the barrier with this state."""


class Operator:
    """Base of operators."""

    def __init__(self, host: Host, stage: int, channels: Iterable[ChannelKey]) -> None:
        self.host = host
        self.stage = stage
        self.channels = {key: Channel(key) for key in channels}
        self.outputs: Sequence[Output] = ()
        self.inputs = InputWatermark(self.channels)
        self.queued = False
        """True iff the scheduler holds this operator."""
        self._serial = 0
        self._row_bytes: float | None = None
        """Bytes per row of the output, 0 if it varies; None until the first batch."""
        self._aligned = 0

    def start(self) -> None:
        """All operators of the deployment are wired; rows may flow."""

    def close(self) -> None:
        """The deployment ends."""

    def restore(self, states: Sequence[State]) -> None:
        """Take the states that operators of this stage had at the epoch that is restored."""

    def receive(self, channel: Channel, message: Message) -> None:
        channel.put(self.host.arrival(), message)
        if not self.queued:
            self.schedule()

    def schedule(self) -> None:
        """Offer this operator to the scheduler, if it can run."""
        if self.queued or not self._has_room():
            return
        head = self._head()
        if head is not None:
            self.queued = True
            self.host.ready(self, head)

    def _has_room(self) -> bool:
        return all(port.room() for output in self.outputs for port in output.ports)

    def _next_channel(self) -> Channel | None:
        best = None
        for channel in self.channels.values():
            if (
                channel.messages
                and not channel.blocked
                and (best is None or channel.messages[0][0] < best.messages[0][0])
            ):
                best = channel
        return best

    def _head(self) -> Head | None:
        channel = self._next_channel()
        if channel is None:
            return None
        arrival, _, message = channel.messages[0]
        return Head(arrival, message.p, message.t, self.host.latency)

    def run(self) -> None:
        """Take one message. Called by the worker loop when the scheduler chose this operator."""
        self.queued = False
        channel = self._next_channel()
        if channel is not None and self._has_room():
            self._take(channel, channel.take())
        self.schedule()

    def _take(self, channel: Channel, message: Message) -> None:
        if message.batch is not None:
            self.on_rows(channel, message)
        elif message.barrier is not None:
            self._align(channel, message.barrier)
        elif message.marker:
            self.on_marker(message)
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
        for output in self.outputs:
            output.ports[message.partition % len(output.ports)].send(message)

    def on_barrier(self, barrier: Barrier) -> None:
        self.host.passed(self, barrier, self.snapshot())
        self.broadcast(Message(barrier=barrier))

    def snapshot(self) -> State:
        return State()

    def wake(self, now: float) -> None:
        """A time asked for with `host.at` has come."""
        self.schedule()

    def measure(self, now: float) -> None:
        """Fill the gauges of the metrics."""

    def give(
        self, batch: pa.RecordBatch, p: int | None, t: float, first_t: float, polled: float, partition: int = 0
    ) -> None:
        """Send rows downstream."""
        self._serial += 1
        size = self._size(batch)
        message = Message(batch, p, t, first_t, polled, self._serial, partition, size=size)
        for output in self.outputs:
            output.rows(message)

    def _size(self, batch: pa.RecordBatch) -> int:
        """The bytes of a batch. Arrow's own count takes 30 microseconds, so rows of fixed width are multiplied."""
        if self._row_bytes is None:
            fixed = [pa.types.is_primitive(type_) and type_.bit_width for type_ in batch.schema.types]
            self._row_bytes = sum(fixed) / 8 if all(fixed) else 0.0
        return int(batch.num_rows * self._row_bytes) if self._row_bytes else batch.nbytes

    def tell(self, watermark: Watermark, cause: Message) -> None:
        """Send a watermark downstream; results that it triggers are timed from its cause."""
        self.broadcast(
            Message(None, watermark.value, cause.t, cause.first_t, cause.polled, 0, cause.partition, watermark)
        )

    def broadcast(self, message: Message) -> None:
        for output in self.outputs:
            for port in output.ports:
                port.send(message)
