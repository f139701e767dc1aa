"""Aggregations: keys, calls, and what is computed from them."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.graph import Aggregate, Project, Relation
from headway.dataflow.printing import describe, tree
from headway.errors import UnsupportedPlan
from headway.frontend import lower

SCHEMA = "k string, i int, l long, f float, d double, s decimal(10, 2), w decimal(37, 20), t timestamp"


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).json(str(tmp_path))


def aggregate_of(relation: Relation) -> Aggregate:
    while not isinstance(relation, Aggregate):
        relation = relation.inputs[0]
    return relation


def test_by_column(events: DataFrame) -> None:
    assert describe(lower(events.groupBy("k").count()).plan) == "Aggregate by [k] [count(*) AS count]"


def test_by_expression(events: DataFrame) -> None:
    counts = events.groupBy((F.col("l") % 10).alias("digit")).agg(F.max("i").alias("top"))
    assert [line.strip() for line in tree(lower(counts).plan).splitlines()][:2] == [
        "Aggregate by [_groupingexpression AS digit] [max(i) AS top]",
        "+- Project [i, Remainder(l, 10) AS _groupingexpression]",
    ]


def test_results_computed_from_aggregates_and_keys(events: DataFrame) -> None:
    share = events.groupBy("l").agg((F.sum("i") + F.count("*") + F.col("l") + F.sum("i")).alias("x"))
    root = lower(share).plan
    assert isinstance(root, Project)
    assert describe(root) == "Project [l, Add(Add(Add(sum, count), l), sum) AS x]"
    assert describe(root.input) == "Aggregate by [l] [sum(i) AS sum, count(*) AS count]"


def test_the_same_aggregate_twice_is_computed_once(events: DataFrame) -> None:
    twice = events.groupBy("k").agg(F.sum("i").alias("a"), F.sum("i").alias("b"))
    assert len(aggregate_of(lower(twice).plan).aggs) == 1
    assert [f.name for f in lower(twice).schema] == ["k", "a", "b"]


def test_keys_that_are_not_selected(spark: SparkSession, events: DataFrame) -> None:
    events.createOrReplaceTempView("keyed_events")
    root = lower(spark.sql("SELECT count(i) AS n FROM keyed_events GROUP BY k")).plan
    assert [describe(root), describe(root.inputs[0])] == ["Project [n]", "Aggregate by [k] [count(i) AS n]"]


def test_having(spark: SparkSession, events: DataFrame) -> None:
    events.createOrReplaceTempView("keyed_events")
    root = lower(spark.sql("SELECT k, sum(i) AS n FROM keyed_events GROUP BY k HAVING sum(i) > 3")).plan
    assert describe(root) == "Filter And(IsNotNull(n), GreaterThan(n, 3))"


def test_no_keys(events: DataFrame) -> None:
    root = lower(events.agg(F.count("*").alias("n"))).plan
    assert isinstance(root, Aggregate)
    assert (root.keys, root.event_key) == ((), None)


def test_filter_clause(events: DataFrame) -> None:
    root = lower(events.groupBy("k").agg(F.expr("count(i) FILTER (WHERE l > 1) AS n"))).plan
    assert describe(root) == "Aggregate by [k] [count(i) where GreaterThan(l, 1) AS n]"


def test_an_event_time_key(events: DataFrame) -> None:
    counts = lower(events.withWatermark("t", "1 second").groupBy("k", "t").count())
    assert aggregate_of(counts.plan).event_key == 1
    assert [f.event_time for f in counts.schema] == [False, True, False]


def test_result_types_are_sparks(events: DataFrame) -> None:
    columns = ("i", "l", "f", "d", "s", "w")
    df = events.groupBy("k").agg(
        *(f(c).alias(f"{f.__name__}_{c}") for c in columns for f in (F.sum, F.avg, F.min, F.max, F.count))
    )
    assert [f.type for f in lower(df).plan.schema] == [f.dataType for f in df.schema.fields]


@pytest.mark.parametrize("ansi", [True, False])
def test_ansi_is_the_sessions(spark: SparkSession, events: DataFrame, ansi: bool) -> None:
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        root = aggregate_of(lower(events.groupBy("k").agg(F.sum("i"), F.avg("s"))).plan)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert [agg.options for agg in root.aggs] == [(("ansi", ansi),)] * 2


def test_approx_count_distinct_carries_sparks_tables(events: DataFrame) -> None:
    root = aggregate_of(lower(events.groupBy("k").agg(F.approx_count_distinct("l"))).plan)
    (call,) = root.aggs
    options = dict(call.options)
    assert (call.function, call.type, options["p"]) == ("approx_count_distinct", T.LongType(), 9)
    assert len(options["thresholds"]) == 15
    assert len(options["raw"]) == len(options["bias"]) > 100
    assert options["thresholds"][9 - 4] == 400.0


def test_the_precision_follows_the_deviation(events: DataFrame) -> None:
    root = aggregate_of(lower(events.groupBy("k").agg(F.approx_count_distinct("l", 0.01))).plan)
    assert dict(root.aggs[0].options)["p"] == 14


@pytest.mark.parametrize(
    ("aggregate", "named"),
    [
        ("count(DISTINCT i)", r"count\(distinct"),
        ("histogram_numeric(d, 3)", "HistogramNumeric"),
        ("max_by(i, array(i))", "MaxBy"),
        ("sum(interval '1' day * i)", "MultiplyDTInterval|Sum|interval"),
    ],
)
def test_what_cannot_be_aggregated_is_named(events: DataFrame, aggregate: str, named: str) -> None:
    with pytest.raises(UnsupportedPlan, match=named):
        lower(events.groupBy("k").agg(F.expr(aggregate)))
