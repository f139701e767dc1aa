"""Sorted and limited results, results without rows, and what `observe` tells, through the whole engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from engine_cases import Runner, events, same, scatter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway import Headway

SCHEMA = "k long, v long"


def test_complete_results_come_in_order(run: Runner) -> None:
    def build(df: DataFrame) -> DataFrame:
        grouped = df.groupBy("s", "k").agg(F.count("*").alias("rows"), F.sum("i").alias("sum"))
        return grouped.where("rows > 0").orderBy(F.desc("rows"), F.asc_nulls_last("s"), "k").limit(9)

    rows = events()
    expected = build(run.spark.createDataFrame(rows, run.stream().schema)).collect()
    assert run.answer(build, rows, output="complete") == [tuple(row) for row in expected]


def test_a_result_without_rows_takes_the_place_of_the_one_before(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    query = run.start(stream.toDF().groupBy("k").count().where("count < 3").orderBy("k"), "complete")
    stream.addData((1, 0), (2, 0), (2, 0))
    query.processAllAvailable()
    assert run.table(query) == [(1, 1), (2, 2)]
    stream.addData((1, 0), (1, 0), (2, 0))
    query.processAllAvailable()
    assert run.table(query) == []


def test_a_limit_of_a_stream_is_for_its_whole_life(once: Runner, hw: Headway, tmp_path: Path) -> None:
    stream = once.stream(SCHEMA)

    def start() -> Any:
        writer = hw.writeStream(stream.toDF().limit(5)).format("parquet")
        return once.keep(writer.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "out")))

    def given() -> Counter[Any]:
        return same(once.spark.read.parquet(str(tmp_path / "out")).collect())

    query = start()
    stream.addData((1, 1), (2, 2), (3, 3))
    query.processAllAvailable()
    assert given() == same([(1, 1), (2, 2), (3, 3)])
    query.stop()
    query = start()
    stream.addData((4, 4), (5, 5), (6, 6))
    query.processAllAvailable()
    stream.addData((7, 7))
    query.processAllAvailable()
    assert given().total() == 5
    assert set(given()) < {(n, n) for n in range(1, 7)}


def test_a_limit_before_and_after_an_aggregation(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    query = run.start(stream.toDF().limit(10).groupBy("k").count().limit(1), "complete")
    scatter(stream, [(7, n) for n in range(60)])
    query.processAllAvailable()
    assert run.table(query) == [(7, 10)]


def test_observed_metrics_are_in_progress(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    metrics = [F.count("*").alias("rows"), F.max("v").alias("top"), (F.sum("v") / F.count("v")).alias("mean")]
    watched = stream.toDF().observe("seen", *metrics).where("v > 5").observe("kept", F.count(F.lit(1)).alias("rows"))
    query = run.start(watched)
    scatter(stream, [(n % 3, n) for n in range(50)])
    query.processAllAvailable()
    told = [progress["observedMetrics"] for progress in query.recentProgress]
    assert sum(metrics["seen"]["rows"] for metrics in told) == 50
    assert sum(metrics["kept"]["rows"] for metrics in told) == 44
    assert max(metrics["seen"]["top"] for metrics in told if metrics["seen"]["top"] is not None) == 49
    whole = [metrics["seen"] for metrics in told if metrics["seen"]["rows"]]
    assert sum(metrics["mean"] * metrics["rows"] for metrics in whole) == sum(range(50))
