"""Joins with a static table, against Spark's."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from aggregation import SAMPLES, comparable, source_of, table_of, view
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Expr
from headway.dataflow.graph import StaticJoin, StaticTable
from headway.dataflow.types import Field
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain

I = T.IntegerType()  # noqa: E741
Columns = dict[str, tuple[T.DataType, list[Any]]]


def _joined(
    stream: Columns, table: Columns, keys: list[tuple[int, int]], how: str, condition: Expr | None = None
) -> pa.Table:
    source = source_of((name, kind) for name, (kind, _) in stream.items())
    kinds = [kind for kind, _ in table.values()]
    join = StaticJoin(
        source.schema + tuple(Field(name, kind) for name, (kind, _) in table.items()),
        source,
        StaticTable("t", table_of(table)),
        tuple(Column(source.schema[mine].type, mine) for mine, _ in keys),
        tuple(Column(kinds[theirs], theirs) for _, theirs in keys),
        how,
        condition,
    )
    kernel = InterpretedChain(Chain(source, (join,)))
    rows = table_of(stream).combine_chunks().to_batches()[0]
    cuts = [(0, 1), (1, 1), (2, rows.num_rows)]
    batches = [kernel.process(rows.slice(at, size))[0] for at, size in cuts]
    found = [batch for batch in batches if batch is not None]
    return pa.Table.from_batches(found, found[0].schema)


@pytest.mark.parametrize("kind", SAMPLES)
def test_keys_of_every_type(spark: SparkSession, kind: str) -> None:
    spark_type, values = SAMPLES[kind]
    rng = random.Random(kind)
    stream = {"k": (spark_type, rng.choices([*values, None], k=30)), "a": (I, list(range(30)))}
    table = {"j": (spark_type, rng.choices([*values[1:], None], k=8)), "b": (I, list(range(8)))}
    view(spark, table_of(stream), "s")
    view(spark, table_of(table), "t")
    expected = comparable(spark.sql("select * from s left join t on k = j").toArrow())
    assert comparable(_joined(stream, table, [(0, 0)], "left")) == expected
    for how in ("semi", "anti"):
        kept = spark.sql(f"select s.* from s left {how} join t on k = j").toArrow()
        assert comparable(_joined(stream, table, [(0, 0)], how).select([0, 1])) == comparable(kept)
    inner = _joined(stream, table, [(0, 0)], "inner")
    assert comparable(inner) == comparable(spark.sql("select * from s join t on k = j").toArrow())
    assert inner.column(1).to_pylist() == sorted(inner.column(1).to_pylist())


@pytest.mark.parametrize("how", ["inner", "left"])
def test_several_keys_and_a_condition(spark: SparkSession, how: str) -> None:
    rng = random.Random(3)
    doubles = [0.0, -0.0, math.nan, 1.5, None]
    stream = {
        "k": (T.DoubleType(), rng.choices(doubles, k=60)),
        "m": (T.StringType(), rng.choices(["a", "b", "", None], k=60)),
    }
    table = {
        "n": (T.StringType(), rng.choices(["a", "b", "", None], k=25)),
        "j": (T.DoubleType(), rng.choices(doubles, k=25)),
        "c": (T.BooleanType(), rng.choices([True, False, None], k=25)),
    }
    view(spark, table_of(stream), "s")
    view(spark, table_of(table), "t")
    sql = f"select * from s {how} join t on k = j and m = n and c"
    ours = _joined(stream, table, [(0, 1), (1, 0)], how, Column(T.BooleanType(), 4))
    assert comparable(ours) == comparable(spark.sql(sql).toArrow())


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_tables_of_any_size(rows: int) -> None:
    stream = {"k": (T.LongType(), [1, -5, 4999, None, 7])}
    table = {"j": (T.LongType(), list(range(rows))), "b": (T.DecimalType(10, 0), [Decimal(i) for i in range(rows)])}
    joined = _joined(stream, table, [(0, 0)], "left")
    expected = [(k, k, k) if k is not None and 0 <= k < rows else (k, None, None) for k in [1, -5, 4999, None, 7]]
    assert list(zip(*(column.to_pylist() for column in joined.columns), strict=True)) == expected


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize("kind", [T.ByteType(), T.LongType()])
def test_unique_integers_that_lie_close_together(spark: SparkSession, kind: T.DataType, how: str) -> None:
    edge = 127 if isinstance(kind, T.ByteType) else 2**63 - 1
    found = [edge, edge - 5, None, edge - 1, edge - 6, -edge - 1, 0, edge - 5, edge - 2]
    stream = {"k": (kind, found), "a": (I, list(range(len(found))))}
    table = {"j": (kind, [edge - 1, None, edge - 5, edge, edge - 3]), "b": (I, list(range(5)))}
    view(spark, table_of(stream), "s")
    view(spark, table_of(table), "t")
    columns = [0, 1] if how in ("semi", "anti") else [0, 1, 2, 3]
    kept = spark.sql(f"select * from s {'left ' if how in ('semi', 'anti') else ''}{how} join t on k = j").toArrow()
    assert comparable(_joined(stream, table, [(0, 0)], how).select(columns)) == comparable(kept)
