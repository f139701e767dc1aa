"""Planned sources: one operator finds what is new, in rounds; operators on every node read it.

1. The planner's thread looks for new data; a round's tasks go to the nodes by source partition, then the round's end to
   all. A round is looked for only when the one before has been sent.
2. A reader's thread reads one task at a time; its batches leave in order. Marks wait their turn behind tasks.
3. A draining barrier goes out after a look that began after it was asked for found nothing. When nothing came for a
   while, that is told too.
4. While nothing comes, a query without a latency target is looked for ever more seldom, to a tenth as often: many idle
   ones cost little.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

import pyarrow as pa

from headway.connectors.api import PlannedSource, Position, Reached
from headway.node.message import Barrier, Message, Watermark
from headway.node.operators.base import Head, Operator
from headway.node.operators.host import Host, State
from headway.node.operators.marks import Markers, marks_every
from headway.node.operators.source import MAX_ROWS
from headway.node.ports import Channel, ChannelKey
from headway.node.threads import Worker

TASK_SCHEMA = pa.schema([pa.field("task", pa.binary())])
_END = object()
PATIENCE = 10
"""A pause grows to so many poll intervals."""


class _Round(NamedTuple):
    tasks: Sequence[tuple[int, bytes]]
    start: Position
    end: Position
    seen: float


class _Checked(NamedTuple):
    """Nothing new was found by a look that began after `request` drains were asked for."""

    request: int


class _Silent(NamedTuple):
    """Nothing new was found for a while."""


class _Commit(NamedTuple):
    position: Position


class PlanOperator(Operator):
    """Runs the planner of one source for all nodes."""

    def __init__(
        self, host: Host, stage: int, key: str, source: PlannedSource, position: Position | None, idle_after: float
    ) -> None:
        super().__init__(host, stage, ())
        self._idle_after = idle_after
        self._source = source
        self._key = key
        self._start_at = position
        self._position: Position = position
        self._round = 0
        self._requests = 0
        self._barriers: deque[tuple[Barrier, int]] = deque()
        self._checked = 0
        self._worker = Worker(f"plan {key}", self._plan, lambda: host.notify(self), limit=1)

    def start(self) -> None:
        self._end_round(self.host.now())
        self._worker.start()

    def close(self) -> None:
        self._worker.close()

    def _plan(self, worker: Worker) -> None:
        planner, pause = self._source.planner(), self._source.poll_interval
        try:
            at = planner.start(self._start_at)
            found = self.host.now()
            worker.give(_Round((), at, at, found))
            while not worker.closed:
                request = self._requests
                end = planner.latest()
                if end != at:
                    worker.give(_Round(planner.tasks(at, end), at, end, self.host.now()))
                    at, pause, found = end, self._source.poll_interval, self.host.now()
                    continue
                if request > self._checked:
                    worker.give(_Checked(request))
                elif self.host.now() - found >= self._idle_after:
                    found = inf
                    worker.give(_Silent())
                task = worker.get(pause)
                if isinstance(task, _Commit):
                    planner.commit(task.position)
                elif self.host.latency is None:
                    pause = min(2 * pause, PATIENCE * self._source.poll_interval)
        finally:
            planner.close()

    def inject(self, barrier: Barrier) -> None:
        """The coordinator asks for an epoch to end."""
        if barrier.drain:
            self._requests += 1
            self._worker.put(None)
        self._barriers.append((barrier, self._requests if barrier.drain else 0))
        self.schedule()

    def commit(self, position: Position) -> None:
        """A checkpoint with this position is committed."""
        self._worker.put(_Commit(position))

    def _head(self) -> Head | None:
        if not self._worker.results and not (self._barriers and self._barriers[0][1] <= self._checked):
            return None
        return self._own_head(self.host.now())

    def run(self) -> None:
        self.queued = False
        if self._worker.results and self._has_room():
            result = self._worker.take()
            if isinstance(result, _Checked):
                self._checked = result.request
            elif isinstance(result, _Silent):
                self._mark(self.host.now(), idle=True)
            else:
                self._send(result)
        while self._barriers and self._barriers[0][1] <= self._checked:
            barrier, _ = self._barriers.popleft()
            if barrier.drain:
                now = self.host.now()
                self._mark(now, idle=True)
            self.on_barrier(barrier)
        self.schedule()

    def _send(self, found: _Round) -> None:
        for partition, task in found.tasks:
            batch = pa.record_batch([pa.array([task], pa.binary())], schema=TASK_SCHEMA)
            seen = Message(t=found.seen, first_t=found.seen, polled=found.seen)
            self.give(batch, None, found.seen, seen, partition)
        self._position = found.end
        self._end_round(found.seen)

    def _end_round(self, now: float) -> None:
        self._round += 1
        self._mark(now, idle=False)

    def _mark(self, now: float, idle: bool) -> None:
        watermark = Watermark(None, idle, ((self._key, self._round),))
        self.broadcast(Message(None, None, now, now, now, watermark=watermark))

    def snapshot(self) -> State:
        return State(value=self._position)

    def measure(self, now: float) -> None:
        source = self.host.metrics.source(self._key)
        source.start, source.end = self._shown(self._start_at), self._shown(self._position)

    def _shown(self, position: Position | None) -> dict[str, Reached]:
        return {} if position is None else {"0": Reached(0, self._source.shown(position))}


class ReadOperator(Operator):
    """Reads the tasks that the planner sent to this node."""

    reads = True

    def __init__(self, host: Host, stage: int, channels: Iterable[ChannelKey], key: str, source: PlannedSource) -> None:
        super().__init__(host, stage, channels)
        self._source = source
        self._key = key
        self._task: Message | None = None
        """The task being read."""
        self._markers = Markers()
        self._worker = Worker(f"read {key}", self._read, lambda: host.notify(self), limit=4)

    def start(self) -> None:
        self._worker.start()

    def close(self) -> None:
        self._worker.close()

    def _read(self, worker: Worker) -> None:
        while (task := worker.get()) is not None:
            for batch in self._source.read(task):
                for at in range(0, batch.num_rows, MAX_ROWS):
                    if not worker.give(batch.slice(at, MAX_ROWS)):
                        return
            worker.give(_END)

    def _next_channel(self) -> Channel | None:
        return super()._next_channel() if self._task is None else None

    def _head(self) -> Head | None:
        if self._task is None and not self._worker.results:
            return super()._head()
        if not self._worker.results:
            return None
        return self._own_head(self.host.now())

    def run(self) -> None:
        if self._task is None and not self._worker.results:
            super().run()
            return
        self.queued = False
        if self._worker.results and self._has_room():
            self._give_read()
        self.schedule()

    def _give_read(self) -> None:
        batch = self._worker.take()
        task = self._task
        assert task is not None
        if batch is _END:
            self._task = None
            return
        now = self.host.now()
        metrics = self.host.metrics
        metrics.source(self._key).rows += batch.num_rows
        metrics.read(now - task.first_t, now - task.t, batch.num_rows)
        cause = Message(None, None, task.t, task.first_t, now, 0, task.partition)
        self.give(batch, None, task.t, cause, task.partition)
        marker = self._markers.due(task.first_t, task.t, marks_every(self.host.latency))
        if marker is not None:
            self.on_marker(cause._replace(marker=True, first_t=marker))

    def on_rows(self, channel: Channel, message: Message) -> None:
        assert isinstance(message.batch, pa.RecordBatch)
        self._task = message
        self._worker.put(message.batch.column(0)[0].as_py())
