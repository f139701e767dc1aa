"""What the optimizer finds to be empty: the streams in it are still read, and their watermarks still count."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.dataflow.graph import Relation, Watermark
from headway.frontend import lower

EXCLUDED = "spark.sql.optimizer.excludedRules"
CASES: dict[str, tuple[Callable[[DataFrame, DataFrame], DataFrame], int]] = {
    "a filter": (lambda a, b: a.where("false"), 1),
    "a filter that is folded": (lambda a, b: a.where("value > 3 AND 1 = 2"), 1),
    "a limit": (lambda a, b: a.limit(0), 1),
    "one of a union": (lambda a, b: a.limit(0).union(b), 2),
    "the other of a union": (lambda a, b: a.union(b.where("1 = 0")), 2),
    "both of a union": (lambda a, b: a.limit(0).union(b.limit(0)), 2),
    "groups": (lambda a, b: a.where("false").groupBy("value").count(), 1),
    "a side of a join": (
        lambda a, b: a.limit(0).join(b.select("value", F.col("timestamp").alias("t")), "value"),
        2,
    ),
}


def watermarks(relation: Relation) -> int:
    return isinstance(relation, Watermark) + sum(map(watermarks, relation.inputs))


@pytest.mark.parametrize("name", CASES)
def test_all_streams_are_there(spark: SparkSession, name: str) -> None:
    make, streams = CASES[name]
    one, other = (
        spark.readStream.format("rate").option("rowsPerSecond", n).load().withWatermark("timestamp", "1 second")
        for n in (1, 2)
    )
    query = lower(make(one, other))
    assert (len(query.sources), watermarks(query.plan)) == (streams, streams)
    assert spark.conf.get(EXCLUDED, None) is None


def test_rules_that_the_user_excludes_stay_excluded(spark: SparkSession) -> None:
    rule = "org.apache.spark.sql.catalyst.optimizer.LikeSimplification"
    spark.conf.set(EXCLUDED, rule)
    try:
        lower(spark.readStream.format("rate").load().limit(0))
        assert spark.conf.get(EXCLUDED) == rule
    finally:
        spark.conf.unset(EXCLUDED)
