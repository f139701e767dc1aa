"""Stateful operators behind one another: what each hears of the watermark, and when."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from watermark_cases import counted, timed

from conformance import Case, step

TWO = ("v int", "v int")
KEYED = ("k int, t int", "k int, t int")


def windows(df: DataFrame, delay: str = "0 seconds", size: str = "5 seconds") -> DataFrame:
    return timed(df, delay).groupBy(F.window("ts", size)).agg(F.count("*").alias("n"))


def of_windows(df: DataFrame) -> DataFrame:
    twice = windows(df).groupBy(F.window("window", "10 seconds")).agg(F.count("*").alias("n"), F.sum("n").alias("s"))
    return twice.selectExpr("cast(window.start as long)", "n", "s")


def three_times(df: DataFrame) -> DataFrame:
    tens = windows(df).groupBy(F.window(F.window_time("window"), "10 seconds")).agg(F.sum("n").alias("n"))
    twenties = tens.groupBy(F.window(F.window_time("window"), "20 seconds")).agg(
        F.count("*").alias("c"), F.sum("n").alias("n")
    )
    return twenties.selectExpr("cast(window.start as long)", "cast(window.end as long)", "c", "n")


def paired(left: DataFrame, right: DataFrame, delay: str = "0 seconds") -> DataFrame:
    one, other = timed(left, delay), timed(right, delay).select(F.col("v").alias("r"), F.col("ts").alias("rt"))
    return one.join(other, F.expr("ts = rt"))


def without_duplicates(left: DataFrame, right: DataFrame) -> DataFrame:
    one = timed(left).dropDuplicates(["v", "ts"])
    other = timed(right).dropDuplicates(["v", "ts"]).select(F.col("v").alias("r"), F.col("ts").alias("rt"))
    return one.join(other, F.expr("ts = rt")).select("v", "r")


def then_without_duplicates(df: DataFrame, *keys: str) -> DataFrame:
    ends = windows(df).selectExpr("n", "window.end as e", "window_time(window) as t")
    return ends.dropDuplicates(list(keys)).selectExpr("cast(e as long)", "n")


def not_of_time(left: DataFrame, right: DataFrame) -> DataFrame:
    """A range over columns that are no event time: they bound nothing."""
    one = timed(left, "0 seconds").withColumn("l", F.timestamp_seconds("v"))
    other = right.select(
        F.timestamp_seconds("k").alias("rt"),
        F.timestamp_seconds("k").alias("from"),
        F.timestamp_seconds("t").alias("to"),
    ).withWatermark("rt", "0 seconds")
    return counted(one.join(other, F.expr("l >= from and l < to and ts = from")).select("ts"))


def outer_then_windows(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    one = left.select(F.col("k").alias("lk"), F.timestamp_seconds("t").alias("lt")).withWatermark("lt", "0 seconds")
    other = right.select(F.col("k").alias("rk"), F.timestamp_seconds("t").alias("rt")).withWatermark("rt", "0 seconds")
    near = F.expr("lk = rk and lt between rt - interval 1 hour and rt + interval 1 hour")
    joined = one.join(other, near, how)
    return counted(joined.select(F.col("lt" if how == "left" else "rt").alias("ts")), "10 minutes")


def both_windows(left: DataFrame, right: DataFrame, how: str = "inner") -> DataFrame:
    one = windows(left, "5 seconds", "10 seconds").select("window", F.col("n").alias("l"))
    other = windows(right, "5 seconds", "10 seconds").select("window", F.col("n").alias("r"))
    return one.join(other, "window", how).selectExpr("cast(window.end as long)", "l", "r")


HOURS = (
    step([(1, 3610), (2, 3630)], [(1, 3620)]),
    step([(5, 4500)], [(6, 4500)]),
    step([(5, 8160)], [(6, 8160)], restart=True),
    step([(5, 20_000)], [(6, 20_000)]),
)
SIDES = (
    step([1, 2, 3, 4, 5], [5, 6, 7, 8, 9]),
    step([11, 12, 13], [15, 16, 17, 18, 19]),
    step([23], [16], restart=True),
    step([100], [101]),
    step([200], [200]),
)
CASES: list[Case] = [
    Case(
        "windows of windows",
        of_windows,
        (step(list(range(10, 22))), step(list(range(10, 30))), step([30, 31], restart=True), step([60])),
    ),
    Case(
        "windows of windows of windows",
        three_times,
        (step(list(range(38))), step(list(range(30, 61)), restart=True), step([100])),
    ),
    Case(
        "no duplicates, then windows",
        lambda df: counted(timed(df).dropDuplicates(["v", "ts"])),
        (step(list(range(1, 16))), step([6, 16, 15]), step([40], restart=True), step([60])),
    ),
    Case(
        "windows, then no duplicates",
        lambda df: then_without_duplicates(df, "n", "e"),
        (step([1, 5, 10, 15]), step([20, 27], restart=True), step([60])),
    ),
    Case(
        "windows, then no duplicates by time",
        lambda df: then_without_duplicates(df, "n", "e", "t"),
        (step([1, 5, 10, 15]), step([20, 27], restart=True), step([60])),
    ),
    Case(
        "a join, then windows",
        lambda left, right: counted(paired(left, right).select("ts")),
        (step([1, 2, 3, 4], [1, 2, 3, 4]), step([5], [5]), step([3, 12], [3, 12], restart=True), step([40], [40])),
        TWO,
    ),
    Case(
        "a join, then windows, update",
        lambda left, right: counted(paired(left, right).select("ts")),
        (step([1, 2], [1, 2]), step([3, 4], [3, 4]), step([5, 6, 7, 8], [5, 6, 7, 8], restart=True), step([30], [30])),
        TWO,
        "update",
        1,
    ),
    Case(
        "a range that is no time, then windows",
        not_of_time,
        (step([1, 2, 3, 4], [(1, 2), (2, 3), (3, 4), (4, 5)]), step([9], [(9, 10)])),
        ("v int", "k int, t int"),
    ),
    Case(
        "an outer join, then windows, left", lambda left, right: outer_then_windows(left, right, "left"), HOURS, KEYED
    ),
    Case(
        "an outer join, then windows, right",
        lambda left, right: outer_then_windows(left, right, "right"),
        tuple(s._replace(rows=s.rows[::-1]) for s in HOURS),
        KEYED,
    ),
    Case("windows of both, then a join", both_windows, SIDES, TWO),
    Case("windows of both, then a join, left", lambda left, right: both_windows(left, right, "left"), SIDES, TWO),
    *(
        Case(
            f"no duplicates on both sides, then a join, {mode}",
            without_duplicates,
            (step([1, 2, 3, 1], [1, 2, 3, 2]), step([1, 2, 4], [2, 3, 4], restart=True), step([30], [30])),
            TWO,
            mode,
            2,
        )
        for mode in ("append", "update")
    ),
]
