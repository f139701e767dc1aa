"""Aggregations without event time, and the state they keep."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conformance import Case, step

PAIRS = ("k int, v int",)
WORDS = ("k int, vs array<int>",)


def counted(df: DataFrame) -> DataFrame:
    return df.groupBy("v").count()


def both(df: DataFrame) -> DataFrame:
    """Every value and the next."""
    return counted(df.select(F.explode(F.array("v", F.col("v") + 1)).alias("v")))


def numbers(df: DataFrame) -> DataFrame:
    return df.groupBy("k").agg(F.sum("v"), F.min("v"), F.max("v"), F.avg("v"), F.count("v"))


def beside(plain: DataFrame, grouped: DataFrame) -> DataFrame:
    """Rows as they are, beside counts of another stream."""
    return plain.select("v", (F.col("v") + 1).cast("long").alias("count")).union(counted(grouped))


def with_parities(df: DataFrame) -> DataFrame:
    """Joined with an aggregate of a table, which is no state of the stream's."""
    static = df.sparkSession.range(1, 8).selectExpr("id % 2 as v").groupBy("v").count()
    return df.join(static, "v").select(df.v, "count")


COUNTS = (step([5]), step([5, 7]), step([5, 7, 9], restart=True), step([4, 4, 4, 4]), step([]))
CASES: list[Case] = [
    Case("count, update", counted, COUNTS, mode="update", key=1),
    Case("count, complete", counted, COUNTS, mode="complete"),
    Case(
        "sorted by count",
        lambda df: counted(df).orderBy(F.desc("count"), "v"),
        (step([6]), step([2, 6]), step([6, 2, 1], restart=True), step([9, 9, 9, 9])),
        mode="complete",
        sorted=True,
    ),
    Case(
        "sorted and limited",
        lambda df: counted(df).orderBy(F.desc("count"), "v").limit(2),
        (step([6]), step([2, 6, 3]), step([3, 3], restart=True), step([8])),
        mode="complete",
        sorted=True,
    ),
    Case(
        "sizes of sets",
        lambda df: df.select("k", F.explode("vs").alias("v")).groupBy("k").agg(F.size(F.collect_set("v"))),
        (step([(1, [3, 4])]), step([(1, [4, 5]), (2, [])]), step([(2, [7]), (1, None)])),
        WORDS,
        "update",
        1,
    ),
    Case("a row makes two groups, update", both, (step([1]), step([2, 3])), mode="update", key=1),
    Case("a row makes two groups, complete", both, (step([1]), step([2, 3])), mode="complete"),
    Case(
        "two keys, one computed",
        lambda df: df.groupBy("v", (F.col("v") * 2).alias("w")).count(),
        (step([1, 2]), step([2, 1]), step([2])),
        mode="update",
        key=2,
    ),
    Case(
        "a computed key",
        lambda df: df.groupBy((F.col("v") % 3).alias("k")).agg(F.count("*"), F.sum("v")),
        (step([1, 2, 3, 4]), step([5, 6, 7], restart=True)),
        mode="complete",
    ),
    Case(
        "numbers", numbers, (step([(1, 1), (2, 4), (1, 3)]), step([(1, None), (2, 6)], restart=True)), PAIRS, "complete"
    ),
    Case(
        "null keys and values", numbers, (step([(None, 1), (1, None)]), step([(None, 2), (1, 5)])), PAIRS, "update", 1
    ),
    Case(
        "percentiles",
        lambda df: df.groupBy("k").agg(F.expr("percentile_approx(v, 0.5)"), F.expr("percentile_approx(v, 0.9)")),
        (step([(0, 1), (0, 2), (0, 3)]), step([(0, 4), (1, 9)], restart=True)),
        PAIRS,
        "update",
        1,
    ),
    Case(
        "beside a stream without state",
        beside,
        (step([11, 12], [21, 22]), step([13], [22, 23], restart=True), step([], [21])),
        ("v int", "v int"),
        "update",
        1,
    ),
    Case("joined with an aggregate of a table", with_parities, (step([0, 1, 2, 3]), step([0, 1]))),
    Case(
        "one group for all",
        lambda df: df.groupBy().count(),
        (step([3]), step([]), step([3, 4], restart=True), step([])),
        mode="complete",
    ),
    Case(
        "one group for all, in one partition",
        lambda df: df.coalesce(1).groupBy().count(),
        (step([3]), step([]), step([3, 4]), step([])),
        mode="update",
        key=0,
    ),
    Case(
        "groups in one partition",
        lambda df: df.coalesce(1).groupBy(F.col("v") % 2).count(),
        (step([3]), step([2, 5, 4], restart=True), step([])),
        mode="complete",
    ),
    Case(
        "the last value",
        lambda df: df.agg(F.last("v")),
        (step([1, 2, 3]), step([4, 6, 5]), step([]), step([0], restart=True)),
        mode="complete",
    ),
    Case(
        "the first value",
        lambda df: df.agg(F.first("v")),
        (step([8, 2, 3]), step([4, 6, 5], restart=True), step([0])),
        mode="complete",
    ),
    Case(
        "many lists",
        lambda df: df.groupBy("v").agg(F.collect_list("v")),
        (step(list(range(130))), step([0, 129, 130], restart=True)),
        mode="update",
        key=1,
    ),
]
