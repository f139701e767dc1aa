"""Whole plans: the rows of a lowered dataflow are those that Spark computes from the same DataFrame as a batch."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.dataflow.graph import Aggregate, Relation, Source, Union
from headway.dataflow.types import arrow_schema
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge

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
    "floating key": lambda df, names: df.join(names.withColumn("d", F.col("id") / 8), "d"),
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
    assert rows_of(run(query.plan)) == rows_of(batch.toArrow())
    assert [f.type for f in query.schema] == [f.dataType for f in batch.schema.fields]


def run(relation: Relation) -> pa.Table:
    """All rows of `relation`, by the interpreted kernels, in batches that cut through groups."""
    if isinstance(relation, Source):
        return ROWS.cast(arrow_schema(relation.schema))
    if isinstance(relation, Union):
        return pa.concat_tables([run(b).rename_columns([f.name for f in relation.schema]) for b in relation.branches])
    below = run(relation.inputs[0])
    if not isinstance(relation, Aggregate):
        kernel = InterpretedChain(Chain(relation.inputs[0], (relation,)))
        return _table(relation, [kernel.process(batch)[0] for batch in below.to_batches(max_chunksize=17)])
    partial, merge = InterpretedChain(Chain(relation.input, (), relation)), Merge(relation)
    for batch in below.to_batches(max_chunksize=17):
        partial.process(batch)
        merge.merge(partial.flush(None), None)
    return _table(relation, [merge.emit("complete", None)])


def _table(relation: Relation, batches: list[pa.RecordBatch | None]) -> pa.Table:
    return pa.Table.from_batches([b for b in batches if b is not None], arrow_schema(relation.schema))


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    columns = [_plain(column.combine_chunks()) for column in table.columns]
    return Counter(zip(*columns, strict=True))


def _plain(column: pa.Array) -> list[Any]:
    """Comparable values; instants are instants in whichever zone they are shown, sums of doubles to twelve digits."""
    if pa.types.is_struct(column.type):
        return list(zip(*(_plain(child) for child in column.flatten()), strict=True))
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    return [f"{value:.12g}" if isinstance(value, float) else value for value in column.to_pylist()]
