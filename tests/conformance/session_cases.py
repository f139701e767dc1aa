"""Session windows: joining, ending, being late, gaps by row."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conformance import Case, step

LINES = ("line string, t long",)
TOLD = ["cast(w.start as long)", "cast(w.end as long)", "n"]
GAPS = (
    "case k when 'short' then '1 second' when 'none' then '0 seconds' when 'back' then '-5 seconds' "
    "when 'never' then null else '10 seconds' end"
)


def words(df: DataFrame) -> DataFrame:
    timed = df.withColumn("ts", F.timestamp_seconds("t")).withWatermark("ts", "30 seconds")
    return timed.select(F.explode(F.split("line", " ")).alias("k"), "ts", "t")


def sessions(df: DataFrame, gap: Column | str = "10 seconds") -> DataFrame:
    session = F.session_window("ts", gap).alias("w")
    return words(df).groupBy(session, "k").agg(F.count("*").alias("n")).selectExpr("k", *TOLD)


def by_gap(df: DataFrame) -> DataFrame:
    return sessions(df, F.expr(GAPS))


def nested(df: DataFrame) -> DataFrame:
    """The key is a struct in a struct, and beside it one of its parts."""
    keyed = words(df).withColumn("pair", F.struct(F.struct("k", F.upper("k").alias("u")).alias("inner"), "k"))
    counted = keyed.groupBy(F.session_window("ts", "10 seconds").alias("w"), "pair", "k").agg(F.count("*").alias("n"))
    return counted.selectExpr("pair.inner.u", "k", *TOLD)


def numbers(df: DataFrame) -> DataFrame:
    session = F.session_window("ts", "10 seconds").alias("w")
    aggs = [
        F.sum("t"),
        F.mean("t"),
        F.median("t"),
        F.stddev("t"),
        F.variance("t"),
        F.min("t"),
        F.count_if(F.col("t") > 41),
    ]
    named = [agg.cast("long").alias(f"a{i}") for i, agg in enumerate(aggs)]
    return words(df).groupBy(session, "k").agg(*named).selectExpr("k", *TOLD[:2], *(f"a{i}" for i in range(len(aggs))))


def in_windows(df: DataFrame) -> DataFrame:
    """Sessions, then windows of sessions."""
    ended = words(df).groupBy(F.session_window("ts", "10 seconds").alias("w"), "k").agg(F.count("*").alias("n"))
    longer = ended.groupBy(F.window(F.window_time("w"), "1 minute").alias("m")).agg(F.sum("n").alias("n"))
    return longer.selectExpr("cast(m.start as long)", "n")


STEPS = (
    step([("red green blue white", 40), ("green red black white", 41)]),
    step([("blue white", 25)]),
    step([("blue white", 0)]),
    step([("blue white", 31)]),
    step([("red pink blue", 61)], restart=True),
    step([("black white", 90)]),
    step([("red", 52), ("red", 62)]),
    step([("red", 200)], restart=True),
)
SHORT = (
    step([("short back blue white", 40), ("back short none never", 41)]),
    step([("blue white", 25), ("short", 43)]),
    step([("blue white", 0)]),
    step([("blue white", 31)], restart=True),
    step([("short pink blue", 61)]),
    step([("none white", 90)]),
    step([("pink", 200)]),
)
CASES: list[Case] = [
    Case("append", sessions, STEPS, LINES),
    Case("complete", sessions, STEPS[:2] + STEPS[3:], LINES, "complete"),
    Case("keys that are structs, append", nested, STEPS, LINES),
    Case("keys that are structs, complete", nested, STEPS[:2] + STEPS[3:5], LINES, "complete"),
    Case("gaps by row, append", by_gap, SHORT, LINES),
    Case(
        "gaps by row, complete",
        by_gap,
        SHORT[:5],
        LINES,
        "complete",
        own={
            2: {
                "rows": [
                    ["blue", 0, 10, 1],
                    ["blue", 25, 35, 1],
                    ["blue", 40, 50, 1],
                    ["short", 40, 42, 2],
                    ["short", 43, 44, 1],
                    ["white", 0, 10, 1],
                    ["white", 25, 35, 1],
                    ["white", 40, 50, 1],
                ],
                "kept": [8],
                "late": [0],
            },
            3: {
                "rows": [
                    ["blue", 0, 10, 1],
                    ["blue", 25, 50, 3],
                    ["short", 40, 42, 2],
                    ["short", 43, 44, 1],
                    ["white", 0, 10, 1],
                    ["white", 25, 50, 3],
                ],
                "kept": [6],
                "late": [0],
            },
            4: {
                "rows": [
                    ["blue", 0, 10, 1],
                    ["blue", 25, 50, 3],
                    ["blue", 61, 71, 1],
                    ["pink", 61, 71, 1],
                    ["short", 40, 42, 2],
                    ["short", 43, 44, 1],
                    ["short", 61, 62, 1],
                    ["white", 0, 10, 1],
                    ["white", 25, 50, 3],
                ],
                "kept": [9],
                "late": [0],
            },
        },
        why="Spark drops late events of sessions in complete mode too, where all sessions are kept",
    ),
    Case(
        "many functions",
        numbers,
        (step([("a", 41)]), step([("a", 42)]), step([("a", 40)], restart=True), step([("b", 100)]), step([("b", 101)])),
        LINES,
    ),
    Case(
        "a session ends where the next begins",
        sessions,
        (step([("a", 40)]), step([("a", 50)]), step([("a", 61)]), step([("a", 100)]), step([("b", 200)])),
        LINES,
    ),
    Case(
        "a late event beside an open session",
        sessions,
        (step([("a", 40), ("b", 80)]), step([("a", 39)]), step([("a", 45)]), step([("c", 85)]), step([("a", 46)])),
        LINES,
    ),
    Case(
        "windows of sessions",
        in_windows,
        (step([("a b", 10)]), step([("a", 15)]), step([("a", 100)]), step([("a", 170)]), step([("c", 400)])),
        LINES,
    ),
]
