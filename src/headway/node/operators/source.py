"""Polls the partitions of an inline source that this node was dealt.

1. The operator is offered to the scheduler when rows are due and there is room; it polls each partition once a run, for
   the rows that are there, as many as there is room for: nothing waits to fill a batch.
2. While more is due, it polls again at once, else after a short pause, so that a batch is what came in the meantime.
   The more sources share the node, the longer the pause: a poll has a cost however few rows it brings. It stays a
   small part of the latency target. Where polls would fill the node, it is longer: see `headway.scheduling.pace`.
3. How urgent a poll is follows from when the rows it would bring came; how urgent the rows are, from the event time
   of the last one, where a column of them is event time.
4. Where a consumer can, it takes blocks as they are filled, and one message tells of them all, or none where nothing
   follows from it: so what a message costs is shared by as many rows as are there, and a block is still in the
   processor's cache when it is read.
5. A partition in which there was nothing for a while is told of, so that its watermark is not waited for.
6. A draining barrier goes out when everything that was due when it was asked for has been given, and nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from headway.connectors.api import (
    Filled,
    FillingPartition,
    InlinePartition,
    Polled,
    Position,
    Reached,
    ReachingPartition,
)
from headway.memory import Block, Layout, Rows
from headway.node.message import Barrier, Message, Watermark
from headway.node.operators.base import Head, Operator
from headway.node.operators.host import Host, State
from headway.node.operators.marks import Markers, marks_every
from headway.node.ports import MAX_BYTES
from headway.observe.misses import Spent
from headway.scheduling.contexts import EARLIEST

PAUSE = 0.0002
SHORTEST_PAUSE = 0.0005
"""Both per source of the node."""
USUAL_PAUSE = 0.001
LONGEST_PAUSE = 0.02
LONGEST_LEAD = 0.1
PAUSES_IN_TARGET = 8
SURELY = 1e-4
"""Seconds. A partition that has nothing for so long is not asked; nearer than that, it rounds as it likes."""
MAX_ROWS = 1 << 14
MOST_ROWS = 1 << 16
LONGEST_WORK = 0.002
"""Seconds. Where rows cost so little downstream that `MAX_ROWS` of them take less, more are read at a time: a message
has a cost of its own, and is not interrupted. And for so long a source that is alone on its node fills blocks for one
message."""


class InlineOperator(Operator):
    """See the module. A partition's id is its place in the list of all partitions of the source."""

    reads = True

    def __init__(
        self,
        host: Host,
        stage: int,
        key: str,
        partitions: Sequence[tuple[int, InlinePartition]],
        description: str,
        event_column: int | None,
        idle_after: float,
    ) -> None:
        super().__init__(host, stage, ())
        self.profile.flow.backlog = self._backlog
        self._event_column = event_column
        self._partitions = partitions
        self._shown = [(str(number), _shown(partition)) for number, partition in partitions]
        """What progress shows of each partition: to ask of which kind one is takes long."""
        self._width = 0.0
        """Bytes per row, of the last poll."""
        self._key = key
        self._description = description
        self._idle_after = idle_after
        self._silent: set[int] = set()
        """Partitions that were told of as silent and gave nothing since."""
        self._empty_since: dict[int, float] = {}
        """When the first poll of a partition brought nothing, of those that brought nothing since."""
        self._barriers: deque[tuple[Barrier, float]] = deque()
        """Each with when it may pass at the earliest."""
        self._armed = False
        self._due = True
        self._due_since = 0.0
        """When the rows that a poll would bring began to wait."""
        self._blocked_since: float | None = None
        """Not None iff a poll waits for room downstream."""
        self._markers = Markers()
        self._layouts = [Layout(p.schema, rows=host.rows_per_block) if _fills(p) else None for _, p in partitions]
        """Of each partition that fills blocks; None: it does not."""
        self._hands_on = False
        """Whether there is one consumer, which knows what a block is."""
        self._given: tuple[int, int | None, float] = (0, None, 0.0)
        """Of the last run: rows, and p and t of the last of them."""

    @property
    def polls(self) -> bool:
        """Whether there is anything to poll."""
        return bool(self._partitions)

    def start(self) -> None:
        self._hands_on = len(self.outputs) == 1 and self.outputs[0].ports[0].takes_blocks
        now = self.host.now()
        self._tell_of_all(now)
        self.schedule()

    @property
    def _numbers(self) -> Iterable[int]:
        """The numbers by which watermarks tell partitions apart."""
        return [number for number, _ in self._partitions]

    def _tell_of_all(self, now: float) -> None:
        for number in self._numbers:
            self._tell_of(number, now, idle=False)
        if not self._numbers:
            self._tell_of(0, now, idle=True)

    def _tell_of(self, partition: int, now: float, idle: bool) -> None:
        self.broadcast(Message(None, None, now, now, now, 0, partition, Watermark(None, idle)))

    def inject(self, barrier: Barrier) -> None:
        """The coordinator asks for an epoch to end."""
        # The clock of a node may be behind that of the driver, but no drain waits for it for long.
        self._barriers.append((barrier, min(barrier.asked, self.host.now() + LONGEST_LEAD) if barrier.drain else 0.0))
        self._due = True
        self.schedule()

    def _has_room(self) -> bool:
        room = super()._has_room()
        if not room and self._blocked_since is None:
            self._blocked_since = self.host.now()
        return room

    def _head(self) -> Head | None:
        return self._own_head(self._due_since) if self._due else None

    def wake(self, now: float) -> None:
        self._armed = False
        self._due = True
        self._due_since = now
        self.schedule()

    def run(self) -> None:
        self.queued = False
        if not self._has_room():
            return
        now, blocked = self._begin()
        until = now + self.host.burst()
        while (more := self._poll_all(now, blocked)) and self._has_room():
            blocked = 0.0
            now = self._began = self.host.now()
            if now >= until:
                break
        self._pass_barriers()
        self._plan_next(now, more)

    def _poll_all(self, now: float, blocked: float) -> bool:
        """Poll every partition once; whether any of them has more."""
        more = False
        upto = min((asked for barrier, asked in self._barriers if barrier.drain and asked < now), default=now)
        for (number, partition), layout in zip(self._partitions, self._layouts, strict=True):
            if partition.next_due(upto) > upto + SURELY:
                self._nothing_in(number, now)
                continue
            most = self._most_rows(layout)
            polled = partition.poll(upto, most) if layout is None else self._fill(partition, layout, upto, most)
            if polled is None:
                self._nothing_in(number, now)
            else:
                more = more or partition.backlog(upto) > 0
                self._empty_since.pop(number, None)
                self._silent.discard(number)
                self._due_since = max(self._due_since, polled.last_arrival)
                self._give(number, polled, now, blocked)
        return more

    def _nothing_in(self, number: int, now: float) -> None:
        since = self._empty_since.setdefault(number, now)
        if number not in self._silent and now - since >= self._idle_after:
            self._fall_silent(number, now)

    def _fall_silent(self, number: int, now: float) -> None:
        self._silent.add(number)
        self._tell_of(number, now, idle=True)

    def _fill(self, partition: InlinePartition, layout: Layout, now: float, most: int) -> Polled | None:
        memory = self.host.memory
        block = layout.block(memory)
        filled: Filled | None = partition.fill(block.columns, most, now)  # type: ignore[attr-defined]
        if filled is None:
            return None
        block.num_rows, first, last = filled
        if not self._hands_on:
            return Polled(block.packed(memory).record_batch(), first, last)
        until = self.host.now() + self._longest_fill()
        while self._absorbed(block, filled, now):
            if block.num_rows < most or self.host.now() >= until or partition.backlog(now) <= 0:
                block.num_rows = 0
                break
            if block.shown:
                block = layout.block(memory)
            # Else it is filled again: with another one, the two would not fit into the processor's cache.
            filled = partition.fill(block.columns, most, now)  # type: ignore[attr-defined]
            assert filled is not None, "there was a backlog"
            block.num_rows, _, last = filled
        return Polled(block, first, last)

    def _longest_fill(self) -> float:
        """For how long blocks are filled for one message, seconds; longer where no other source waits meanwhile."""
        return LONGEST_WORK if self.host.sources() == 1 else self.host.burst()

    def _absorbed(self, block: Block, filled: Filled, now: float) -> bool:
        """Whether the consumer took a block, which no message needs to bring."""
        if not self.ports[0].absorb(block):
            return False
        self.profile.flow.gave(filled.rows)
        self._read(*filled, now)
        self._width = block.layout.row
        self._given = (self._given[0] + filled.rows, self._event_time(block), filled.last_arrival)
        return True

    def _read(self, rows: int, first: float, last: float, now: float) -> None:
        """Rows have been read that arrived in that time."""
        self.profile.flow.took_at_once(rows)
        metrics = self.host.metrics
        metrics.source(self._key, self._description).rows += rows
        metrics.read(now - first, now - last, rows)

    def _begin(self) -> tuple[float, float]:
        """A run begins: the time, and for how long it could not for want of room."""
        now = self._began = self.host.now()
        blocked = 0.0 if self._blocked_since is None else now - self._blocked_since
        self._blocked_since = None
        self.cause = self.offered
        self._given = (0, None, now)
        return now, blocked

    def _most_rows(self, layout: Layout | None) -> int:
        """As many rows as there is room for, downstream and in a block."""
        most = worth_reading([port.row_cost() for port in self.ports])
        if layout is not None:
            most = min(most, layout.capacity)
        if not self._width:
            return most
        free = MAX_BYTES
        for port in self.ports:
            free = min(free, port.free())
        return max(1, min(most, int(free / self._width)))

    def _give(self, number: int, polled: Polled, now: float, blocked: float) -> None:
        batch, first, last = polled
        rows = batch.num_rows
        marker = self._markers.due(first, last, marks_every(self.host.latency))
        if rows:
            self._read(rows, first, last, now)
            self._width = (batch.nbytes if isinstance(batch, Block) else self._size(batch)) / rows
            self._given = (self._given[0] + rows, self._event_time(batch), last)
        p = self._given[1]
        # Without rows, all were absorbed.
        if not rows and marker is None and self.ports[0].note(number, p, last, now):
            return
        spent = Spent(min(blocked, now - first), 0.0, self.host.now() - now)
        cause = Message(None, None, last, first, now, 0, number, None, None, False, 0, EARLIEST, spent)
        self.give(batch, p, last, cause, number)
        if marker is not None:
            self.on_marker(cause._replace(marker=True, first_t=marker))

    def _event_time(self, batch: Rows) -> int | None:
        """The event time of the last row, which is near the highest: good enough for how urgent the rows are."""
        if self._event_column is None or not batch.num_rows:
            return None
        if isinstance(batch, Block):
            return int(batch.columns[self._event_column][batch.num_rows - 1])
        value = batch.column(self._event_column)[-1]
        return value.value if value.is_valid else None

    def taken(self) -> tuple[str, int, int | None, float]:
        return "poll", *self._given

    def _pass_barriers(self) -> None:
        while self._barriers:
            (barrier, asked), now = self._barriers[0], self.host.now()
            if not self._may_pass(barrier, asked, now):
                return
            self._barriers.popleft()
            for number in self._numbers if barrier.drain else ():
                self._fall_silent(number, now)
            self.on_barrier(barrier)

    def _may_pass(self, barrier: Barrier, asked: float, now: float) -> bool:
        return not barrier.drain or (now >= asked and not any(p.backlog(asked) for _, p in self._partitions))

    def _plan_next(self, now: float, more: bool) -> None:
        if more or (self._barriers and self._barriers[0][1] <= now):
            self._due = True
            self.schedule()
            return
        self._due = False
        if self._barriers:
            self.host.at(self._barriers[0][1], self)
        elif self._partitions and not self._armed:
            self._armed = True
            self.host.at(max(self._next_due(now), now + self._pause()), self)

    def _next_due(self, now: float) -> float:
        """When a poll may bring rows, or a partition may have fallen silent."""
        due = [partition.next_due(now) for _, partition in self._partitions]
        due += [since + self._idle_after for number, since in self._empty_since.items() if number not in self._silent]
        return min(due)

    def _pause(self) -> float:
        longest = LONGEST_PAUSE
        if self.host.latency is not None:
            longest = min(longest, self.host.latency / PAUSES_IN_TARGET)
        sources = self.host.sources()
        # Sooner than usual only for a near target, and where there are few to ask.
        shortest = min(USUAL_PAUSE, max(SHORTEST_PAUSE * sources, longest))
        return max(shortest, min(PAUSE * sources, longest), min(shortest * self.host.pace.stretch, longest))

    def snapshot(self) -> State:
        return State(value=self.positions())

    def positions(self) -> list[tuple[int, Position]]:
        return [(number, partition.position()) for number, partition in self._partitions]

    def _backlog(self, now: float) -> int:
        return sum(partition.backlog(now) for _, partition in self._partitions)

    def measure(self, now: float) -> None:
        source = self.host.metrics.source(self._key, self._description)
        source.backlog = self._backlog(now)
        source.end = {number: shown() for number, shown in self._shown}


def worth_reading(costs: Sequence[float]) -> int:
    """How many rows to read at a time, if one costs so many seconds in each of those that get them; 0: nobody knows.

    >>> worth_reading([0.0]), worth_reading([1e-6]), worth_reading([50e-9, 30e-9]), worth_reading([5e-9])
    (16384, 16384, 25000, 65536)
    """
    return max(MAX_ROWS, min(MOST_ROWS, round(LONGEST_WORK / sum(costs)))) if costs and all(costs) else MAX_ROWS


def _shown(partition: InlinePartition) -> Callable[[], Position | Reached]:
    return partition.reached if isinstance(partition, ReachingPartition) else partition.position


def _fills(partition: InlinePartition) -> TypeGuard[FillingPartition]:
    return isinstance(partition, FillingPartition) and Layout.fits(partition.schema)
