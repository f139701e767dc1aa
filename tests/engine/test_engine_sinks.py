"""Every sink through the whole engine: what comes out is what went in, once."""

from __future__ import annotations

import json
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_cases import EVENTS, Runner, events, same, scatter
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

from headway import Headway

SCHEMA = "k long, v long"
NUMBERS = [(n % 7, n) for n in range(100)]
PIECES = 3
cloudpickle.register_pickle_by_value(sys.modules[__name__])
"""Nodes do not have the tests' folder on their path."""


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_files(once: Runner, hw: Headway, spark: SparkSession, tmp_path: Path, format: str) -> None:
    stream = once.stream("k long, v long, s string")
    where, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    writer = hw.writeStream(stream.toDF()).format(format).option("checkpointLocation", checkpoint).partitionBy("k")
    query = once.keep(writer.start(where, fallback=False))
    rows = [(k, v, f"text {v}") for k, v in NUMBERS]
    for piece in range(PIECES):
        scatter(stream, rows, seed=piece)
        query.processAllAvailable()
        read = spark.read.schema("v long, s string").format(format).load(where).select("k", "v", "s")
        assert same(read.collect()) == same(rows * (piece + 1))
    assert (tmp_path / "out" / "k=3").is_dir()


def test_a_query_goes_on_after_stop(run: Runner, hw: Headway, spark: SparkSession, tmp_path: Path) -> None:
    stream = run.stream(SCHEMA)
    where, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    for piece in range(PIECES):
        scatter(stream, NUMBERS, seed=piece)
        writer = hw.writeStream(stream.toDF()).format("parquet").option("checkpointLocation", checkpoint)
        query = run.keep(writer.start(where, fallback=False))
        query.processAllAvailable()
        query.stop()
    assert same(spark.read.parquet(where).collect()) == same(NUMBERS * PIECES)


def test_counts_go_on_after_stop(run: Runner, hw: Headway, tmp_path: Path) -> None:
    stream = run.stream(SCHEMA)
    for piece in range(1, PIECES + 1):
        scatter(stream, NUMBERS, seed=piece)
        writer = hw.writeStream(stream.toDF().groupBy("k").agg(F.sum("v"))).format("memory").outputMode("complete")
        writer.option("checkpointLocation", str(tmp_path)).queryName("counts_go_on")
        query = run.keep(writer.start(fallback=False))
        query.processAllAvailable()
        expected = {k: piece * sum(v for key, v in NUMBERS if key == k) for k in range(7)}
        assert dict(run.table(query)) == expected
        query.stop()


def test_foreach_batch(once: Runner, hw: Headway) -> None:
    seen: dict[int, list[Any]] = {}

    def keep(df: DataFrame, epoch: int) -> None:
        seen[epoch] = [tuple(row) for row in df.collect()]

    stream = once.stream()
    query = once.keep(hw.writeStream(stream.toDF()).foreachBatch(keep).start(fallback=False))
    rows = events(30)
    scatter(stream, rows)
    query.processAllAvailable()
    scatter(stream, rows, seed=2)
    query.processAllAvailable()
    assert same([row for epoch in seen.values() for row in epoch]) == same(rows * 2)
    assert list(seen) == sorted(seen)


def test_foreach_batch_that_fails(once: Runner, hw: Headway) -> None:
    def refuse(df: DataFrame, epoch: int) -> None:
        raise RuntimeError("the shelf is full")

    stream = once.stream(SCHEMA)
    query = once.keep(hw.writeStream(stream.toDF()).foreachBatch(refuse).start(fallback=False))
    scatter(stream, NUMBERS)
    with pytest.raises(StreamingQueryException, match="the shelf is full") as failed:
        query.processAllAvailable()
    assert "in refuse" in str(failed.value)


class ToDirectory:
    """A foreach writer that keeps rows in files of a directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def open(self, partition_id: int, epoch_id: int) -> bool:
        self._rows: list[Any] = []
        return True

    def process(self, row: Row) -> None:
        self._rows.append(list(row))

    def close(self, error: Exception | None) -> None:
        Path(self._directory, uuid.uuid4().hex).write_text(json.dumps(self._rows))


def kept_in(directory: Path) -> list[tuple[Any, ...]]:
    return [tuple(row) for file in directory.iterdir() for row in json.loads(file.read_text())]


def test_foreach(once: Runner, hw: Headway, tmp_path: Path) -> None:
    stream = once.stream(SCHEMA)
    query = once.keep(hw.writeStream(stream.toDF()).foreach(ToDirectory(str(tmp_path))).start(fallback=False))
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    assert same(kept_in(tmp_path)) == same(NUMBERS)


def test_console_and_noop(once: Runner, hw: Headway, capfd: pytest.CaptureFixture[str]) -> None:
    stream = once.stream(SCHEMA, partitions=1)
    console = once.keep(hw.writeStream(stream.toDF()).format("console").start(fallback=False))
    noop = once.keep(hw.writeStream(stream.toDF()).format("noop").start(fallback=False))
    stream.addData((1, 4711))
    console.processAllAvailable()
    noop.processAllAvailable()
    assert "4711" in capfd.readouterr().out
    for query in (console, noop):
        assert sum(progress["sink"]["numOutputRows"] for progress in query.recentProgress) == 1


def test_to_table(once: Runner, hw: Headway, spark: SparkSession, tmp_path: Path) -> None:
    stream = once.stream(SCHEMA)
    writer = hw.writeStream(stream.toDF()).option("path", str(tmp_path / "table"))
    query = once.keep(writer.toTable("engine_table", checkpointLocation=str(tmp_path / "checkpoint"), fallback=False))
    try:
        scatter(stream, NUMBERS)
        query.processAllAvailable()
        assert same(spark.table("engine_table").collect()) == same(NUMBERS)
    finally:
        query.stop()
        spark.sql("DROP TABLE engine_table")


class DirectoryWriter(DataSourceStreamWriter):  # type: ignore[misc]
    """Keeps rows in files that a commit makes count."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def write(self, rows: Iterator[Row]) -> WriterCommitMessage:
        file = Path(self._directory, f".{uuid.uuid4().hex}")
        file.write_text(json.dumps([list(row) for row in rows]))
        message = WriterCommitMessage()
        message.file = file.name
        return message

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        for message in messages:
            if message is not None:
                Path(self._directory, message.file).rename(Path(self._directory, message.file[1:]))


class DirectorySource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return "engine_directory"

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        return DirectoryWriter(self.options["directory"])


def test_python_data_source_writer(once: Runner, hw: Headway, spark: SparkSession, tmp_path: Path) -> None:
    spark.dataSource.register(DirectorySource)
    (tmp_path / "out").mkdir()
    stream = once.stream(SCHEMA)
    writer = hw.writeStream(stream.toDF()).format("engine_directory").option("directory", str(tmp_path / "out"))
    query = once.keep(writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start(fallback=False))
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    query.stop()
    assert same(kept_in(tmp_path / "out")) == same(NUMBERS * 2)


def test_a_slow_sink_delays_no_other_query(once: Runner, hw: Headway) -> None:
    release = threading.Event()
    stream = once.stream(EVENTS)
    slow = hw.writeStream(stream.toDF()).foreachBatch(lambda df, epoch: release.wait(60) and None)
    held = once.keep(slow.latency("200 ms").start(fallback=False))
    other = once.start(stream.toDF().select("k"))
    rows = events(30)
    scatter(stream, rows)
    try:
        other.processAllAvailable()
        assert len(once.table(other)) == 30
        assert held.isActive
    finally:
        release.set()
    held.processAllAvailable()
