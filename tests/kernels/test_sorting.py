"""Results in order, against Spark over the same rows."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from aggregation import SAMPLES, source_of, table_of
from lowered import answer_of, batch_of, stream_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import Limit, Order, Sort
from headway.errors import UnsupportedPlan
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.limit import FirstRows

_KINDS = ["bool", "byte", "long", "float", "double", "decimal_38_10", "string", "binary", "date", "timestamp", "window"]


def _rows(count: int = 90) -> pa.Table:
    rng = random.Random(5)
    columns = {kind: (SAMPLES[kind][0], rng.choices([*SAMPLES[kind][1], None], k=count)) for kind in _KINDS}
    return table_of({"n": (T.IntegerType(), rng.sample(range(count), count)), **columns})


def test_orders_are_sparks(spark: SparkSession) -> None:
    """Every type ascending and descending, with nulls first or last."""
    table = _rows()
    ways = [(kind, *way) for kind in _KINDS for way in (("asc", "last"), ("desc", "first"))]
    ways += [("string", "asc", "first"), ("double", "desc", "last")]
    sql = [
        f"row_number() over (order by `{kind}` {direction} nulls {nulls}, n) as `{kind} {direction} {nulls}`"
        for kind, direction, nulls in ways
    ]
    expected = batch_of(spark, table).selectExpr("n", *sql).toArrow()
    source = source_of((name, SAMPLES[name][0] if name in SAMPLES else T.IntegerType()) for name in table.column_names)
    for kind, direction, nulls in ways:
        by = Column(SAMPLES[kind][0], table.column_names.index(kind))
        orders = (Order(by, direction == "desc", nulls == "first"), Order(Column(T.IntegerType(), 0), False, True))
        chain = InterpretedChain(Chain(source, (Sort(source.schema, source, orders),)))
        rows, _ = chain.process(table.combine_chunks().to_batches()[0])
        assert rows is not None
        places = dict(zip(*(expected.column(c).to_pylist() for c in ("n", f"{kind} {direction} {nulls}")), strict=True))
        assert rows.column(0).to_pylist() == sorted(places, key=places.__getitem__), (kind, direction, nulls)


def test_several_orders_and_a_limit(spark: SparkSession, tmp_path: Path) -> None:
    table = _rows()

    def build(df: DataFrame) -> DataFrame:
        counts = df.groupBy("bool", "byte").agg(F.count("*").alias("rows"), F.max("n").alias("n"))
        return counts.orderBy(F.desc("rows"), F.col("byte") % 3, "n").limit(7)

    answer = answer_of(build(stream_of(spark, table, tmp_path)), table, 2)
    assert answer.to_pydict() == build(batch_of(spark, table)).toArrow().to_pydict()


def test_only_results_can_be_sorted(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, _rows(), tmp_path)
    with pytest.raises(UnsupportedPlan, match="Sort"):
        lower(stream.orderBy("n"))
    with pytest.raises(UnsupportedPlan, match="array<int>"):
        lower(stream.groupBy("bool").agg(F.collect_list("n").alias("list")).orderBy("list"))


def test_a_limit_counts_over_all_batches_and_restarts() -> None:
    batch = pa.record_batch({"n": list(range(4))})
    limit = Limit((), (), ((),), 6)
    kernel = FirstRows(limit)
    assert kernel.process(0, batch, None).rows == batch
    again = FirstRows(limit)
    again.restore(kernel.snapshot())
    assert again.process(0, batch, None).rows == batch.slice(0, 2)
    last = again.process(0, batch, None)
    assert last.rows is not None
    assert (last.rows.num_rows, last.updated) == (0, 0)
