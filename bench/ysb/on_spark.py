"""YSB on Structured Streaming: the same query over the same events.

1. The events come from Spark's own rate source, which runs inside the JVM, and are made from its row number by the same
   definitions; fields that the query does not read are not computed. A Python source would be Spark's bottleneck.
2. The rate source gives rows by whole seconds. A row counts as arrived when its second is over, so that the source's
   grain is not held against Spark.
3. An event takes effect when the micro-batch that has it commits.
"""

from __future__ import annotations

import json
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from bench.search import Trial
from bench.ysb.query import campaigns, collected, correct, query
from headway.java import ensure_java

FIRST_GUESS = 4_000_000
WARM_UP = 6.0


class SparkYsb:
    """A session for all trials; every trial has new queries."""

    name = "spark"

    def __init__(self, queries: int, seed: int) -> None:
        ensure_java()
        self.first_guess = FIRST_GUESS // queries
        self._queries = queries
        self._seed = seed
        self._spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "8g")
            # Found best on two cores: fewer shuffle partitions make a micro-batch shorter; the default state store
            # holds these few rows in memory, where RocksDB adds its commit.
            .config("spark.sql.shuffle.partitions", "1")
            .config("spark.sql.streaming.minBatchesToRetain", "2")
            .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
            .getOrCreate()
        )
        self._spark.sparkContext.setLogLevel("OFF")
        self._ads = campaigns(self._spark, seed)
        self._trials = 0

    def _events(self, rate: int, t0_us: int) -> DataFrame:
        rows = self._spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2).load()
        return rows.selectExpr(
            f"timestamp_micros({t0_us} + value * 1000000 div {rate}) as event_time",
            "value % 1000 + 1 as ad_id",
            "value % 5 as ad_type",
            "value % 3 as event_type",
        )

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        self._trials += 1
        t0_us = int(time.time() * 1e6)
        names = [f"ysb_{self._trials}_{number}" for number in range(self._queries)]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            running = [self._start(name, rate, t0_us, f"{folder}/{name}") for name in names]
            try:
                time.sleep(WARM_UP)
                began = time.time()
                time.sleep(seconds)
                batches = [_batches(one, Path(folder) / name, began) for one, name in zip(running, names, strict=True)]
            finally:
                for one in running:
                    one.stop()
            return self._judge(batches, names, rate, t0_us, seconds)

    def _start(self, name: str, rate: int, t0_us: int, checkpoint: str) -> Any:
        writer = query(self._events(rate, t0_us), self._ads).writeStream.queryName(name).outputMode("append")
        return writer.format("memory").option("checkpointLocation", checkpoint).start()

    def _judge(
        self, batches: list[list[tuple[float, float, int]]], names: list[str], rate: int, t0_us: int, seconds: float
    ) -> Trial:
        rows = sum(int(last - first) * rate for query in batches for _, first, last in query)
        spans = [query[-1][0] - query[0][0] for query in batches if len(query) > 1]
        counted = sum(int(query[-1][2] - query[0][2]) * rate for query in batches if len(query) > 1)
        per_second = counted / (sum(spans) / len(spans)) if spans else 0.0
        followed = bool(spans) and all(_keeps_up(query) for query in batches)
        answers = [collected(self._spark, name) for name in names]
        right = all(correct(answer, once, t0_us, rate, self._seed) for answer, once in answers if answer)
        return Trial(rate, per_second, rows, seconds, followed, _latency(batches), right)

    def close(self) -> None:
        self._spark.stop()


def _batches(query: Any, checkpoint: Path, since: float) -> list[tuple[float, float, int]]:
    """(commit time, first second, last second) of the micro-batches with rows that committed after `since`; seconds
    count from the source's start and are made absolute."""
    if query.exception() is not None:
        raise query.exception()
    started = int((checkpoint / "sources" / "0" / "0").read_text().split("\n")[-1]) / 1000
    found = []
    for progress in query.recentProgress:
        source = progress["sources"][0]
        first, last = (int(json.loads(source[name] or "0") or 0) for name in ("startOffset", "endOffset"))
        trigger = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
        committed = trigger + progress["durationMs"]["triggerExecution"] / 1000
        if last > first and committed >= since:
            found.append((committed, started + first, started + last))
    return found  # type: ignore[return-value]


def _keeps_up(batches: list[tuple[float, float, int]]) -> bool:
    """Whether the last micro-batches lag no more behind their newest row than the middle ones."""
    lags = [committed - last for committed, _, last in batches]
    middle, end = lags[: max(1, len(lags) // 2)], lags[-max(1, len(lags) // 4) :]
    return len(lags) > 2 and max(end) <= max(middle) * 1.3 + 0.5


def _latency(batches: list[list[tuple[float, float, int]]]) -> dict[str, float]:
    waits = [
        (committed - second) * 1000
        for query in batches
        for committed, first, last in query
        for second in np.arange(first + 1, last + 1)
    ]
    if not waits:
        return {}
    p50, p95, p99 = np.percentile(waits, [50, 95, 99])
    return {"mean": float(np.mean(waits)), "p50": float(p50), "p95": float(p95), "p99": float(p99), "max": max(waits)}
