"""YSB on Headway: the generator is polled inside the nodes, results go to memory tables."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import headway
from bench.search import Trial
from bench.ysb.query import campaigns, collected, correct, query
from bench.ysb.source import YsbSource
from headway.observe.metrics import QueryMetrics

WARM_UP = 5.0
SETTLE = 3.0
SETTLE_PER_QUERY = 0.5
"""The first event is due when all queries run."""
FIRST_GUESS = 64_000_000


class HeadwayYsb:
    """A session for all trials; every trial has new queries."""

    name = "headway"

    def __init__(self, queries: int, seed: int, policy: str = "fifo") -> None:
        self.first_guess = FIRST_GUESS // queries
        self._queries = queries
        self._seed = seed
        self._headway = headway.start(policy=policy, conf={"headway.compile": "first"})
        self._spark: SparkSession = self._headway.spark
        self._spark.sparkContext.setLogLevel("ERROR")
        self._spark.dataSource.register(YsbSource)
        self._ads = campaigns(self._spark, seed)
        self._trials = 0
        self._warm_up()

    def _warm_up(self) -> None:
        """Have the query's kernels compiled before anything is timed: once per machine."""
        one = self._start("ysb_warm_up", self._events(1000, int(time.time() * 1e6)))
        while not (one.lastProgress and one.lastProgress["numInputRows"]):
            if one.exception() is not None:
                raise one.exception()
            time.sleep(0.2)
        one.stop()

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        self._trials += 1
        t0_us = int((time.time() + SETTLE + SETTLE_PER_QUERY * self._queries) * 1e6)
        names = [f"ysb_{self._trials}_{number}" for number in range(self._queries)]
        events = self._events(rate, t0_us)
        running = [self._start(name, events) for name in names]
        try:
            return self._observe(names, running, rate, t0_us, seconds)
        finally:
            for one in running:
                one.stop()
            for name in names:
                self._spark.catalog.dropTempView(name)

    def _events(self, rate: int, t0_us: int) -> DataFrame:
        options = {"rate": rate, "seed": self._seed, "t0_us": t0_us}
        return self._spark.readStream.format("ysb").options(**options).load()

    def _start(self, name: str, events: DataFrame) -> Any:
        """A query of its own: it generates its own rows."""
        writer = self._headway.writeStream(query(events, self._ads)).queryName(name).outputMode("append")
        return writer.format("memory").latency("1 second").start(fallback=False)

    def _observe(self, names: list[str], running: list[Any], rate: int, t0_us: int, seconds: float) -> Trial:
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
            self._check(names, rate, t0_us, seconds),
        )

    def _check(self, names: list[str], rate: int, t0_us: int, seconds: float) -> bool:
        answers = [collected(self._spark, name) for name in names]
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
