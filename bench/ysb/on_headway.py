"""YSB on Headway: the generator is polled inside the nodes, results go to files of lines by `foreach`.

A memory table would be filled through the JVM, whose work at a window's end would be measured beside ours on two cores.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headway
from bench.search import Trial
from bench.ysb.query import Answer, campaigns, correct, query
from bench.ysb.source import YsbSource
from headway.observe.metrics import QueryMetrics

WARM_UP = 5.0
SETTLE = 3.0
SETTLE_PER_QUERY = 0.5
"""The first event is due when all queries run."""
FIRST_GUESS = 64_000_000


class Lines:
    """A `foreach` writer: a line per result, in a file per operator and epoch."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, partition: int, epoch: int) -> bool:
        self._path = Path(self._folder, f"{partition}-{epoch}")
        self._lines: list[str] = []
        return True

    def process(self, row: Any) -> None:
        self._lines.append(f"{int(row.window.start.timestamp()) * 1_000_000} {row.campaign_id} {row['count']}\n")

    def close(self, error: Exception | None) -> None:
        if error is None:
            self._path.write_text("".join(self._lines))


def read_lines(folder: Path) -> tuple[Answer, bool]:
    """What a query wrote, and whether every key came once."""
    rows = [tuple(map(int, line.split())) for file in folder.iterdir() for line in file.read_text().splitlines()]
    return {(window, campaign): count for window, campaign, count in rows}, len({row[:2] for row in rows}) == len(rows)


class HeadwayYsb:
    """A session for all trials; every trial has new queries."""

    name = "headway"

    def __init__(self, queries: int, seed: int) -> None:
        self.first_guess = FIRST_GUESS // queries
        self._queries = queries
        self._seed = seed
        self._headway = headway.start(conf={"headway.compile": "first"})
        self._spark: SparkSession = self._headway.spark
        self._spark.sparkContext.setLogLevel("ERROR")
        self._spark.dataSource.register(YsbSource)
        self._ads = campaigns(self._spark, seed)
        self._trials = 0
        self._warm_up()

    def _warm_up(self) -> None:
        """Have the query's kernels compiled before anything is timed: once per machine."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as root:
            one = self._start(Path(root, "warm-up"), self._events(1000, int(time.time() * 1e6)))
            while not (one.lastProgress and one.lastProgress["numInputRows"]):
                if one.exception() is not None:
                    raise one.exception()
                time.sleep(0.2)
            one.stop()

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        self._trials += 1
        t0_us = int((time.time() + SETTLE + SETTLE_PER_QUERY * self._queries) * 1e6)
        events = self._events(rate, t0_us)
        with TemporaryDirectory(ignore_cleanup_errors=True) as root:
            folders = [Path(root, str(number)) for number in range(self._queries)]
            running = [self._start(folder, events) for folder in folders]
            try:
                trial = self._observe(running, rate, t0_us, seconds)
                answers = [read_lines(folder) for folder in folders]
            finally:
                for one in running:
                    one.stop()
        trial.correct = self._check(answers, rate, t0_us, seconds)
        return trial

    def _events(self, rate: int, t0_us: int) -> DataFrame:
        options = {"rate": rate, "seed": self._seed, "t0_us": t0_us}
        return self._spark.readStream.format("ysb").options(**options).load()

    def _start(self, folder: Path, events: DataFrame) -> Any:
        """A query of its own: it generates its own rows."""
        folder.mkdir()
        writer = self._headway.writeStream(query(events, self._ads)).outputMode("append")
        return writer.foreach(Lines(str(folder))).latency("1 second").start(fallback=False)

    def _observe(self, running: list[Any], rate: int, t0_us: int, seconds: float) -> Trial:
        time.sleep(max(0.0, t0_us / 1e6 - time.time()) + WARM_UP)
        _totals(running)
        began = time.time()
        time.sleep(seconds / 2)
        early = _backlog(running)
        time.sleep(max(0.0, began + seconds - time.time()))
        late = _backlog(running)
        totals = _totals(running)
        per_second, took = _rate(running, began)
        allowed = max(1.2 * early, 0.1 * rate * self._queries)
        return Trial(
            rate,
            per_second,
            totals.input_rows,
            took,
            late <= allowed and per_second > 0.95 * rate * self._queries,
            totals.marker.summary(),
            correct=False,
        )

    def _check(self, answers: list[tuple[Answer, bool]], rate: int, t0_us: int, seconds: float) -> bool:
        if seconds < 20 and not any(answer for answer, _ in answers):
            return True  # too short for a window to end
        return all(correct(answer, once, t0_us, rate, self._seed) for answer, once in answers)

    def close(self) -> None:
        self._headway.stop()


def _totals(running: list[Any]) -> QueryMetrics:
    """What all queries counted since the last call."""
    totals = QueryMetrics()
    for one in running:
        if one.exception() is not None:
            raise one.exception()
        totals.merge(one._run._running.totals())
    return totals


def _rate(running: list[Any], since: float) -> tuple[float, float]:
    """Rows/s of all queries together, and the seconds it was counted over, from the progress made after `since`."""
    rates, spans = [], []
    for one in running:
        made = [p for p in one.recentProgress if datetime.fromisoformat(p["timestamp"]).timestamp() > since + 1]
        spans.append(sum(p["batchDuration"] for p in made) / 1000)
        rates.append(sum(p["numInputRows"] for p in made) / spans[-1])
    return sum(rates), max(spans)


def _backlog(running: list[Any]) -> int:
    return sum(one.lastProgress["headway"]["backlogRows"] for one in running if one.lastProgress)
