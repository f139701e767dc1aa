"""Aggregations through the whole engine give Spark's batch answer, in every output mode."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest
from engine_cases import START, Build, Runner, events, same, scatter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def _all_functions(df: DataFrame) -> list[Any]:
    numbers = [F.sum(c).alias(f"sum_{c}") for c in "kyhidm"] + [F.avg(c).alias(f"avg_{c}") for c in "kyhidm"]
    # 0.0 and -0.0 are equal: which of them is the least depends on the order of rows, in Spark as here.
    floats = [F.col(c) + F.lit(0).cast("float") for c in "fd"]
    plain = [F.col(c) for c in ["b", "i", "m", "s", "x", "day", "ts", "ntz"]]
    every = [function(c) for c in [*floats, *plain] for function in (F.min, F.max)]
    counts = [F.count("*"), F.count("s"), F.count_if("b"), F.approx_count_distinct("s"), F.approx_count_distinct("i")]
    return [*numbers, *every, *counts]


def _more_functions(df: DataFrame) -> list[Any]:
    """Those whose answer does not depend on the order of rows."""
    moments = [f"{f}(i)" for f in ("stddev", "var_pop", "skewness", "kurtosis")]
    pairs = [f"{f}(i, h)" for f in ("corr", "covar_samp", "regr_slope", "regr_r2")]
    picks = ["max_by(s, ts)", "min_by(m, ts)", "max(struct(i, s))", "first(k)", "last(struct(k), true)"]
    numbers = ["bit_xor(i)", "try_sum(i)", "median(y)", "approx_percentile(i, array(0.1, 0.5))", "every(b)"]
    texts = ["listagg(s, ',') within group (order by ts)", "mode() within group (order by s)"]
    return [F.expr(text) for text in (*moments, *pairs, *picks, *numbers, *texts)]


COMPLETE: dict[str, Build] = {
    "all functions by key": lambda df: df.groupBy("k").agg(*_all_functions(df)),
    "all functions in one group": lambda df: df.agg(*_all_functions(df)),
    "more functions by key": lambda df: df.groupBy("k").agg(*_more_functions(df)),
    "more functions in one group": lambda df: df.where("k = 1").agg(*_more_functions(df)),
    "lists": lambda df: df.groupBy("k").agg(F.collect_list("i"), F.collect_set("s"), F.collect_set("f")),
    "fixed width": lambda df: df.groupBy("k").agg(
        F.count("*"), F.sum("i"), F.avg("d"), F.min("h"), F.max(F.col("d") + 0.0), F.sum("y")
    ),
    "by every kind of key": lambda df: df.groupBy("s", "b", "f", "m", "x", "day", "ntz").count(),
    "by a nested struct": lambda df: df.groupBy(F.struct("d", F.struct("s", "f", "m", "x").alias("in"))).count(),
    "grouping sets": lambda df: df.cube("k", "b").agg(
        F.stddev("i"), F.collect_set("s"), F.grouping("k"), F.median("y")
    ),
    "by a double": lambda df: df.groupBy("d").agg(F.count("*"), F.sum("k")),
    "tumbling windows": lambda df: df.groupBy(F.window("ts", "10 seconds"), "k").agg(F.count("*"), F.avg("i")),
    "sliding windows": lambda df: df.groupBy(F.window("ts", "20 seconds", "5 seconds", "3 seconds")).agg(
        F.count("*").alias("n"), F.max("i").alias("top")
    ),
    "after a filter and a projection": lambda df: (
        df.where("i > 0").select((F.col("k") % 2).alias("odd"), "i").groupBy("odd").agg(F.sum("i").alias("sum"))
    ),
    "then a projection": lambda df: (
        df.groupBy("k").agg(F.sum("i").alias("sum")).select("k", (F.col("sum") * 2).alias("twice")).where("twice > 0")
    ),
    "no column at all": lambda df: df.groupBy().count(),
    "rollup with filters": lambda df: df.rollup("k", "b").agg(
        F.count("*"), F.expr("count(i) FILTER (WHERE i > 0)"), F.bool_and("b")
    ),
    "after a join": lambda df: (
        df.join(df.sparkSession.createDataFrame([(0, "zero"), (1, "one")], "id long, word string"), F.expr("k = id"))
        .groupBy("word")
        .agg(F.count("*"), F.sum("i"))
    ),
    "over a union": lambda df: df.select("k").union(df.select(F.col("i") % 3)).groupBy("k").count(),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_complete_mode_is_the_batch_answer(run: Runner, case: str) -> None:
    run.check(f"complete {case}", COMPLETE[case], events(), output="complete")


def test_a_group_of_no_rows_exists(run: Runner) -> None:
    stream = run.stream()
    query = run.start(stream.toDF().agg(F.count("*"), F.sum("i")), "complete")
    query.processAllAvailable()
    assert run.table(query) in ([], [(0, None)])
    scatter(stream, events(7))
    query.processAllAvailable()
    assert [row[0] for row in run.table(query)] == [7]


def test_complete_mode_follows_the_rows(run: Runner) -> None:
    stream = run.stream("k long, v long")
    query = run.start(stream.toDF().groupBy("k").agg(F.sum("v")), "complete")
    for round in range(1, 4):
        scatter(stream, [(key, 1) for key in range(5)])
        query.processAllAvailable()
        assert sorted(run.table(query)) == [(key, round) for key in range(5)]


def test_update_mode_gives_the_changed_groups(run: Runner) -> None:
    stream = run.stream("k long, v long")
    query = run.start(stream.toDF().groupBy("k").agg(F.sum("v"), F.count("*")), "update")
    scatter(stream, [(key, key * n) for key in range(5) for n in range(10)])
    query.processAllAvailable()
    before = run.table(query)
    assert {key: rest for key, *rest in before} == {key: [key * 45, 10] for key in range(5)}
    stream.addData((3, 1), (77, 2))
    query.processAllAvailable()
    assert sorted(run.table(query)[len(before) :]) == [(3, 136, 11), (77, 2, 1)]


def test_update_mode_ends_with_the_batch_answer(run: Runner) -> None:
    """Every type of state, null keys and decimals: what was said last of each group is what a batch says."""

    def build(df: DataFrame) -> DataFrame:
        return df.groupBy("s", "m").agg(F.count("*"), F.sum("m"), *_more_functions(df), F.collect_list("i"))

    rows = events(60)
    given = {row[:2]: row for row in run.answer(build, rows, output="update")}
    expected = build(run.spark.createDataFrame(rows, run.stream().schema)).collect()
    assert same(list(given.values())) == same(expected)


def test_keys_that_look_alike(run: Runner) -> None:
    values = [0.0, -0.0, math.nan, float("-nan"), None, 1.0]
    rows = [(value, value, n) for n, value in enumerate(values * 8)]
    build: Build = lambda df: df.groupBy("a", "b").agg(F.count("*"), F.sum("n"))  # noqa: E731
    run.check("keys alike", build, rows, "a double, b float, n long", "complete")


def test_decimals_keep_their_scale(run: Runner) -> None:
    rows = [(n % 3, Decimal(n).scaleb(-2), Decimal(10**20 + n)) for n in range(-50, 50)]
    build: Build = lambda df: df.groupBy("k").agg(F.sum("a"), F.avg("a"), F.sum("b"), F.avg("b"), F.max("b"))  # noqa: E731
    run.check("decimals", build, rows, "k int, a decimal(9,2), b decimal(30,5)", "complete")


def test_one_key_has_nearly_all_rows(run: Runner) -> None:
    rows = [(7 if n % 100 else n, n) for n in range(20_000)]
    build: Build = lambda df: df.groupBy("k").agg(F.count("*"), F.sum("v"), F.max("v"))  # noqa: E731
    run.check("skew", build, rows, "k long, v long", "complete")


def test_windows_when_the_clocks_change(run: Runner) -> None:
    """Clocks in New York go back at 2024-11-03 06:00 UTC and forward at 2024-03-10 07:00 UTC."""
    starts = [dt.datetime(2024, 11, 3, 4), dt.datetime(2024, 3, 10, 5)]
    rows = [(start + dt.timedelta(minutes=7 * n), n) for start in starts for n in range(40)]
    build: Build = lambda df: df.groupBy(  # noqa: E731
        F.window("ts", "90 minutes", "30 minutes"), F.date_trunc("hour", "ts").alias("hour"), F.hour("ts").alias("h")
    ).agg(F.count("*"), F.sum("v"))
    run.check("clocks", build, rows, "ts timestamp, v long", "complete")


def test_closed_windows_come_once_in_append_mode(run: Runner) -> None:
    """A later row closes all windows but its own; they are what a batch gives."""
    rows = events()
    late = (*rows[0][:11], START + dt.timedelta(hours=1), None)

    def build(df: DataFrame) -> DataFrame:
        grouped = df.withWatermark("ts", "10 seconds").groupBy(F.window("ts", "20 seconds", "10 seconds"), "k")
        return grouped.agg(F.count("*").alias("n"), F.sum("i").alias("sum"), F.min("s").alias("least"))

    stream = run.stream(partitions=1)
    query = run.start(build(stream.toDF()))
    stream.addData(*rows)
    query.processAllAvailable()
    early = run.table(query)
    stream.addData(late)
    query.processAllAvailable()
    expected = build(run.spark.createDataFrame(rows, stream.schema)).collect()
    assert same(run.table(query)) == same(expected)
    assert query.lastProgress is not None
    (merge,) = [s for s in query.lastProgress["stateOperators"] if s["operatorName"] == "stateStoreSave"]
    assert merge["numRowsTotal"] <= 2  # of the windows that are not closed yet
    watermark = max(row[11] for row in rows) - dt.timedelta(seconds=10)
    assert same(early) == same([row for row in expected if row.window.end <= watermark])
