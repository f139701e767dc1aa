"""Runs a chain of stateless steps and, at its end, the partial step of an aggregation.

1. Groups that a watermark ends leave before it: after it they would be late. Without one, or in other output modes than
   append, all groups leave a short while after they changed: partials are merged downstream, so leaving early changes
   no answer.
2. A chain starts interpreted and changes over to its compiled kernel when that is ready: the groups held move over.
3. A watermark step turns the event times it sees into the watermark that goes on from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

import pyarrow as pa

from headway.dataflow.graph import Watermark as WatermarkStep
from headway.dataflow.types import arrow_schema
from headway.dataflow.windows import window_ends
from headway.kernels.api import Chain, ChainKernel
from headway.kernels.compiled import Ticket
from headway.memory import Block
from headway.node.message import Barrier, Message, Watermark
from headway.node.operators.base import Operator
from headway.node.operators.host import Host, State
from headway.node.operators.marks import marks_every
from headway.node.operators.pieces import pieces_of
from headway.node.ports import Channel, ChannelKey
from headway.node.watermarks import Partition, SourceWatermark

MAX_GROUPS = 1 << 20
"""Partial groups held before all leave early: bounds the memory of the first step."""
COMPILED_CHECK = 0.05
PUBLISH_EVERY = 0.001
"""The watermark goes on at most so often: at full speed a batch takes less, and every operator downstream is told."""
NEWS_EVERY = 0.25
"""The same before windows, which are told of at once when one of them may end: in between it is only news."""
SESSIONS_EVERY = 0.01
"""The same before sessions, whose partials all leave with it."""


class ChainOperator(Operator):
    """See the module. `flush_every` is None iff groups leave by watermark alone; `whole`: batches are whole results.

    `merge` is not None iff the chain ends in an aggregation: the stage that merges, and what Spark calls it. Groups
    held here are rows of its state too.
    """

    at_once = True
    takes_blocks = True

    def __init__(
        self,
        host: Host,
        stage: int,
        channels: Iterable[ChannelKey],
        chain: Chain,
        kernel: ChainKernel,
        ticket: Ticket | None,
        flush_every: float | None,
        idle_after: float,
        whole: bool,
        merge: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(host, stage, channels)
        self._kernel = kernel
        self._ticket = ticket
        self._aggregates = chain.aggregate is not None
        self._sessions = chain.aggregate is not None and chain.aggregate.session
        self._pieces = None if whole else pieces_of(chain)
        """Not None iff the chain may make more than it takes."""
        self._flush_every = flush_every
        self._late_after = chain.aggregate is not None and chain.aggregate.event_key is not None
        """True iff groups are late once what is downstream has heard of a watermark that ends them."""
        self._merge = merge
        last = chain.steps[-1] if chain.steps else chain.input
        self._nothing = _empty(arrow_schema(last.schema)) if whole and not self._aggregates else None
        self._oldest: Message | None = None
        """The first message whose rows are in groups not flushed yet, for the latency of what is flushed."""
        self._newest: tuple[int | None, float] = (None, 0.0)
        """p and t of the last such message."""
        self._flushed = 0.0
        self._flush_armed = False
        self._next_check: float | None = None
        """Not None iff a timer is set for it."""
        self.absorbs = self._aggregates and self._pieces is None
        self._absorbed: int | None = None
        """The highest event time of blocks whose message is about to come."""
        self._begin_watermark(chain, idle_after)

    def _begin_watermark(self, chain: Chain, idle_after: float) -> None:
        """What is known of event time, and how often it is told."""
        step = next((step for step in chain.steps if isinstance(step, WatermarkStep)), None)
        self._event_time = SourceWatermark(step.delay_us, idle_after) if step is not None else None
        self._told = Watermark(None, False)
        self._ends = window_ends(chain) if self._flush_every is None else None
        self._next_end = inf if self._ends is None else -inf
        """The event time from which rows may end a window that the watermark told has not ended."""
        self._publish_every = PUBLISH_EVERY if self._ends is None else max(NEWS_EVERY, marks_every(self.host.latency))
        if self._sessions:
            self._publish_every = SESSIONS_EVERY
        self._published = 0.0
        self._publish_armed = False
        self._unpublished: Message | None = None
        """The first message since the watermark was told, which what it triggers is timed from."""

    @property
    def compiled(self) -> bool:
        return self._ticket is None

    def start(self) -> None:
        self._plan_check(self.host.now())

    def _take(self, channel: Channel, message: Message) -> None:
        if message.watermark is not None and self._event_time is not None:
            self.inputs.update(channel.key, message.watermark)
            self._source_watermark(channel, message, message.watermark)
            return
        super()._take(channel, message)

    def _source_watermark(self, channel: Channel, message: Message, watermark: Watermark) -> None:
        known, partition = self._event_time, (channel.key, message.partition)
        assert known is not None
        if watermark.rounds:
            reached = dict(self.inputs.current.rounds)
            known.end_round(channel.key, watermark.rounds, reached, message.polled, watermark.idle)
        elif watermark.idle:
            known.silence(partition)
        else:
            known.expect(partition, message.polled)
        self._publish(message, known.current())

    def on_rows(self, channel: Channel, message: Message) -> None:
        if self._pieces is not None:
            self.current = message = self._pieces.first(self, channel, message)
        batch = message.batch
        assert batch is not None
        rows, highest = self._kernel.process(batch)
        if self._absorbed is not None:
            highest = self._absorbed if highest is None else max(highest, self._absorbed)
            self._absorbed = None
        if self._pieces is not None:
            self._pieces.made(batch.num_rows, rows)
        if rows is None and self._nothing is not None:
            # A result without rows takes the place of the one before too.
            rows = self._nothing
        p = message.p if highest is None else highest
        if rows is not None:
            self.give(rows, p, message.t, message, message.partition)
        if self._aggregates:
            self._oldest = self._oldest or self.kept(message)
            self._newest = message.p, message.t
        if self._event_time is not None:
            self._observe(channel, message, highest)
        if self._aggregates:
            self._flush_if_due()

    def _absorb(self, block: Block) -> None:
        _, highest = self._kernel.process(block)
        if highest is not None:
            self._absorbed = highest if self._absorbed is None else max(highest, self._absorbed)

    def note(self, channel: Channel, partition: int, p: int | None, t: float, polled: float) -> bool:
        """It needs one if groups are to leave, if the watermark is to be told, or if nothing is known yet of when what
        is held began to wait."""
        now, highest = self.host.now(), self._absorbed
        if self._oldest is None or self._flush_needed(now):
            return False
        if self._event_time is not None:
            if self._unpublished is None:
                return False
            self._saw((channel.key, partition), highest, polled, in_round=False)
            if self._publish_needed(now, highest):
                return False
        self._absorbed = None
        self._newest = p, t
        return True

    def _flush_needed(self, now: float) -> bool:
        if self._flush_every is None:
            return self._kernel.holds_more_than(MAX_GROUPS)
        return not self._flush_armed or now - self._flushed >= self._flush_every

    def _observe(self, channel: Channel, message: Message, highest: int | None) -> None:
        assert self._event_time is not None
        in_round = self.inputs.in_rounds(channel.key)
        self._saw((channel.key, message.partition), highest, message.polled, in_round)
        if in_round:
            return
        if self._publish_needed(self.host.now(), highest):
            self._publish(message, self._event_time.current())
            return
        self._unpublished = self._unpublished or self.kept(message)
        self._arm_publish()

    def _saw(self, partition: Partition, highest: int | None, polled: float, in_round: bool) -> None:
        """Rows of a partition, the latest at `highest`."""
        assert self._event_time is not None
        self._event_time.observe(partition, _whole(highest), polled, in_round)
        metrics = self.host.metrics
        if highest is not None and (metrics.event_max_us is None or highest > metrics.event_max_us):
            metrics.event_max_us = highest

    def _publish_needed(self, now: float, highest: int | None) -> bool:
        return now - self._published >= self._publish_every or self._ends_windows(_whole(highest))

    def _arm_publish(self) -> None:
        if not self._publish_armed:
            self._publish_armed = True
            self.host.at(self._published + self._publish_every, self)

    def _ends_windows(self, highest: int | None) -> bool:
        """Whether, with rows up to `highest`, the watermark ends a window that the one told last did not."""
        if highest is None or highest < self._next_end:
            return False
        assert self._event_time is not None
        watermark = self._event_time.current()[0]
        return watermark is not None and watermark + self._event_time.delay >= self._next_end

    def _publish(self, cause: Message, current: tuple[int | None, bool]) -> None:
        watermark = Watermark(*current, self.inputs.current.rounds, ((self.stage, *current),))
        self._published = self.host.now()
        self._unpublished = None
        if watermark != self._told:
            self._told = watermark
            if self._ends is not None and watermark.value is not None:
                first, every = self._ends
                ended = (watermark.value - first) // every
                self._next_end = first + (ended + 1) * every + self._event_time.delay  # type: ignore[union-attr]
            self._pass_on(watermark, cause)

    def on_watermark(self, cause: Message) -> None:
        self._pass_on(self.inputs.current, cause)

    def _pass_on(self, watermark: Watermark, cause: Message) -> None:
        if self._late_after or (self._aggregates and self._flush_every is None):
            self._flush_ended(watermark)
        # Where somebody downstream hears of it, that one knows what other nodes have told as well.
        if watermark.value is not None and len(self.deaf) == len(self.outputs):
            self.host.metrics.watermark_us = watermark.value
        self.tell(watermark, cause)

    def _flush_ended(self, watermark: Watermark) -> None:
        """Let go what may end downstream: there, what is idle here is overtaken by what other nodes say.

        A session may be joined by events elsewhere: to tell that it has ended, all that came must be downstream. So
        where the highest of several watermarks counts, which is not known here.
        """
        if self._sessions or self.inputs.highest_of:
            self._flush(None)
            return
        steps = [(value, idle) for _, value, idle in watermark.steps] or [(watermark.value, watermark.idle)]
        active = [value for value, idle in steps if not idle]
        if not active:
            self._flush(None)
        elif None not in active:
            self._flush(min(value for value in active if value is not None))

    def _flush_if_due(self) -> None:
        if self._flush_every is None:
            if self._kernel.holds_more_than(MAX_GROUPS):
                self._flush(None)
            return
        now = self.host.now()
        if now - self._flushed >= self._flush_every:
            self._flush(None)
        elif not self._flush_armed:
            self._flush_armed = True
            self.host.at(self._flushed + self._flush_every, self)

    def _flush(self, watermark: int | None) -> None:
        parts = self._kernel.flush_to(watermark, len(self.outputs[0].ports))
        now, oldest = self.host.now(), self._oldest
        if parts is not None and oldest is not None:
            self.give_each(parts, *self._newest, oldest)
        elif parts is not None:
            self.give_each(parts, None, now, Message(t=now, first_t=now, polled=now))
        if watermark is None or self._flush_every is None:
            self._flushed = now
            self._oldest = None

    def wake(self, now: float) -> None:
        if self._flush_armed and now - self._flushed >= (self._flush_every or 0.0):
            self._flush_armed = False
            if self._oldest is not None:
                self._flush(None)
        if self._publish_armed:
            self._publish_armed = False
            if now >= self._published + self._publish_every:
                self._tell_watermark(now)
            elif self._unpublished is not None:  # rows have told the watermark meanwhile, and others came since
                self._arm_publish()
        if self._next_check is not None and now >= self._next_check:
            self._next_check = None
            self.change_over()
            self._plan_check(now)
        self.schedule()

    def _plan_check(self, now: float) -> None:
        """Look again while a kernel is being compiled; else never: an idle query costs nothing."""
        if self._next_check is None and self._ticket is not None:
            self._next_check = now + COMPILED_CHECK
            self.host.at(self._next_check, self)

    def change_over(self) -> None:
        """Use the compiled kernel if it is ready."""
        if self._ticket is None:
            return
        kernel = self._ticket.poll()
        if kernel is not None:
            held = self._kernel.snapshot()
            if held is not None and held.num_rows:
                kernel.restore(held)
            kernel.memory = self.host.memory
            self._kernel = kernel
        if kernel is not None or self._ticket.failed:
            self._ticket = None

    def _tell_watermark(self, now: float) -> None:
        """Rows may have moved it since it was told."""
        if self._event_time is not None and self._told.steps:  # told once: it knows its partitions
            cause = self._unpublished or Message(t=now, first_t=now, polled=now)
            self._publish(cause, self._event_time.current())

    def on_barrier(self, barrier: Barrier) -> None:
        if self._aggregates and (self._flush_every is not None or barrier.drain):
            self._flush(None)
        super().on_barrier(barrier)

    def measure(self, now: float) -> None:
        for name, partials in self._kernel.observed().items():
            self.host.metrics.observed.setdefault(name, []).append(partials)
        if self._merge is not None:
            state = self.host.metrics.state(*self._merge)
            state.rows += self._kernel.groups
            state.bytes += self._kernel.bytes

    def snapshot(self) -> State:
        return State(self._kernel.snapshot(), self._told.value if self._event_time is not None else None)

    def restore(self, states: Sequence[State]) -> None:
        for state in states:
            table = state.rows()
            if table is not None and table.num_rows:
                self._kernel.restore(table)
        # The partitions may be dealt otherwise now: the least of what the nodes said is safe for all.
        told = [state.value for state in states if state.value is not None]
        if self._event_time is not None and told:
            self._event_time.restore(min(told))


def _whole(time: int | None) -> int | None:
    """Spark counts event time in whole milliseconds; a finer watermark would be ahead of it."""
    return None if time is None else time - time % 1000


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
