"""Hands results to the sink: in the loop itself, in a thread that may block, or to the driver.

1. Rows belong to the epoch that the next barrier ends; at the barrier the writer makes them durable and its receipt
   goes into the checkpoint.
2. A result's latency ends when the writer has taken it.
3. Nobody is downstream, so watermarks do not come here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from headway.connectors.api import SinkWriter
from headway.node.message import Barrier, Message
from headway.node.operators.base import Head, Operator
from headway.node.operators.host import Host, State
from headway.node.ports import Channel, ChannelKey, Port
from headway.observe.misses import Result, Spent
from headway.threads import Lane


class _Task(NamedTuple):
    """A message for the writer's thread, and when the operator took it."""

    message: Message
    taken: float
    epoch: int


class _Done(NamedTuple):
    task: _Task
    receipt: object
    time: float


_CLOSE = _Task(Message(), 0.0, -1)


class InlineSink(Operator):
    """A writer that never blocks."""

    at_once = True

    def __init__(
        self, host: Host, stage: int, channels: Iterable[ChannelKey], writer: SinkWriter, epoch: int, at_commit: bool
    ) -> None:
        super().__init__(host, stage, channels)
        self._writer = writer
        self._epoch = epoch
        self._at_commit = at_commit
        """Results show when their epoch commits; until then they are held here, to be timed then."""
        self._results: list[Result] = []

    def on_rows(self, channel: Channel, message: Message) -> None:
        self._writer.write(message.batch, self._epoch)
        self._record(message, self.spent(), self.host.now())

    def _record(self, message: Message, spent: Spent, now: float) -> None:
        assert message.batch is not None
        result = Result(message.first_t, message.t, message.polled, message.batch.num_rows, now, spent)
        if self._at_commit:
            self._results.append(result)
        else:
            self.host.metrics.show(result, now)

    def _receipt(self, receipt: object) -> State:
        """The receipt of the epoch, and the results that will show with it."""
        results, self._results = self._results, []
        return State(value=(receipt, results))

    def on_marker(self, message: Message) -> None:
        self.host.metrics.marker.record(self._lagged(message))

    def on_barrier(self, barrier: Barrier) -> None:
        receipt = self._writer.prepare(barrier.epoch)
        self._epoch = barrier.epoch + 1
        self.host.passed(self, barrier, self._receipt(receipt))

    def close(self) -> None:
        self._writer.close(failed=True)


class DriverSink(Operator):
    """Everything goes on to the driver, in order."""

    def __init__(self, host: Host, stage: int, channels: Iterable[ChannelKey]) -> None:
        super().__init__(host, stage, channels)
        self.port: Port

    def _has_room(self) -> bool:
        return self.port.room()

    def on_rows(self, channel: Channel, message: Message) -> None:
        self.port.send(message._replace(spent=self.spent()))

    def on_marker(self, message: Message) -> None:
        self._lagged(message)
        self.port.send(message)

    def on_barrier(self, barrier: Barrier) -> None:
        self.port.send(Message(barrier=barrier))
        self.host.passed(self, barrier, State())


class ThreadedSink(InlineSink):
    """A writer that may block, in a thread of the node's; a bounded number of messages waits for it."""

    at_once = False
    LIMIT = 16

    def __init__(
        self, host: Host, stage: int, channels: Iterable[ChannelKey], writer: SinkWriter, epoch: int, at_commit: bool
    ) -> None:
        super().__init__(host, stage, channels, writer, epoch, at_commit)
        self._waiting = 0
        self._done: deque[_Done | BaseException] = deque()
        self._failed = False
        self._closed = False
        self._lane = Lane(host.threads, self._work)

    def _work(self, task: _Task | None) -> None:
        """In a thread."""
        if task is _CLOSE:
            self._writer.close(self._failed)
        elif task is not None and not (self._failed or self._closed):
            try:
                self._done.append(_Done(task, self._do(task), self.host.now()))
            except BaseException as error:
                self._failed = True
                self._done.append(error)
            self.host.notify(self)

    def _do(self, task: _Task) -> object:
        if task.message.barrier is not None:
            return self._writer.prepare(task.message.barrier.epoch)
        self._writer.write(task.message.batch, task.epoch)
        return None

    def _head(self) -> Head | None:
        return self._own_head(self.host.now()) if self._done else super()._head()

    def _next_channel(self) -> Channel | None:
        return super()._next_channel() if self._waiting < self.LIMIT else None

    def run(self) -> None:
        while self._done:
            self._take_done(self._done.popleft())
        super().run()

    def _take_done(self, done: _Done | BaseException) -> None:
        if isinstance(done, BaseException):
            raise done
        self._waiting -= 1
        message, taken, _ = done.task
        self.account.add(-message.size)
        if message.barrier is not None:
            self.host.passed(self, message.barrier, self._receipt(done.receipt))
        else:
            self._record(message, message.spent.and_then(service=done.time - taken), done.time)

    def on_rows(self, channel: Channel, message: Message) -> None:
        self._put(message._replace(spent=self.spent()))

    def on_barrier(self, barrier: Barrier) -> None:
        self._put(Message(barrier=barrier))
        self._epoch = barrier.epoch + 1

    def _put(self, message: Message) -> None:
        self._waiting += 1
        self.account.add(message.size)
        self._lane.put(_Task(message, self.host.now(), self._epoch))

    def close(self) -> None:
        self._closed = True
        self._lane.put(_CLOSE)
