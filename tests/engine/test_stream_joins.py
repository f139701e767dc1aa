"""Joins of two streams through the whole engine: Spark's answers, Spark's steps, and state that ends."""

from __future__ import annotations

import datetime as dt
import math
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

from headway import Headway, UnsupportedPlan
from headway.frontend import explain, lower
from headway.query import StreamingQuery

LEFT = "lt timestamp, lk long, ls string, ld double, lv long"
RIGHT = "rt timestamp, rk long, rs string, rd double, rv long"
RANGE = "lk = rk and lt between rt - interval 5 seconds and rt + interval 3 seconds"
Row = tuple[Any, ...]
Join = Callable[[DataFrame, DataFrame], DataFrame]


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def joined(how: str, condition: str, delay: str = "200 seconds") -> Join:
    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        if left.isStreaming:
            left, right = left.withWatermark("lt", delay), right.withWatermark("rt", delay)
        return left.join(right, F.expr(condition), how)

    return join


def windows(how: str) -> Join:
    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        if left.isStreaming:
            left, right = left.withWatermark("lt", "200 seconds"), right.withWatermark("rt", "200 seconds")
        left = left.select("lk", "lv", F.window("lt", "10 seconds", "5 seconds").alias("lw"))
        right = right.select("rk", "rv", F.window("rt", "10 seconds", "5 seconds").alias("rw"))
        both = left.join(right, F.expr("lk = rk and lw = rw"), how)
        return both if how == "left_semi" else both.withColumn("lw", F.coalesce("lw", "rw"))

    return join


def told(df: DataFrame) -> DataFrame:
    """Which rows are joined, of every join in the same columns: values tell rows of a side apart."""
    right = F.col("rv") if "rv" in df.columns else F.lit(None).cast("long")
    window = F.col("lw.start") if "lw" in df.columns else F.lit(None).cast("timestamp")
    return df.select("lv", right.alias("rv"), window.alias("window"))


JOINS: dict[str, Join] = {
    "inner": joined("inner", RANGE),
    "left": joined("left", f"{RANGE} and lv > 3 and rv <> 7 and lv + rv > 40"),
    "right": joined("right", f"{RANGE} and lv <> rv"),
    "full": joined("full", f"{RANGE} and lv > 3 and rv > 2 and lv < 2 * rv"),
    "semi": joined("left_semi", f"{RANGE} and lv < rv"),
    "windows": windows("inner"),
    "windows of the left": windows("left"),
    "windows of both": windows("full"),
    "windows with a match": windows("left_semi"),
    "times are equal": joined("full", "date_trunc('minute', lt) = date_trunc('minute', rt) and lt = rt and ls = rs"),
    "no bound": joined("inner", "ls = rs and lv < rv"),
    "keys that may be null": joined("inner", "lk <=> rk and ls = rs"),
    "numbers of every kind": joined("left", "ld = rd and lt >= rt - interval 1 minute and lt < rt"),
    "computed keys": joined("right", f"lk + 1 = rk - 1 and upper(ls) = rs and {RANGE.split(' and ', 1)[1]}"),
}
ENDLESS = {"no bound", "keys that may be null"}


def rows(seed: int, count: int = 70) -> list[Row]:
    rng = random.Random(seed)

    def row(i: int) -> Row:
        return (
            at(rng.randrange(120)),
            rng.choice([None, 1, 2, 3, 4, 5]),
            rng.choice([None, "", "A", "b", "Zürich"]),
            rng.choice([None, 0.0, -0.0, math.nan, 1.5, math.inf, *range(5)]),
            i,
        )

    return [tuple(float(v) if i == 3 and v is not None else v for i, v in enumerate(row(n))) for n in range(count)]


def last(number: int) -> Row:
    return (at(10_000), number, str(number), float(number), 1000 + number)


@pytest.fixture(scope="module")
def answers(spark: SparkSession) -> dict[str, Counter[Row]]:
    """Spark's, of all joins in one job."""
    left, right = spark.createDataFrame(rows(1), LEFT), spark.createDataFrame(rows(2), RIGHT)
    named = [told(join(left, right)).select(F.lit(name), "*") for name, join in JOINS.items()]
    found: dict[str, list[Row]] = {name: [] for name in JOINS}
    for name, *row in reduce(DataFrame.unionAll, named).collect():
        found[name].append(tuple(row))
    return {name: same(answer) for name, answer in found.items()}


def state(query: StreamingQuery) -> tuple[int, int]:
    """How many rows are kept, and how many were late so far."""
    progress: list[Any] = [p for p in query.recentProgress if p["stateOperators"]]
    late = sum(int(s["numRowsDroppedByWatermark"]) for p in progress for s in p["stateOperators"])
    return int(progress[-1]["stateOperators"][0]["numRowsTotal"]), late


def test_answers(run: Runner, answers: dict[str, Counter[Row]]) -> None:
    left, right = run.stream(LEFT), run.stream(RIGHT, partitions=2)
    queries = {name: run.start(told(join(left.toDF(), right.toDF()))) for name, join in JOINS.items()}
    scatter(left, rows(1), pieces=3)
    scatter(right, rows(2), pieces=3)
    next(iter(queries.values())).processAllAvailable()
    for number in range(-3, 0):  # every partition, so that none holds the watermark back
        left.addData(last(number))
        right.addData(last(number - 10))
    for name, query in queries.items():
        query.processAllAvailable()
        assert same(run.table(query)) == answers[name], name
        # Of windows that overlap, each of the last rows is in two.
        ends = 12 if "windows" in name else 6
        assert name in ENDLESS or state(query) == (ends, 0), name


STEPS: list[tuple[list[Row], list[Row], list[Row], tuple[int, int]]] = [
    ([(1, 1, 10), (2, 2, 11), (3, None, 12)], [(2, 1, 20), (4, 3, 21), (5, None, 22)], [(10, 20)], (5, 0)),
    ([(10, 3, 13)], [(6, 2, 23), (7, 3, 24), (12, 3, 25)], [(11, 23), (13, 24), (13, 25)], (9, 0)),
    ([(20, 4, 14)], [(25, 4, 26)], [(14, 26), (12, None)], (5, 0)),
    ([(9, 3, 15), (16, 4, 16), (22, 4, 99)], [(9, 3, 27), (17, 4, 28)], [(16, 28), (99, 26), (14, 28)], (7, 2)),
    ([(60, 5, 17)], [], [], (8, 2)),
    ([], [(60, 6, 29), (61, 5, 30)], [(17, 30)], (3, 2)),
    ([(100, 9, 18)], [(100, 9, 31)], [(18, 31)], (2, 2)),
]
"""Rows of the left and the right (second, key, value), what a left outer join adds, rows kept, rows late: as Spark."""


def test_steps(run: Runner) -> None:
    left, right = run.stream("lt timestamp, lk long, lv long"), run.stream("rt timestamp, rk long, rv long")
    query = run.start(joined("left", RANGE, "10 seconds")(left.toDF(), right.toDF()).select("lv", "rv"))
    seen: list[Row] = []
    for lefts, rights, expected, kept in STEPS:
        left.addData(*[(at(second), k, v) for second, k, v in lefts], partition=0)
        right.addData(*[(at(second), k, v) for second, k, v in rights], partition=0)
        query.processAllAvailable()
        seen += expected
        assert same(run.table(query)) == same(seen)
        assert state(query) == kept


def test_a_stream_joined_with_itself(run: Runner) -> None:
    stream = run.stream("ts timestamp, k long", partitions=1)
    df = stream.toDF().withWatermark("ts", "10 seconds")
    left, right = df.select(F.col("ts").alias("lt"), "k"), df.select(F.col("ts").alias("rt"), "k")
    near = (F.col("lt") > F.col("rt")) & (F.col("lt") <= F.col("rt") + F.expr("interval 2 seconds"))
    query = run.start(left.alias("l").join(right.alias("r"), (F.col("l.k") == F.col("r.k")) & near, "left")
                      .select("lt", "rt", "l.k"))  # fmt: skip
    stream.addData((at(1), 1), (at(2), 1), (at(2), 2), (at(5), 1))
    query.processAllAvailable()
    assert same(run.table(query)) == same([(at(2), at(1), 1)])
    stream.addData((at(100), 3))
    query.processAllAvailable()
    unmatched = [(at(1), None, 1), (at(2), None, 2), (at(5), None, 1)]
    assert same(run.table(query)) == same([(at(2), at(1), 1), *unmatched])


def test_a_restart_in_the_middle_on_another_number_of_nodes(hw: Headway, once: Runner, tmp_path: Path) -> None:
    left, right = once.stream(LEFT), once.stream(RIGHT)
    df = JOINS["full"](left.toDF(), right.toDF())
    steps = [(rows(1)[:40], rows(2)[:25]), (rows(1)[40:], rows(2)[25:]), ([last(-1)] * 3, [last(-2)] * 3)]
    for nodes, (lefts, rights) in zip((1, hw.nodes, 1), steps, strict=True):
        for number, (mine, theirs) in enumerate(zip(_thirds(lefts), _thirds(rights), strict=True)):
            left.addData(*mine, partition=number)
            right.addData(*theirs, partition=number)
        writer = hw.writeStream(df).format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = once.keep(writer.option("headway.nodes", nodes).start(str(tmp_path / "out"), fallback=False))
        query.processAllAvailable()
        query.stop()
    batch = once.spark.createDataFrame(rows(1), LEFT), once.spark.createDataFrame(rows(2), RIGHT)
    assert same(once.spark.read.parquet(str(tmp_path / "out")).collect()) == same(JOINS["full"](*batch).collect())


def _thirds(given: list[Row]) -> list[list[Row]]:
    return [given[number::3] for number in range(3)]


def test_explain_says_when_sides_end(once: Runner) -> None:
    left, right = once.stream(LEFT).toDF(), once.stream(RIGHT).toDF()
    text = explain(joined("inner", RANGE, "10 seconds")(left, right))
    assert "StreamJoin inner on lk = rk" in text
    assert "left ends by lt + 5 s, right ends by rt + 3 s" in text
    with pytest.raises(UnsupportedPlan, match="without an equality"):
        lower(joined("inner", "lt < rt")(left, right))


def of_three(how: str) -> Callable[[DataFrame, DataFrame, DataFrame], DataFrame]:
    """Rows of the first join have two event times."""

    def join(left: DataFrame, right: DataFrame, third: DataFrame) -> DataFrame:
        third = third.toDF("tt", "tk", "ts", "td", "tv")
        if left.isStreaming:
            third = third.withWatermark("tt", "200 seconds")
        both = joined("inner", "lk = rk and lv < rv")(left, right)
        near = F.expr("rk = tk and lt >= tt and lt <= tt + interval 30 seconds")
        return both.join(third, near, how).select("lt", "rt", "lv", "rv", *([] if how == "left_semi" else ["tv"]))

    return join


@pytest.mark.parametrize("how", ["inner", "left_semi"])
def test_rows_with_two_event_times_are_joined(run: Runner, how: str) -> None:
    streams = [run.stream(LEFT), run.stream(RIGHT), run.stream(RIGHT)]
    query = run.start(of_three(how)(*(stream.toDF() for stream in streams)))
    for seed, stream in enumerate(streams):
        scatter(stream, rows(seed, 40))
    query.processAllAvailable()
    batch = [run.spark.createDataFrame(rows(seed, 40), schema) for seed, schema in enumerate((LEFT, RIGHT, RIGHT))]
    assert same(run.table(query)) == same(of_three(how)(*batch).collect())


def test_which_of_two_event_times_makes_rows_end(once: Runner) -> None:
    frames = [once.stream(schema).toDF() for schema in (LEFT, RIGHT, RIGHT)]
    outer, inner = explain(of_three("inner")(*frames)).split("StreamJoin")[1:]
    assert "left ends by lt" in outer
    assert "right ends" not in outer
    assert "ends" not in inner
    with pytest.raises(UnsupportedPlan, match=r"several such columns \(lt, rt\)"):
        lower(of_three("left")(*frames))
