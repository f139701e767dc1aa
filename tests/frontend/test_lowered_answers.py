"""Whole plans: the rows of a lowered dataflow are those that Spark computes from the same DataFrame as a batch."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from lowered_rows import rows_of, run
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.frontend import lower

SCHEMA = "k string, i int, l long, s decimal(10, 2), d double, t timestamp"
START = datetime(2024, 3, 10, 6, 59, 50, tzinfo=UTC)
ROWS = pa.table(
    {
        "k": pa.array([None if n % 11 == 0 else f"k{n % 3}" for n in range(60)]),
        "i": pa.array([None if n % 7 == 0 else n for n in range(60)], pa.int32()),
        "l": pa.array([None if n % 13 == 0 else n % 5 for n in range(60)], pa.int64()),
        "s": pa.array([Decimal(n * 731) / 100 for n in range(60)], pa.decimal128(10, 2)),
        "d": pa.array([None if n % 9 == 0 else n / 8 for n in range(60)]),
        "t": pa.array([START + timedelta(milliseconds=437 * n) for n in range(60)], pa.timestamp("us", "UTC")),
    }
)
Make = Callable[[DataFrame, DataFrame], DataFrame]
TESTS: dict[str, Make] = {
    "projection": lambda df, _: df.where("i % 3 = 0").select((F.col("l") + 1).alias("x"), "k"),
    "inner": lambda df, names: df.join(names, df.l == names.id),
    "left": lambda df, names: df.join(names, df.l == names.id, "left"),
    "table first": lambda df, names: names.join(df, df.l == names.id, "right"),
    "null-safe": lambda df, names: df.join(names, df.l.eqNullSafe(names.id)),
    "null-safe left": lambda df, names: df.join(names, df.l.eqNullSafe(names.id), "left"),
    "condition": lambda df, names: df.join(names, (df.l == names.id) & (df.i > names.id * 9), "left"),
    "cross": lambda df, names: df.crossJoin(names.select("name")),
    "table first, cross": lambda df, names: names.crossJoin(df.select("i", "k")),
    "no equality": lambda df, names: df.join(names, df.l < names.id).select("i", "l", "name"),
    "no equality, left": lambda df, names: df.join(names, (df.l > names.id) & (df.d < 3), "left"),
    "no equality, semi": lambda df, names: df.join(names, df.l > names.id, "left_semi"),
    "no equality, anti": lambda df, names: df.join(names, df.l > names.id, "left_anti"),
    "never": lambda df, names: df.join(names, F.lit(False), "left"),
    "not in": lambda df, names: df.join(names, (df.l == names.id) | (df.l == names.id).isNull(), "left_anti"),
    "not in what has no null": lambda df, names: df.join(
        names.where("id > 1"), (df.l == names.id) | (df.l == names.id).isNull(), "left_anti"
    ),
    "floating key": lambda df, names: df.join(names.withColumn("d", F.col("id") / 8), "d"),
    "explode a map": lambda df, _: df.select("k", F.explode(F.expr("map('a', i, 'b', l)"))).groupBy("key").count(),
    "posexplode outer": lambda df, _: df.selectExpr("i", "posexplode_outer(filter(array(i, l), x -> x > 2)) as (p, e)"),
    "inline": lambda df, _: df.selectExpr("k", "inline(array(struct(i, l), struct(1 as i, l + 1 as l)))"),
    "stack": lambda df, _: df.selectExpr("stack(2, k, i, 'x', null, 1)"),
    "json tuple": lambda df, _: df.selectExpr("k", "json_tuple(to_json(struct(i, k)), 'i', 'k')"),
    "union": lambda df, _: df.select("k", "i").union(df.where("i > 9").select(F.upper("k"), F.col("i") * 2)),
    "union of joins": lambda df, names: (j := df.join(names, df.l == names.id).select("name", "i")).union(j),
    "groups": lambda df, _: df.groupBy("k").agg(F.count("*"), F.sum("i"), F.avg("s"), F.min("t"), F.max("d")),
    "expression groups": lambda df, _: df.groupBy(F.col("l") % 2, "k").agg((F.sum("i") + F.count("i")).alias("x")),
    "decimals": lambda df, _: df.groupBy("k").agg(F.sum("s"), F.sum(F.col("s").cast("decimal(30,4)")), F.avg("s")),
    "distinct estimate": lambda df, _: df.groupBy("l").agg(F.approx_count_distinct("i"), F.count("i")),
    "filter clause": lambda df, _: df.groupBy("k").agg(F.expr("sum(i) FILTER (WHERE l > 1)")),
    "whole": lambda df, _: df.agg(F.count("*"), F.sum("d"), F.expr("max(i) - min(i)")),
    "tumbling": lambda df, _: df.groupBy(F.window("t", "10 seconds"), "k").agg(F.sum("i")),
    "sliding": lambda df, _: df.groupBy(F.window("t", "10 seconds", "4 seconds", "1 second")).count(),
    "window bounds": lambda df, _: df.groupBy(F.window("t", "5 seconds")).count().select("window.end", "count"),
    "window time": lambda df, _: (
        df.groupBy(F.window("t", "5 seconds")).count().select(F.window_time("window"), "count")
    ),
    "event time key": lambda df, _: df.groupBy("t").count(),
}


@pytest.mark.parametrize("name", TESTS)
def test_rows_are_sparks(spark: SparkSession, tmp_path: Path, name: str) -> None:
    stream = spark.readStream.schema(SCHEMA).json(str(tmp_path)).withWatermark("t", "1 second")
    names = spark.createDataFrame(
        [(1, "one"), (2, "two"), (2, "zwei"), (None, "none"), (9, "nine")], "id long, name string"
    )
    query = lower(TESTS[name](stream, names))
    batch = TESTS[name](spark.createDataFrame(ROWS, SCHEMA), names)
    assert rows_of(run(query.plan, ROWS)) == rows_of(batch.toArrow())
    assert [f.type for f in query.schema] == [f.dataType for f in batch.schema.fields]
