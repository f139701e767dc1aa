"""The program that runs queries on Pathway, in a Python that has it.

1. A source sends the numbers of the rows that are due, in a few arrays, and commits. The engine shares out the arrays
   to its threads and makes rows of them: a call for every row would be the bottleneck.
2. A few commits are under way at most; else the source waits, and lags. So a backlog is seen where it is on the others,
   and commits grow with the load.
3. Results are changed by every commit that has rows of their window, and written so. A window is over when the rows of
   its time have gone through; what it was changed to last is its result.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import Any

import numpy as np
import pathway as pw  # type: ignore[import-not-found]

from bench.libraries.board import Board
from bench.libraries.progress import Progress
from bench.libraries.ring import Ring
from bench.libraries.run import Run, Span, now_us
from bench.libraries.share import Share

MOST = 1 << 15
"""Rows of a commit: few enough to go through in a fraction of a second where a query follows at all."""
PARTS = 8
"""Arrays of a commit."""
TICK = 0.01
"""Seconds from a commit to the next, at least."""
UNDER_WAY = 2
"""Commits."""


class Sent(pw.Schema):
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]]
    until: int


class Numbers(pw.io.python.ConnectorSubject):
    """The numbers of the rows that are due."""

    _deletions_enabled = False  # rows only come: the engine need not keep them to take one back

    def __init__(self, share: Share, span: Span, progress: Progress) -> None:
        super().__init__()
        self._share = share
        self._span = span
        self._progress = progress

    def run(self) -> None:
        sent: deque[int] = deque([0] * UNDER_WAY, UNDER_WAY)
        while not self._span.over:
            began = time.monotonic()
            if numbers := self._share.take(now_us(), MOST):
                self._send(np.arange(numbers.start, numbers.stop))
                sent.append(numbers.stop)
                self._wait(sent[0])
            time.sleep(max(0.0, began + TICK - time.monotonic()))

    def _send(self, numbers: Any) -> None:
        for part in np.array_split(numbers, PARTS):
            if len(part):
                self.next(numbers=part, until=int(part[-1]) + 1)
        self.commit()

    def _wait(self, rows: int) -> None:
        """Until so many rows are through."""
        while self._progress.rows < rows and not self._span.over:
            self._progress.moved.wait(0.1)
            self._progress.moved.clear()


def build(run: Run, board: Board, query: int, begin_us: int, span: Span) -> None:
    """Add a query to the dataflow."""
    share = Share(0, 1, begin_us, run.rate)
    progress = Progress(board.slot(query), share.time_us, now_us)
    sent = pw.io.python.read(Numbers(share, span, progress), schema=Sent, autocommit_duration_ms=None)
    pw.io.subscribe(sent.select(pw.this.until), on_change=progress.on_rows)
    numbers = sent.select(number=pw.this.numbers).flatten(pw.this.number)
    if run.alone:
        counted = numbers.reduce(rows=pw.reducers.count())
    else:
        results = run.query().query(numbers, Ring(run.ring(), begin_us, run.rate), run.window_us, run.told)
        pw.io.csv.write(results, run.folder / f"changes-{query}.csv")
        counted = results.reduce(rows=pw.reducers.sum(pw.this.rows))
    # A time ends only for a table that it has changed: what was sent changes with every commit, results may not.
    ends = counted.concat_reindex(sent.reduce(rows=pw.reducers.count()))
    pw.io.subscribe(ends, on_change=lambda **change: None, on_time_end=progress.on_end)


def main(folder: str) -> None:
    run = Run.read(folder)
    board = run.board()
    span = Span(run, board)
    for query in range(run.queries):
        board.slot(query).open()
    begin_us = span.begin_us()
    if begin_us:
        for query in range(run.queries):
            build(run, board, query, begin_us, span)
        pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)


if __name__ == "__main__":
    main(sys.argv[1])
