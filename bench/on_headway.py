"""A workload on Headway: the generator is polled inside the nodes, results go to files of lines by `foreach`."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import headway
from bench.cluster import CONF
from bench.lines import Line, Lines, read_lines
from bench.search import BEHIND, LAG, Trial
from bench.workload import Workload
from headway.intervals import seconds as seconds_of
from headway.observe.metrics import QueryMetrics

WARM_UP = 4.0
SETTLE = 1.5
SETTLE_PER_QUERY = 0.5
"""The first event is due when all queries run."""
FOLLOWED = 0.98
"""A rate is followed if so much of it was read, and the rows that wait at the end are those of `LAG` seconds more than
before."""
LOOKS = 4.0
"""Seconds from one look at the backlog to the next: this process needs a core for it that a node has."""


class OnHeadway:
    """A session for all trials; every trial has new queries, and each generates its own rows."""

    name = "headway"

    def __init__(self, workload: Workload, queries: int) -> None:
        self.first_guess = workload.first_guess[self.name] // queries
        self.settings: dict[str, Any] = {}
        self._workload = workload
        self._queries = queries
        self._headway = headway.start(conf=CONF)
        self._headway.spark.sparkContext.setLogLevel("ERROR")
        workload.open(self._headway.spark)
        workload.prepare(self._headway)
        self._warm_up()

    def _warm_up(self) -> None:
        """Have the query's kernels compiled before anything is timed: once per machine."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as root:
            one = self._start(Path(root, "warm-up"), 1000, int(time.time() * 1e6))
            while not (one.lastProgress and one.lastProgress["numInputRows"]):
                if one.exception() is not None:
                    raise one.exception()
                time.sleep(0.2)
            one.stop()

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        t0_us = int((time.time() + SETTLE + SETTLE_PER_QUERY * self._queries) * 1e6)
        with TemporaryDirectory(ignore_cleanup_errors=True) as root:
            folders = [Path(root, str(number)) for number in range(self._queries)]
            running = [self._start(folder, rate, t0_us) for folder in folders]
            try:
                trial = self._observe(running, rate, t0_us, seconds)
                written = [read_lines(folder) for folder in folders]
            finally:
                for one in running:
                    one.stop()
        trial.correct = self._check(written, rate, t0_us, seconds)
        return trial

    def _start(self, folder: Path, rate: int, t0_us: int) -> Any:
        folder.mkdir()
        frame = self._workload.query(self._workload.stream(rate, t0_us))
        writer = self._headway.writeStream(frame).outputMode(self._workload.mode)
        writer = writer.foreach(Lines(str(folder))) if self._workload.written else writer.format("noop")
        return writer.latency(self._workload.target).start(fallback=False)

    def _observe(self, running: list[Any], rate: int, t0_us: int, seconds: float) -> Trial:
        offered = rate * self._queries
        begins = max(time.time(), t0_us / 1e6) + WARM_UP
        cut = not _keeps_up(running, offered, begins)
        _totals(running)
        began, waited = time.time(), _backlog(running)
        cut = cut or not _keeps_up(running, offered, began + seconds)
        took, waits, totals = time.time() - began, _backlog(running), _totals(running)
        # What was due and does not wait was read. Nodes tell of their rows once a second, each at a time of its own: a
        # count of them over a few seconds is off by some percent.
        per_second = offered - (waits - waited) / took
        kept_up = not cut and waits <= waited + LAG * offered and per_second > FOLLOWED * offered
        latency = self._latency(totals)
        late = kept_up and latency.get("p99", 0.0) > 1000 * seconds_of(self._workload.target)
        return Trial(rate, per_second, totals.input_rows, took, kept_up and not late, latency, False, cut, late)

    def _latency(self, totals: QueryMetrics) -> dict[str, float]:
        """Of events, by the markers among them; where results follow at once, by results if those are slower: markers
        do not wait for the moment at which changed groups leave."""
        events, results = totals.marker.summary(), totals.e2e.summary()
        return results if self._workload.prompt and results.get("p99", 0.0) > events.get("p99", 0.0) else events

    def _check(self, written: list[list[Line]], rate: int, t0_us: int, seconds: float) -> bool:
        if seconds * 1e6 < 2 * self._workload.window_us and not any(written):
            return True  # too short for a window to end
        return all(self._workload.correct(lines, t0_us, rate) for lines in written)

    def close(self) -> None:
        self._headway.stop()


def _keeps_up(running: list[Any], offered: int, until: float) -> bool:
    """Wait until then; not longer than it takes to fall behind."""
    while (left := until - time.time()) > 0:
        time.sleep(min(left, LOOKS))
        if _backlog(running) > BEHIND * offered:
            return False
    return True


def _totals(running: list[Any]) -> QueryMetrics:
    """What all queries counted since the last call."""
    totals = QueryMetrics()
    for one in running:
        if one.exception() is not None:
            raise one.exception()
        totals.merge(one._run._running.totals())
    return totals


def _backlog(running: list[Any]) -> int:
    return sum(last["headway"]["backlogRows"] for last in [one.lastProgress for one in running] if last)
