"""The program that runs queries on Bytewax, in a Python that has it: one process of a cluster.

1. Rows are tuples, made from columns that are kept as lists; a source hands out all that are due, up to a limit.
2. One step filters, projects and joins, batch by batch; windows are Bytewax's own operator, unordered, since sums do
   not care, and that costs less.
3. A window waits for rows that are late by `WAIT`: each key has a clock of its own, which goes on by the wall's clock
   while no row comes, and sources do not run in step. Results are later for it; events are not.
4. What the end of the input closes is not a result: those windows are not over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import itemgetter
from typing import Any

from bytewax import operators as op  # type: ignore[import-not-found]
from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
from bytewax.inputs import DynamicSource, StatelessSourcePartition  # type: ignore[import-not-found]
from bytewax.operators import windowing  # type: ignore[import-not-found]
from bytewax.outputs import DynamicSink, StatelessSinkPartition  # type: ignore[import-not-found]
from bytewax.testing import cluster_main  # type: ignore[import-not-found]

from bench.libraries.board import Board
from bench.libraries.marks import Marking, tell
from bench.libraries.run import Run, Span, now_us
from bench.libraries.share import RingRows, Share
from bench.libraries.steps import EPOCH, Row, Steps

MOST = 1 << 14
"""Rows of a batch."""
WAIT = timedelta(seconds=5)
AGAIN = timedelta(milliseconds=200)
"""From one look at a window that should end to the next, at least: one that is due is asked without a pause."""


class Shared:
    """What the parts of a dataflow share."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.board: Board = run.board()
        self.span = Span(run, self.board)
        self._ring = run.ring()
        self.rows: Callable[[int, int], RingRows] = cache(lambda first, step: RingRows(self._ring, first, step))


class Rows(DynamicSource):
    """The rows of a query; every worker has its share."""

    def __init__(self, trial: Shared, query: int) -> None:
        self._trial = trial
        self._query = query

    def build(self, step_id: str, worker_index: int, worker_count: int) -> RowsPartition:
        return RowsPartition(self._trial, self._query, worker_index, worker_count)


class RowsPartition(StatelessSourcePartition):
    def __init__(self, trial: Shared, query: int, worker: int, workers: int) -> None:
        self._trial = trial
        self._worker, self._workers = worker, workers
        self._rows = trial.rows(worker, workers)
        self._slot = trial.board.slot(query * workers + worker)
        self._share: Share | None = None
        self._given, self._through = 0, 0
        self._slot.open()

    def next_batch(self) -> list[Row]:
        if self._trial.span.over:
            raise StopIteration
        if self._share is None:
            if not (begin := self._trial.board.begin_us):
                return []
            self._share = Share(self._worker, self._workers, begin, self._trial.run.rate)
        # Who asks for more has passed on what was given before.
        self._slot.passed(self._given, self._through)
        return self._take(self._share)

    def _take(self, share: Share) -> list[Row]:
        numbers = share.take(now_us(), min(MOST, self._rows.contiguous(share.next)))
        if not numbers:
            return []
        self._given += len(numbers)
        self._through = share.time_us(numbers[-1])
        return self._rows.tuples(numbers, share)


class Results(DynamicSink):
    """The results of a query as lines, a file for every worker."""

    def __init__(self, trial: Shared, query: int, steps: Steps) -> None:
        self._trial = trial
        self._query = query
        self._fields = steps.fields

    def build(self, step_id: str, worker_index: int, worker_count: int) -> ResultsPartition:
        return ResultsPartition(self._trial, f"lines-{self._query}-{worker_index}", self._fields)


class ResultsPartition(StatelessSinkPartition):
    def __init__(self, trial: Shared, name: str, fields: Callable[[Any], tuple[Any, ...]]) -> None:
        self._trial = trial
        self._window = trial.run.window_us
        self._fields = fields
        self._file = (trial.run.folder / name).open("w")

    def write_batch(self, items: list[tuple[str, tuple[int, Any]]]) -> None:
        if self._trial.span.over:
            return
        for key, (number, state) in items:
            start = number * self._window
            line = start, start + self._window, key, *self._fields(state)
            self._file.write("\t".join(map(str, line)) + "\n")
        self._file.flush()


class Nowhere(DynamicSink):
    """Drops what comes."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> NowherePartition:
        return NowherePartition()


class NowherePartition(StatelessSinkPartition):
    def write_batch(self, items: list[Row]) -> None:
        pass


def _closes(end: datetime) -> datetime:
    """When to look whether a window is over for which no more rows come."""
    return max(end + WAIT, datetime.now(UTC) + AGAIN)


def flow(trial: Shared) -> Dataflow:
    """All queries, each with rows of its own."""
    made = Dataflow("bench")
    for query in range(trial.run.queries):
        rows = op.input(f"rows{query}", made, Rows(trial, query))
        if trial.run.alone:
            op.output(f"nowhere{query}", rows, Nowhere())
            continue
        steps: Steps = trial.run.query().steps(trial.run.told)
        kept = op.flat_map_batch(f"keep{query}", rows, Marking(steps.keep))
        windows = windowing.fold_window(
            f"windows{query}",
            kept,
            windowing.EventClock(itemgetter(0), WAIT, to_system_utc=_closes),
            windowing.TumblingWindower(timedelta(microseconds=trial.run.window_us), EPOCH),
            steps.empty,
            steps.fold,
            lambda one, other: one,  # tumbling windows never merge
            ordered=False,
        )
        op.output(f"results{query}", windows.down, Results(trial, query, steps))
    return made


def main(folder: str, process: int) -> None:
    run = Run.read(folder)
    trial = Shared(run)
    workers = run.slots // run.queries // max(1, len(run.addresses))
    tell(trial.board.slot(process * workers))
    cluster_main(flow(trial), run.addresses, process, worker_count_per_proc=workers)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
