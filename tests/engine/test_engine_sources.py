"""Every source through the whole engine: each row once."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_cases import Runner, same
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition, SimpleDataSourceStreamReader

cloudpickle.register_pickle_by_value(sys.modules[__name__])
"""Nodes do not have the tests' folder on their path."""


def test_rate_has_no_gap(run: Runner, spark: SparkSession) -> None:
    rate = spark.readStream.format("rate").options(rowsPerSecond=5000, numPartitions=2).load()
    query = run.start(rate.select("value", "timestamp"))
    rows: list[tuple[Any, ...]] = []
    while len(rows) < 3000:
        query.processAllAvailable()
        rows = run.table(query)
    query.stop()
    rows = sorted(run.table(query))
    for partition in range(2):  # stop() may end one of them before the other
        values = [value for value, _ in rows if value % 2 == partition]
        assert values == list(range(partition, partition + 2 * len(values), 2))
        assert len(values) >= 1000
    assert [time for _, time in rows] == sorted(time for _, time in rows)


def test_rate_micro_batch(once: Runner, spark: SparkSession) -> None:
    options = {"rowsPerBatch": 100, "numPartitions": 2, "advanceMillisPerBatch": 50, "startTimestamp": 1000}
    rate = spark.readStream.format("rate-micro-batch").options(**options).load()
    query = once.start(rate.select("value", F.unix_millis("timestamp").alias("ms")))
    rows: list[tuple[Any, ...]] = []
    while len(rows) < 300:
        rows = once.table(query)
    query.stop()
    rows = sorted(once.table(query))
    for partition in range(2):  # one may be ahead of the other
        values = [value for value, _ in rows if value % 2 == partition]
        assert values == list(range(partition, partition + 2 * len(values), 2))
    assert all(ms == 1000 + value // 100 * 50 for value, ms in rows)


@pytest.mark.parametrize(
    "columns", [["count(*)"], ["sum(c) AS c", "max(upper(d)) AS d"], ["sum(p) AS p"], ["max(p) AS p", "min(a) AS a"]]
)
def test_columns_that_nobody_reads_change_nothing(
    once: Runner, spark: SparkSession, tmp_path: Path, columns: list[str]
) -> None:
    schema, path = "a long, b string, c double, d string, p long", str(tmp_path / "in")
    rows = spark.range(100).selectExpr("id AS a", "'b' AS b", "id / 4 AS c", "concat('d', id) AS d", "id % 3 AS p")
    rows.write.partitionBy("p").parquet(path)

    def summary(frame: Any) -> Any:
        return frame.where("a % 7 > 1").selectExpr(*columns) if "a" in str(columns) else frame.selectExpr(*columns)

    query = once.start(summary(spark.readStream.schema(schema).parquet(path)), output="complete")
    query.processAllAvailable()
    assert same(once.table(query)) == same(summary(spark.read.schema(schema).parquet(path)).collect())


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_directory_that_grows(once: Runner, spark: SparkSession, tmp_path: Path, format: str) -> None:
    def grow(first: int) -> None:
        rows = spark.range(first, first + 50, numPartitions=2).selectExpr("id", "concat('row ', id) AS text")
        rows.write.format(format).mode("append").save(str(tmp_path / "in"))

    grow(0)
    stream = spark.readStream.format(format).schema("id long, text string").load(str(tmp_path / "in"))
    query = once.start(stream)
    query.processAllAvailable()
    assert len(once.table(query)) == 50
    for first in (50, 100):
        grow(first)
        query.processAllAvailable()
    assert sorted(once.table(query)) == [(n, f"row {n}") for n in range(150)]


def test_socket(once: Runner, spark: SparkSession) -> None:
    words = [f"word {n}" for n in range(20)]
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(f"{word}\n" for word in words).encode())
                done.wait(60)

        done = threading.Event()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            options = {"host": "127.0.0.1", "port": str(server.getsockname()[1])}
            query = once.start(spark.readStream.format("socket").options(**options).load())
            rows: list[tuple[Any, ...]] = []
            while len(rows) < len(words):
                query.processAllAvailable()
                rows = once.table(query)
            query.stop()
        finally:
            done.set()
            thread.join()
    assert sorted(rows) == sorted((word,) for word in words)


class Slice(InputPartition):  # type: ignore[misc]
    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end


class Numbers(DataSourceStreamReader):  # type: ignore[misc]
    """Two partitions of ten numbers per look, up to two hundred."""

    def __init__(self) -> None:
        self._given = 0

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def latestOffset(self) -> dict[str, int]:
        self._given = min(self._given + 20, 200)
        return {"n": self._given}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Slice(n, min(n + 10, end["n"])) for n in range(start["n"], end["n"], 10)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        assert isinstance(partition, Slice)
        return ((n,) for n in range(partition.first, partition.end))


class SimpleNumbers(SimpleDataSourceStreamReader):  # type: ignore[misc]
    """Ten numbers per read, up to a hundred."""

    def initialOffset(self) -> dict[str, int]:
        return {"n": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
        end = min(start["n"] + 10, 100)
        return ((n,) for n in range(start["n"], end)), {"n": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[tuple[int]]:
        return ((n,) for n in range(start["n"], end["n"]))


class NumberSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return "engine_numbers"

    def schema(self) -> str:
        return "n long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return Numbers()


class SimpleNumberSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return "engine_simple_numbers"

    def schema(self) -> str:
        return "n long"

    def simpleStreamReader(self, schema: Any) -> SimpleDataSourceStreamReader:
        return SimpleNumbers()


@pytest.mark.parametrize(("source", "count"), [(NumberSource, 200), (SimpleNumberSource, 100)])
def test_python_data_sources(run: Runner, spark: SparkSession, source: type[DataSource], count: int) -> None:
    spark.dataSource.register(source)
    query = run.start(spark.readStream.format(source.name()).load())
    query.processAllAvailable()
    assert same(run.table(query)) == same([(n,) for n in range(count)])
