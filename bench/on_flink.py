"""A workload on Flink, embedded: the same query in SQL, run by Flink's planner and its Java runtime.

1. Two slots, parallelism 2, object reuse; buffers are flushed and watermarks told every few milliseconds, which costs
   little and makes latency short. There are no checkpoints. Mini-batches are off: windows aggregate locally without.
2. The rows come from a ring in memory; a row is an index into it, and nothing is copied. How fast the source is alone
   is measured first and reported: it is not the bottleneck.
3. An event's latency is how far the source lags behind its schedule, and what Flink's own latency markers, twenty a
   second, take from the source to the sink. The two are sampled apart; their sum is that of independent samples.
4. Queries run as jobs of their own, at once, in one process.
"""

from __future__ import annotations

import struct
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from bench.flink import gateway as java
from bench.flink.install import VERSION
from bench.lags import SAMPLES_PER_S, watch
from bench.lines import lines_of
from bench.on_spark import summary
from bench.search import Trial
from bench.workload import RingWorkload

PARALLELISM = 2
WARM_UP = 6.0
SETTLE = 0.5
ALONE_SECONDS = 4.0
SETTINGS = {
    "pipeline.object-reuse": "true",
    "pipeline.auto-watermark-interval": "10 ms",
    "execution.buffer-timeout.interval": "2 ms",
    "metrics.latency.interval": f"{1000 // SAMPLES_PER_S} ms",
    "metrics.latency.history-size": "8192",
    "metrics.latency.granularity": "operator",
    "metrics.reporters": "bench",
    "metrics.reporter.bench.factory.class": "bench.LatencyReporter",
    "taskmanager.numberOfTaskSlots": str(PARALLELISM),
    "table.local-time-zone": "UTC",
}
WATERMARK = "event_time - INTERVAL '0.001' SECOND"
"""Flink takes a watermark to mean that no row of its millisecond or an earlier one will come: there may be more."""
_SQL_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE"}


class OnFlink:
    """A Java process for all trials; every trial has new jobs."""

    name = "flink"

    def __init__(self, workload: RingWorkload, queries: int) -> None:
        self.first_guess = workload.first_guess[self.name] // queries
        self._workload = workload
        self._queries = queries
        self._job = workload.flink()
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        self._gateway = java.start(Path(self._folder.name, "classes"))
        self._jvm = self._gateway.jvm
        self._path = Path(self._folder.name, "ring")
        self._path.write_bytes(_bytes(self._job.ring))
        self.settings: dict[str, Any] = {"version": VERSION, "source_alone_rows_per_s": self._alone()}

    def _alone(self) -> float:
        """Rows/s of the source without a query: it emits to a sink that drops them."""
        environment, rows = self._source(0, 0)
        rows.addSink(self._jvm.bench.LineSink(0, False))
        running = environment.executeAsync()
        try:
            self._begin(1)
            time.sleep(WARM_UP / 2)
            began, before = time.time(), self._emitted()
            time.sleep(ALONE_SECONDS)
            return (self._emitted() - before) / (time.time() - began)
        finally:
            running.cancel().get()

    def _source(self, number: int, rate: int) -> tuple[Any, Any]:
        """An environment, and in it the rows of a query as a stream."""
        flink = self._jvm.org.apache.flink
        configuration = flink.configuration.Configuration()
        for name, value in SETTINGS.items():
            configuration.setString(name, value)
        environments = flink.streaming.api.environment.StreamExecutionEnvironment
        environment = environments.createLocalEnvironment(PARALLELISM, configuration)
        source = self._jvm.bench.RingSource(str(self._path), self._job.ring.num_columns, rate, number)
        return environment, environment.addSource(source, "events", self._row_type())

    def _row_type(self) -> Any:
        flink = self._jvm.org.apache.flink
        logical = flink.table.types.logical
        made = {pa.int64(): logical.BigIntType, pa.float64(): logical.DoubleType}
        types = [logical.TimestampType(False, 3), *[made[field.type](False) for field in self._job.ring.schema]]
        names = ["event_time", *self._job.ring.column_names]
        row = logical.RowType.of(
            False,
            java.array(self._gateway, logical.LogicalType, types),
            java.array(self._gateway, self._jvm.java.lang.String, names),
        )
        return flink.table.runtime.typeutils.InternalTypeInfo.of(row)

    def _start(self, number: int, rate: int) -> Any:
        flink = self._jvm.org.apache.flink
        environment, rows = self._source(number, rate)
        tables = flink.table.api.bridge.java.StreamTableEnvironment.create(environment)
        schema = flink.table.api.Schema.newBuilder().column("event_time", "TIMESTAMP(3) NOT NULL")
        for field in self._job.ring.schema:
            schema = schema.column(field.name, f"{_SQL_TYPES[field.type]} NOT NULL")
        tables.createTemporaryView("events", rows, schema.watermark("event_time", WATERMARK).build())
        for name, columns in self._job.lookups.items():
            longs = [java.array(self._gateway, self._jvm.long, column) for column in columns]
            tables.createTemporarySystemFunction(name, self._jvm.bench.Lookup(*longs))
        for name, view in self._job.views.items():
            tables.executeSql(f"CREATE TEMPORARY VIEW {name} AS {view}")
        results = tables.toDataStream(tables.sqlQuery(self._job.query))
        results.addSink(self._jvm.bench.LineSink(number, True))
        return environment.executeAsync()

    def _begin(self, queries: int) -> int:
        """Have the sources begin when all are open; when row 0 is due, in microseconds."""
        while self._jvm.bench.Results.open() < PARALLELISM * queries:
            time.sleep(0.05)
        t0_us = int((time.time() + SETTLE) * 1e6)
        self._jvm.bench.Results.beginAt(t0_us)
        return t0_us

    def _emitted(self) -> int:
        return int(self._jvm.bench.Results.emitted())

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        self._jvm.bench.Results.clear()
        running = [self._start(number, rate) for number in range(self._queries)]
        try:
            t0_us = self._begin(self._queries)
            trial = self._observe(rate, t0_us, seconds)
        finally:
            for one in running:
                one.cancel().get()
        written = [lines_of(self._jvm.bench.Results.lines(number)) for number in range(self._queries)]
        trial.correct = all(self._workload.correct(lines, t0_us, rate) for lines in written if lines)
        return trial

    def _observe(self, rate: int, t0_us: int, seconds: float) -> Trial:
        time.sleep(max(0.0, t0_us / 1e6 - time.time()) + WARM_UP)
        trial, lags = watch(rate, self._queries, seconds, self._emitted, self._lag_ms)
        return replace(trial, latency_ms=self._latency(lags, seconds))

    def _lag_ms(self) -> float:
        return float(self._jvm.bench.Results.lagMicros()) / 1000

    def _latency(self, lags: list[float], seconds: float) -> dict[str, float]:
        markers = np.array(_markers(self._jvm.bench.LatencyReporter.shown(), int(seconds * SAMPLES_PER_S)))
        if not len(markers):
            return {}
        return summary(np.add.outer(np.array(lags), markers).ravel())

    def close(self) -> None:
        self._gateway.shutdown()
        self._folder.cleanup()


def _bytes(ring: pa.Table) -> bytes:
    """As the Java source reads it: the number of rows, then the columns, all 64 bits, the most significant first."""
    columns = [column.to_numpy().view(np.int64).astype(">i8").tobytes() for column in ring.columns]
    return struct.pack(">q", ring.num_rows) + b"".join(columns)


def _markers(text: str, last: int) -> list[float]:
    """Milliseconds of the last markers of every subtask of the sinks."""
    return [float(value) for line in text.splitlines() for value in line.split()[-last:]]
