"""Duplicates: what a key is, how long it is known, and what stands behind."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from watermark_cases import counted, timed

from conformance import Case, step

PAIRS = ("s string, n int",)
FLOATS = ("f float, n int",)
NAN, ZERO = float("nan"), -0.0


def by_name(df: DataFrame) -> DataFrame:
    return df.dropDuplicates(["s"])


def times(df: DataFrame) -> DataFrame:
    return timed(df).dropDuplicates().selectExpr("cast(ts as long)")


def by_float(df: DataFrame, key: str) -> DataFrame:
    return df.withColumn("key", F.expr(key)).dropDuplicates(["key"]).select("n")


def floats(name: str, key: str) -> Case:
    steps = (
        step([(NAN, 1), (0.0, 2)]),
        step([(NAN, 3), (ZERO, 4)], restart=True),
        step([(None, 5), (1.5, 6)]),
        step([(None, 7)]),
    )
    return Case(name, lambda df: by_float(df, key), steps, FLOATS)


def sums(df: DataFrame) -> DataFrame:
    return df.dropDuplicates().groupBy("s").agg(F.sum("n"))


def named_times(df: DataFrame) -> DataFrame:
    """Seconds and ids; the keys are in another order than the columns."""
    named = df.select(F.timestamp_seconds("n").alias("ts"), "s").withWatermark("ts", "1 second")
    return named.dropDuplicates(["s", "ts"]).select("s")


def within(df: DataFrame, delay: str) -> DataFrame:
    return timed(df, delay).dropDuplicatesWithinWatermark().selectExpr("cast(ts as long)")


def within_named(df: DataFrame, delay: str = "2 seconds") -> DataFrame:
    named = df.withColumn("ts", F.timestamp_seconds("n")).withWatermark("ts", delay)
    return named.dropDuplicatesWithinWatermark(["s"]).selectExpr("s", "cast(ts as long)")


SUMS = (step([("a", 1)]), step([("a", 1)]), step([("a", 2)]), step([("b", 1), ("a", 1)], restart=True))
CASES: list[Case] = [
    Case(
        "all columns",
        lambda df: df.dropDuplicates(),
        (step([1]), step([1]), step([2, None]), step([2, None, 3], restart=True)),
    ),
    Case(
        "some columns",
        by_name,
        (step([("a", 1)]), step([("a", 2)]), step([("b", 1), ("b", 2)]), step([("a", 3), ("c", 1)], restart=True)),
        PAIRS,
    ),
    Case("distinct", lambda df: df.distinct(), (step([("a", 1), ("a", 2)]), step([("a", 1), ("b", 2)])), PAIRS),
    Case(
        "one behind the other",
        lambda df: df.dropDuplicates().dropDuplicates(["s"]),
        (step([("a", 1)]), step([("a", 2)]), step([("b", 1)]), step([("b", 1), ("c", 2)], restart=True)),
        PAIRS,
    ),
    floats("floats", "f"),
    floats("floats in structs", "struct(f)"),
    floats("floats in arrays", "array(f)"),
    Case(
        "with a watermark",
        times,
        (step([20, 21, 22, 23, 21, 25, 20]), step([35, 22]), step([20, 25, 26]), step([26], restart=True), step([55])),
    ),
    Case(
        "then windows",
        lambda df: counted(timed(df).dropDuplicates()),
        (step([20, 21, 22, 23, 24, 25] * 3), step([35]), step([20, 26]), step([50], restart=True), step([90])),
    ),
    Case("then sums, update", sums, SUMS, PAIRS, "update", 1),
    Case("then sums, complete", sums, SUMS, PAIRS, "complete"),
    Case(
        "keys in another order",
        named_times,
        (
            step([("a", 1), ("a", 1), ("b", 1)]),
            step([("a", 1), ("c", 2), ("d", 2)]),
            step([("z", 1), ("e", 3), ("a", 2)]),
            step([("z", 1), ("f", 4)], restart=True),
        ),
        PAIRS,
    ),
    Case(
        "event time is no key",
        lambda df: (
            df.withColumn("ts", F.timestamp_seconds("n"))
            .withWatermark("ts", "1 second")
            .dropDuplicates(["s"])
            .select("s", "n")
        ),
        (step([("a", 1), ("a", 2), ("b", 2)]), step([("a", 90)]), step([("b", 3), ("c", 4)])),
        PAIRS,
    ),
    Case(
        "beside a stream without state",
        lambda plain, keyed: plain.union(keyed.dropDuplicates()),
        (step([11, 12], [21, 22]), step([11, 13], [22, 23], restart=True)),
        ("v int", "v int"),
    ),
    Case(
        "within the watermark",
        lambda df: within(df, "10 seconds"),
        (
            step([20, 21, 22, 20, 25]),
            step([24, 25, 27]),
            step([15, 17, 18]),
            step([45], restart=True),
            step([36, 35]),
            step([70]),
        ),
    ),
    Case(
        "within the watermark, by name",
        within_named,
        (
            step([("a", 17)]),
            step([("a", 16)]),
            step([("a", 13)]),
            step([("b", 22), ("c", 21)]),
            step([("a", 21)], restart=True),
            step([("d", 25), ("a", 22)]),
            step([("c", 24)]),
        ),
        PAIRS,
    ),
    Case(
        "within the watermark, without its time",
        lambda df: within_named(df, "10 seconds").select("s"),
        (step([("a", 1)]), step([("a", 2), ("b", 3)]), step([("a", 30)], restart=True), step([("a", 30), ("b", 31)])),
        PAIRS,
    ),
]
