"""Merges the partial aggregates of this operator's key buckets and emits results in the query's output mode."""

from __future__ import annotations

from collections.abc import Iterable

from headway.kernels.api import MergeKernel
from headway.node.message import Barrier, Message
from headway.node.operators.host import Host
from headway.node.operators.stateful import StatefulOperator
from headway.node.outputs import Share
from headway.node.ports import Channel, ChannelKey

SPARING = 3
"""After results were made it waits so many times as long as that takes: results of large groups would take all time."""
SMOOTHING = 0.2
"""The weight of the last time. One that took long for another reason is no reason to wait: the next would have more."""


class MergeOperator(StatefulOperator[MergeKernel]):
    """In append mode results leave when the watermark ends them; in the others a short while after they changed, or
    later where to make them takes long."""

    def __init__(
        self,
        host: Host,
        stage: int,
        channels: Iterable[ChannelKey],
        kernel: MergeKernel,
        name: str,
        mode: str,
        emit_every: float,
        share: Share,
    ) -> None:
        super().__init__(host, stage, channels, kernel, name, share)
        self._mode = mode
        self._emit_every = emit_every
        self._oldest: Message | None = None
        self._newest: tuple[int | None, float] = (None, 0.0)
        self._emitted = 0.0
        self._takes = 0.0
        """Seconds to make results, about."""
        self._armed = False

    def on_rows(self, channel: Channel, message: Message) -> None:
        assert message.batch is not None
        # Complete mode keeps every group for ever, so nothing is late to it.
        ended = None if self._mode == "complete" else self.inputs.current.value
        late = self._kernel.merge(message.batch, ended)
        state = self.counts
        state.late += late
        state.updated += message.batch.num_rows - late
        if self._mode != "append":
            self._oldest = self._oldest or self.kept(message)
            self._newest = message.p, message.t
            self._emit_if_due()

    def _emit_if_due(self) -> None:
        now = self.host.now()
        pause = max(self._emit_every, SPARING * self._takes)
        if now - self._emitted >= pause:
            self._emit_changed()
        elif not self._armed:
            self._armed = True
            self.host.at(self._emitted + pause, self)

    def wake(self, now: float) -> None:
        if self._armed:
            self._armed = False
            self._emit_changed()
        self.schedule()

    def _emit_changed(self) -> None:
        now = self.host.now()
        oldest, newest = self._oldest, self._newest
        if oldest is None:
            oldest, newest = Message(t=now, first_t=now, polled=now), (None, now)
        rows = self._kernel.emit(self._mode, self.inputs.current.value)
        self._emitted = self.host.now()
        self._takes += SMOOTHING * (self._emitted - now - self._takes)
        self._oldest = None
        if rows is not None:
            self.give(rows, *newest, oldest)

    def on_watermark(self, cause: Message) -> None:
        watermark = self.inputs.current
        if watermark.value is not None:
            self.host.metrics.watermark_us = watermark.value
            if self._mode == "append":
                rows = self._kernel.emit("append", watermark.value)
                if rows is not None:
                    self.counts.removed += rows.num_rows
                    self.give(rows, watermark.value, cause.t, cause)
            elif self._mode == "update":
                self._emit_if_due()
        self.tell(self._own_step(watermark.value), cause)

    def on_barrier(self, barrier: Barrier) -> None:
        if self._mode != "append":
            self._emit_changed()
        super().on_barrier(barrier)

    def measure(self, now: float) -> None:
        state = self.counts
        # The chain before has added what it holds, unless it runs elsewhere.
        state.rows += self._kernel.groups
        state.bytes += self._kernel.bytes
