"""A workload on Structured Streaming: the same query over the same events.

1. The events come from Spark's own rate source, which runs inside the JVM, and are made from its row number by the same
   definitions; fields that the query does not read are not computed. A Python source would be Spark's bottleneck.
2. The rate source gives rows by whole seconds. A row counts as arrived when its second is over, so that the source's
   grain is not held against Spark.
3. An event takes effect when the micro-batch that has it commits.
4. Nothing counts before the first micro-batch has committed and a while has passed: what starting costs is not Spark's
   speed, nor is what it catches up with then. At least three micro-batches count, however long they take, unless the
   query falls behind meanwhile.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from pyspark.sql import SparkSession

from bench.lines import Line, flat
from bench.search import BEHIND, LAG, Trial
from bench.workload import Workload
from headway.java import ensure_java

WARM_UP = 6.0
"""Seconds from the first micro-batch on."""
FEWEST = 3
"""Micro-batches that count at least."""
LOOKS = 0.5
"""Seconds from one look at the progress to the next."""
WARM_UP_PART = 10
"""The JVM's first query, before any that counts, gets so many times fewer rows."""
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class Batch(NamedTuple):
    """A micro-batch: when it committed, and the seconds whose rows it has, first < rows <= last."""

    committed: float
    first: float
    last: float


class OnSpark:
    """A session for all trials; every trial has new queries."""

    name = "spark"

    def __init__(self, workload: Workload, queries: int) -> None:
        ensure_java()
        self.first_guess = workload.first_guess[self.name] // queries
        self.settings: dict[str, Any] = {}
        self._workload = workload
        self._queries = queries
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
        if workload.on_rocksdb:
            self._spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
        workload.open(self._spark)
        self._trials = 0
        self.run(max(1, self.first_guess // WARM_UP_PART), 1.0)

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        self._trials += 1
        t0_us = int(time.time() * 1e6)
        names = [f"{self._workload.name}_{self._trials}_{number}" for number in range(self._queries)]
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            running = {Path(folder, name): self._start(name, rate, t0_us, f"{folder}/{name}") for name in names}
            try:
                began, kept_up = _watched(running, seconds)
                batches = [_batches(query, checkpoint, began) for checkpoint, query in running.items()]
                took = time.time() - began
            finally:
                for one in running.values():
                    one.stop()
            trial = self._judge(batches, names, rate, t0_us, took)
            return trial if kept_up else _ended(trial)

    def _start(self, name: str, rate: int, t0_us: int, checkpoint: str) -> Any:
        frame = self._workload.query(self._workload.on_spark(rate, t0_us))
        writer = frame.writeStream.queryName(name).outputMode(self._workload.mode)
        kept = writer.format("memory" if self._workload.written else "noop")
        return kept.option("checkpointLocation", checkpoint).start()

    def _judge(self, batches: list[list[Batch]], names: list[str], rate: int, t0_us: int, seconds: float) -> Trial:
        rows = sum(int(one.last - one.first) * rate for query in batches for one in query)
        longer = [query for query in batches if len(query) > 1]
        spans = [query[-1].committed - query[0].committed for query in longer]
        counted = sum(int(query[-1].last - query[0].last) * rate for query in longer)
        per_second = counted / (sum(spans) / len(spans)) if spans else 0.0
        followed = bool(spans) and all(_keeps_up(query) for query in batches)
        written = [self._written(name) for name in names] if self._workload.written else []
        right = all(self._workload.correct(lines, t0_us, rate) for lines in written if lines)
        return Trial(rate, per_second, rows, seconds, followed, _latency(batches), right)

    def _written(self, name: str) -> list[Line]:
        return [tuple(flat(row)) for row in self._spark.table(name).collect()]

    def close(self) -> None:
        self._spark.stop()


def _watched(running: dict[Path, Any], seconds: float) -> tuple[float, bool]:
    """Wait while a trial runs: from when on its micro-batches count, and whether it kept up to its end. If it did not,
    all that it made count."""
    started = time.time()
    if not (_waited(running, started, 1, started) and _waited(running, time.time() + WARM_UP, 1, started)):
        return started, False
    began = time.time()
    return (began, True) if _waited(running, began + seconds, FEWEST, began) else (started, False)


def _waited(running: dict[Path, Any], until: float, fewest: int, since: float) -> bool:
    """Wait until then, and until every query (by its checkpoint) has committed so many micro-batches after `since`;
    whether none has fallen behind meanwhile."""
    while True:
        found = [_batches(query, checkpoint, since) for checkpoint, query in running.items()]
        now = time.time()
        if any(now - (query[-1].last if query else since) > BEHIND for query in found):
            return False
        if now >= until and min(map(len, found)) >= fewest:
            return True
        time.sleep(LOOKS)


def _ended(trial: Trial) -> Trial:
    """What was taken of a trial that was ended, from its start on."""
    return replace(trial, rows_per_s=trial.rows / trial.seconds, followed=False, cut=True)


def _batches(query: Any, checkpoint: Path, since: float) -> list[Batch]:
    """The micro-batches with rows that committed after `since`; seconds count from the source's start and are made
    absolute."""
    if query.exception() is not None:
        raise query.exception()
    found = []
    for progress in query.recentProgress:
        source = progress["sources"][0]
        first, last = (int(json.loads(source[name] or "0") or 0) for name in ("startOffset", "endOffset"))
        trigger = datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()
        committed = trigger + progress["durationMs"]["triggerExecution"] / 1000
        if last > first and committed >= since:
            began = _began(checkpoint)
            found.append(Batch(committed, began + first, began + last))
    return found


def _began(checkpoint: Path) -> float:
    """When the source began; it is told with the first micro-batch."""
    return int((checkpoint / "sources" / "0" / "0").read_text().split("\n")[-1]) / 1000


def _keeps_up(batches: list[Batch]) -> bool:
    """Whether the last micro-batches lag no more behind their newest row than the middle ones."""
    lags = [batch.committed - batch.last for batch in batches]
    middle, end = lags[: max(1, len(lags) // 2)], lags[-max(1, len(lags) // 4) :]
    return len(lags) > 2 and max(end) <= max(middle) * 1.3 + LAG


def _latency(batches: list[list[Batch]]) -> dict[str, float]:
    waits = [
        (one.committed - second) * 1000
        for query in batches
        for one in query
        for second in np.arange(one.first + 1, one.last + 1)
    ]
    return summary(waits)


def summary(waits: Any) -> dict[str, float]:
    """Of latencies in milliseconds."""
    if not len(waits):
        return {}
    p50, p95, p99 = np.percentile(waits, [50, 95, 99])
    mean, most = float(np.mean(waits)), float(np.max(waits))
    return {"mean": mean, "p50": float(p50), "p95": float(p95), "p99": float(p99), "max": most}
