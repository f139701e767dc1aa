"""The driver's side of a query's sink: in a thread of its own while it has work, so that a slow sink delays no other.

1. Rows of an epoch reach the committer before those of the next: a node that is ahead waits here for the others.
   What came while the committer was busy is handed to it in one batch.
2. An epoch is prepared when all nodes have sent its barrier, committed when the coordinator says that every node's
   part is written: first the manifest, then the sink.
3. Starting and recovering are the same: go back to the last manifest and tell the sink. A new driver publishes that
   epoch once more, for the old one may have died between the manifest and the sink.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from headway.cluster.checkpoints import CheckpointStore, Manifest
from headway.connectors.api import Sink, SinkCommitter
from headway.node.message import Barrier, Message
from headway.threads import Lane, Threads

AT_ONCE = 256


class Restored(NamedTuple):
    """The sink stands at this epoch, None: at the beginning."""

    number: int
    manifest: Manifest | None


class Received(NamedTuple):
    """What a node's sink operator sent."""

    number: int
    node: int
    stage: int
    message: Message
    size: int
    received: float


class RowsWritten(NamedTuple):
    """The sink has taken these."""

    number: int
    parts: list[Received]


class Prepared(NamedTuple):
    number: int
    epoch: int
    value: Any


class Published(NamedTuple):
    number: int
    manifest: Manifest


class SinkFailed(NamedTuple):
    error: BaseException


@dataclass
class _Attempt:
    """What is under way of one deployment."""

    number: int
    senders: int
    waiting: dict[int, deque[Received]]
    """Per node that has sent its barrier: what it sent since."""


class SinkSide:
    """See the module. `report` is called with results, from the thread that does the work."""

    def __init__(
        self, threads: Threads, sink: Sink, complete: bool, store: CheckpointStore, report: Callable[[Any], None]
    ) -> None:
        self._sink = sink
        self._complete = complete
        self._rows: list[Received] = []
        """Rows of the current epoch that have come and are not with the committer yet."""
        self._store = store
        self._report = report
        self._epoch = 0
        self._attempt = _Attempt(-1, 0, {})
        self._committer: SinkCommitter | None = None
        self._failed = False
        self._lane = Lane(threads, self._work)

    def restore(self, number: int, senders: int) -> None:
        """Begin a new deployment whose rows come from `senders` nodes; ends in `Restored`."""
        self._lane.put(lambda: self._restore(number, senders))

    def receive(self, number: int, node: int, stage: int, message: Message, size: int, now: float) -> None:
        """Rows or a barrier from a node."""
        self._lane.put(Received(number, node, stage, message, size, now))

    def publish(self, number: int, manifest: Manifest, kept: Any) -> None:
        """Every part of the epoch is written; ends in `Published`."""
        self._lane.put(lambda: self._publish(number, manifest, kept))

    def close(self, failed: bool, closed: Callable[[], None]) -> None:
        """No more rows; `closed` is called when the committer is."""
        self._failed = failed
        self._lane.put(lambda: self._close(closed))

    def _work(self, task: Any) -> None:
        try:
            if isinstance(task, Received):
                self._receive(task)
                return
            self._write()
            if task is not None:
                task()
        except BaseException as error:
            self._rows = []
            self._report(SinkFailed(error))

    def _restore(self, number: int, senders: int) -> None:
        first = self._committer is None
        committer = self._committer = self._committer or self._sink.committer()
        manifest = self._store.latest()
        at = -1 if manifest is None else manifest.epoch
        self._attempt = _Attempt(number, senders, {})
        self._rows = []
        self._epoch = at + 1
        self._store.drop_after(at)
        committer.restore(at, self._store.kept(at))
        if first and manifest is not None:
            committer.commit(at, manifest.receipts)
        self._report(Restored(number, manifest))

    def _receive(self, received: Received) -> None:
        attempt = self._attempt
        if received.number != attempt.number:
            return
        barrier = received.message.barrier
        if received.node in attempt.waiting:
            attempt.waiting[received.node].append(received)
        elif barrier is None:
            self._rows.append(received)
            if len(self._rows) >= AT_ONCE:
                self._write()
        else:
            attempt.waiting[received.node] = deque()
            if len(attempt.waiting) == attempt.senders:
                self._write()
                self._prepare(barrier)

    def _write(self) -> None:
        """Hand the rows that have come to the committer."""
        rows, self._rows = self._rows, []
        batches = [received.message.batch for received in rows if received.message.batch is not None]
        if not batches or rows[0].number != self._attempt.number:
            return
        assert self._committer is not None
        # In complete mode every batch is the whole result: only the newest counts.
        newest = batches[-1] if self._complete else _joined(batches)
        self._committer.rows(newest, self._epoch)
        self._report(RowsWritten(self._attempt.number, rows))

    def _prepare(self, barrier: Barrier) -> None:
        assert self._committer is not None
        attempt = self._attempt
        self._report(Prepared(attempt.number, barrier.epoch, self._committer.prepare(barrier.epoch)))
        self._epoch = barrier.epoch + 1
        held, attempt.waiting = attempt.waiting, {}
        for messages in held.values():
            for received in messages:
                self._receive(received)

    def _publish(self, number: int, manifest: Manifest, kept: Any) -> None:
        if number != self._attempt.number:
            return
        self._store.commit(manifest, kept)
        assert self._committer is not None
        self._committer.commit(manifest.epoch, manifest.receipts)
        self._report(Published(number, manifest))

    def _close(self, closed: Callable[[], None]) -> None:
        try:
            if self._committer is not None:
                self._committer.close(self._failed)
        finally:
            self._attempt = _Attempt(-1, 0, {})
            closed()


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
