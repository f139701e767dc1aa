"""Event time: when windows end, what is late, and how far the watermark of several streams is."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conformance import Case, step

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def timed(df: DataFrame, delay: str = "10 seconds") -> DataFrame:
    """Values are seconds of event time."""
    return df.withColumn("ts", F.timestamp_seconds("v")).withWatermark("ts", delay)


def counted(df: DataFrame, size: str = "5 seconds", slide: str | None = None, start: str | None = None) -> DataFrame:
    window = F.window("ts", size, slide, start)
    return df.groupBy(window.alias("w")).agg(F.count("*").alias("n")).selectExpr("cast(w.start as long)", "n")


def by_windows(df: DataFrame) -> DataFrame:
    return counted(timed(df))


def named_window(df: DataFrame) -> DataFrame:
    windows = timed(df).select(F.window("ts", "5 seconds").alias("five"))
    return windows.groupBy("five").count().selectExpr("cast(five.start as long)", "count")


def qualified(df: DataFrame) -> DataFrame:
    named = df.withColumn("ts", F.timestamp_seconds("v")).alias("a").withWatermark("a.ts", "10 seconds")
    return counted(named)


def by_time(df: DataFrame) -> DataFrame:
    return timed(df).groupBy("ts").count().selectExpr("cast(ts as long)", "count")


def by_window_and_key(df: DataFrame) -> DataFrame:
    keyed = timed(df).groupBy(F.window("ts", "10 seconds"), (F.col("v") % 2).alias("k")).agg(F.sum("v").alias("s"))
    return keyed.selectExpr("cast(window.start as long)", "k", "s")


def of_two(one: DataFrame, other: DataFrame) -> DataFrame:
    """Windows of both streams; the second may be five seconds late, the first ten."""
    return counted(timed(one).select("ts").union(timed(other, "5 seconds").select("ts")))


def summed(one: DataFrame, other: DataFrame) -> DataFrame:
    return timed(one).select("v").union(timed(other, "5 seconds").select("v")).agg(F.sum("v"))


def in_millis(df: DataFrame) -> DataFrame:
    """Values are milliseconds."""
    return counted(df.withColumn("ts", F.timestamp_millis("v")).withWatermark("ts", "1 second"), "1 second")


STEPS = (
    step([20, 21, 22, 23, 24, 25]),
    step([35]),
    step([20]),
    step([31, 24]),
    step([60], restart=True),
    step([49, 50]),
)
TWO = ("v int", "v int")
CASES: list[Case] = [
    Case("append", by_windows, STEPS),
    Case("update", by_windows, (*STEPS, step([35, 61])), mode="update", key=1),
    Case("complete drops nothing", by_windows, STEPS, mode="complete"),
    Case("the window has another name", named_window, STEPS),
    Case("the time is named with its table", qualified, STEPS),
    Case(
        "a time is a group", by_time, (step([20]), step([35]), step([25, 26]), step([36]), step([60, 25], restart=True))
    ),
    Case("windows and keys", by_window_and_key, (step([20, 21, 23]), step([39, 22]), step([41, 5]), step([90]))),
    Case(
        "windows overlap",
        lambda df: counted(timed(df), "10 seconds", "5 seconds"),
        (step([20, 26]), step([36]), step([26, 31]), step([45], restart=True), step([100])),
    ),
    Case(
        "windows begin later",
        lambda df: counted(timed(df), "10 seconds", None, "3 seconds"),
        (step([20, 26]), step([34]), step([22, 23, 24]), step([43]), step([60])),
    ),
    Case(
        "no delay",
        lambda df: counted(timed(df, "0 seconds")),
        (step([20, 24]), step([25]), step([24, 25]), step([29, 30]), step([30, 26])),
    ),
    Case(
        "a delay of months",
        lambda df: counted(timed(df, "1 year 2 months"), "1 day"),
        (step([1_700_000_000]), step([1_700_000_000 + 434 * 86_400]), step([1_700_000_000 + 436 * 86_400])),
    ),
    Case(
        "milliseconds",
        in_millis,
        (step([2500, 2999]), step([3999]), step([4000]), step([2999, 3000]), step([9000])),
        ("v long",),
    ),
    Case(
        "times that are null",
        by_windows,
        (step([20, None]), step([None]), step([40, None]), step([60])),
    ),
    Case(
        "times before 1970",
        by_windows,
        (step([-20, -3]), step([-20]), step([5]), step([30])),
        own={
            0: {"rows": [[-20, 1]], "kept": [1], "late": [0]},
            1: {"kept": [1], "late": [1]},
            2: {"kept": [2]},
            3: {"rows": [[-5, 1], [5, 1]]},
        },
        why="Spark's first watermark is 1970, before which all is late",
    ),
    Case(
        "restarts",
        by_windows,
        (
            step([20, 21, 22, 23, 24, 25]),
            step([35]),
            step([20, 37, 40], restart=True),
            step([27], restart=True),
            step([50]),
            step([], restart=True),
            step([34, 90]),
        ),
    ),
    Case(
        "a filter after the watermark",
        lambda df: counted(timed(df).where("v % 2 = 0")),
        (step([20, 22]), step([35]), step([20, 24, 41]), step([60])),
    ),
    Case(
        "two streams, the least counts",
        of_two,
        (
            step([11, 12], []),
            step([], [6]),
            step([30], [8]),
            step([], [17, 28, 29]),
            step([2], [8]),
            step([41], [26]),
            step([80], [45], restart=True),
            step([], [100]),
        ),
        TWO,
    ),
    Case(
        "two streams, the highest counts",
        of_two,
        (
            step([20, 3], []),
            step([], [30, 4]),
            step([16], []),
            step([], [60], restart=True),
            step([54, 49], []),
            step([90], []),
            step([], [61, 86]),
        ),
        TWO,
        conf={POLICY: "max"},
    ),
    Case(
        "two streams, which was ahead is forgotten",
        of_two,
        (
            step([11, 50], [6, 20]),
            step([], [60], restart=True),
            step([18], []),
            step([], [61], restart=True),
            step([], [62, 17]),
            step([70], [], restart=True),
            step([], [71]),
        ),
        TWO,
    ),
    Case(
        "a sum of two streams", summed, (step([11], [6]), step([], [8]), step([21], [], restart=True)), TWO, "complete"
    ),
]
