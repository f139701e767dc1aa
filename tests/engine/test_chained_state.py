"""Stateful operators behind one another: Spark's answers, and one watermark for all streams of a query."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from engine_cases import START, Runner, same, scatter
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway

SCHEMA = "ts timestamp, k long, v long"
NEAR = "l.k = r.k and l.ts >= r.ts - interval 5 seconds and l.ts <= r.ts + interval 20 seconds"
Row = tuple[Any, ...]
Build = Callable[[DataFrame, DataFrame], DataFrame]


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def timed(df: DataFrame, delay: str = "150 seconds") -> DataFrame:
    return df.withWatermark("ts", delay) if df.isStreaming else df


def counted(df: DataFrame, size: str = "10 seconds") -> DataFrame:
    """By window and key, how many rows and the sum of their values."""
    return df.groupBy(F.window("ts", size), "k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))


def near(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """Rows of the left with values of the right that are near in time."""
    return left.alias("l").join(right.alias("r"), F.expr(NEAR), how).select("l.ts", "l.k", F.col("r.v").alias("v"))


def windows_of_windows(left: DataFrame, right: DataFrame) -> DataFrame:
    small = counted(timed(left)).select(F.window_time("window").alias("ts"), "k", F.col("n").alias("v"))
    return counted(small, "1 minute")


def both_aggregates(left: DataFrame, right: DataFrame) -> DataFrame:
    """Two aggregates of one stream joined on their windows, as tolls of a road need it."""
    counts = counted(timed(left)).select("window", "k", "n")
    return counts.join(counted(timed(left).where("v > 10")).select("window", "k", "s"), ["window", "k"], "left")


def windows_of_arrays(left: DataFrame, right: DataFrame) -> DataFrame:
    """Windows of the rows that arrays of windows make."""
    made = counted(timed(left)).select("window", F.explode(F.expr("sequence(k, k + n % 3)")).alias("k"))
    return counted(made.select(F.window_time("window").alias("ts"), "k", F.lit(1).cast("long").alias("v")), "1 minute")


def of_two_streams(left: DataFrame, right: DataFrame) -> DataFrame:
    sums = counted(timed(right, "100 seconds")).select("window", "k", "s")
    return counted(timed(left)).select("window", "k", "n").join(sums, ["window", "k"])


def without_duplicates(df: DataFrame) -> DataFrame:
    return timed(df).dropDuplicates(["ts", "k"]).withColumn("v", F.lit(1).cast("long"))


CHAINS: dict[str, Build] = {
    "windows of windows": windows_of_windows,
    "windows, arrays, then windows": windows_of_arrays,
    "a join, then windows": lambda left, right: counted(near(timed(left), timed(right), "inner")),
    "an outer join, then windows": lambda left, right: counted(near(timed(left), timed(right, "60 seconds"), "left")),
    "two aggregates, then a join": both_aggregates,
    "aggregates of two streams, then a join": of_two_streams,
    "no duplicates, then windows": lambda left, right: counted(without_duplicates(left)),
    "no duplicates, then a join": lambda left, right: near(without_duplicates(left), timed(right), "inner").select(
        F.struct(F.col("ts").alias("start"), F.col("ts").alias("end")).alias("window"), "k", F.lit(1).alias("n"),
        F.col("v").alias("s")),
}  # fmt: skip


def told(df: DataFrame) -> DataFrame:
    return df.select("window.start", "k", F.col("n").cast("long"), "s")


def rows(seed: int) -> list[Row]:
    rng = random.Random(seed)
    return [(at(rng.randrange(100)), rng.choice([None, 1, 2, 3]), rng.randrange(30)) for _ in range(80)]


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, Counter[Row]]:
    """Spark's, of all chains in one job."""
    left, right = spark.createDataFrame(rows(1), SCHEMA), spark.createDataFrame(rows(2), SCHEMA)
    named = [told(build(left, right)).select(F.lit(name), "*") for name, build in CHAINS.items()]
    found: dict[str, list[Row]] = {name: [] for name in CHAINS}
    for name, *row in reduce(DataFrame.unionAll, named).collect():
        found[name].append(tuple(row))
    return {name: same(answer) for name, answer in found.items()}


def late(query: Any) -> int:
    return sum(int(s["numRowsDroppedByWatermark"]) for p in query.recentProgress for s in p["stateOperators"])


def kept(query: Any) -> int:
    return sum(int(s["numRowsTotal"]) for s in query.recentProgress[-1]["stateOperators"])


def test_answers(run: Runner, answers: dict[str, Counter[Row]]) -> None:
    left, right = run.stream(SCHEMA), run.stream(SCHEMA, partitions=2)
    queries = {name: run.start(told(build(left.toDF(), right.toDF()))) for name, build in CHAINS.items()}
    scatter(left, rows(1), pieces=3)
    scatter(right, rows(2), pieces=3)
    next(iter(queries.values())).processAllAvailable()
    for _ in range(3):  # every partition, so that none holds the watermark back
        left.addData((at(10_000), -1, 100))
        right.addData((at(10_000), -2, 100))
    for name, query in queries.items():
        query.processAllAvailable()
        assert same(run.table(query)) == answers[name], name
        assert late(query) == 0, name
        assert kept(query) <= 6, name


def test_a_restart_in_the_middle(hw: Headway, once: Runner, tmp_path: Path, answers: dict[str, Counter[Row]]) -> None:
    name = "an outer join, then windows"
    left, right = once.stream(SCHEMA, partitions=1), once.stream(SCHEMA, partitions=1)
    df = told(CHAINS[name](left.toDF(), right.toDF()))
    last: list[Row] = [(at(10_000), -1, 100)]
    for nodes, (mine, theirs) in zip(
        (hw.nodes, 1, hw.nodes), ((rows(1)[:50], rows(2)[:30]), (rows(1)[50:], rows(2)[30:]), (last, last)), strict=True
    ):
        left.addData(*mine)
        right.addData(*theirs)
        writer = hw.writeStream(df).format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = once.keep(writer.option("headway.nodes", nodes).start(str(tmp_path / "out"), fallback=False))
        query.processAllAvailable()
        query.stop()
    assert same(once.spark.read.parquet(str(tmp_path / "out")).collect()) == answers[name]


def sums(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("ts", "10 seconds")).agg(F.count("*").alias("n")).select("window.start", "n")


def test_the_least_watermark_of_all_streams_counts_for_each(run: Runner) -> None:
    one, other = run.stream(SCHEMA, partitions=1), run.stream(SCHEMA, partitions=1)
    query = run.start(sums(timed(one.toDF(), "10 seconds")).union(sums(timed(other.toDF(), "10 seconds"))))
    seen = []
    for mine, theirs in (((5, 100), ()), ((), (50,)), ((45,), ()), ((), (200,))):
        one.addData(*[(at(second), 1, 1) for second in mine])
        other.addData(*[(at(second), 1, 1) for second in theirs])
        query.processAllAvailable()
        seen.append(sorted(run.table(query)))
    first, then = (at(0), 1), [(at(0), 1), (at(40), 1), (at(50), 1)]
    assert seen == [[], [first], [first], then]
    assert late(query) == 0


def test_the_highest_watermark_counts_if_the_user_wants_it(run: Runner, spark: SparkSession) -> None:
    one, other = run.stream(SCHEMA, partitions=1), run.stream(SCHEMA, partitions=1)
    both = timed(one.toDF(), "10 seconds").union(timed(other.toDF(), "30 seconds"))
    spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    try:
        query = run.start(sums(both))
    finally:
        spark.conf.unset("spark.sql.streaming.multipleWatermarkPolicy")
    for mine, theirs in (((200, 15), ()), ((195,), (50, 191)), ((), (60,)), ((), (300,))):
        one.addData(*[(at(second), 1, 1) for second in mine])
        other.addData(*[(at(second), 1, 1) for second in theirs])
        query.processAllAvailable()
    # 60 and, as rows of one step are not late to each other, not 50, which came with the watermark at 190.
    assert same(run.table(query)) == same([(at(10), 1), (at(190), 2), (at(200), 1)])
    assert late(query) == 2
