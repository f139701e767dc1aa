"""Runs a relation that keeps state by key, for the key buckets of this operator."""

from __future__ import annotations

from collections.abc import Iterable

from headway.kernels.api import KeyedKernel, Outcome
from headway.node.message import Message
from headway.node.operators.host import Host
from headway.node.operators.stateful import StatefulOperator
from headway.node.outputs import Share
from headway.node.ports import Channel, ChannelKey


class KeyedOperator(StatefulOperator[KeyedKernel]):
    """Rows leave when they come, when the watermark moves, or when a timer of the kernel's fires."""

    def __init__(
        self, host: Host, stage: int, channels: Iterable[ChannelKey], kernel: KeyedKernel, name: str, share: Share
    ) -> None:
        super().__init__(host, stage, channels, kernel, name, share)
        self._timer: float | None = None
        """Not None iff a timer is set for it."""

    def start(self) -> None:
        self._kernel.start(self._share.of)
        self._arm()

    def close(self) -> None:
        self._kernel.close()

    def on_rows(self, channel: Channel, message: Message) -> None:
        assert message.batch is not None
        _, _, number = channel.key
        outcome = self._kernel.process(number, message.batch, self.inputs.current.value)
        self._give(outcome, message.p, message)
        self._arm()

    def on_watermark(self, cause: Message) -> None:
        value = self.inputs.current.value
        if value is not None:
            self.host.metrics.watermark_us = value
            self._give(self._kernel.advance(value), value, cause)
            value = self._kernel.output_watermark(value)
        self.tell(self._own_step(value), cause)
        self._arm()

    def wake(self, now: float) -> None:
        if self._timer is not None and now >= self._timer:
            self._timer = None
            self._give(self._kernel.on_time(now), None, Message(t=now, first_t=now, polled=now))
            self._arm()
        self.schedule()

    def _arm(self) -> None:
        due = self._kernel.next_timer()
        if due is not None and (self._timer is None or due < self._timer):
            self._timer = due
            self.host.at(due, self)

    def _give(self, outcome: Outcome, p: int | None, cause: Message) -> None:
        state = self.counts
        state.late += outcome.late
        state.updated += outcome.updated
        state.removed += outcome.removed
        if outcome.duplicates is not None:
            state.duplicates = (state.duplicates or 0) + outcome.duplicates
        if outcome.rows is not None and outcome.rows.num_rows:
            self.give(outcome.rows, p, cause.t, cause)

    def measure(self, now: float) -> None:
        state = self.counts
        state.rows, state.bytes = self._kernel.rows, self._kernel.bytes
