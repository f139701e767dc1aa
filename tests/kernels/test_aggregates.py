"""Every aggregate of every type, against Spark over the same rows."""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aggregation import SAMPLES, Cluster, aggregate_of, call, comparable, hll_options, source_of, spark_rows, table_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Literal
from headway.dataflow.graph import AggCall
from headway.kernels.api import partial_schema
from headway.kernels.expressions.registry import RowError
from headway.kernels.merge import Merge

L = T.LongType()


def _sampled(kind: str, rows: int, seed: int) -> tuple[T.DataType, list[Any]]:
    spark_type, values = SAMPLES[kind]
    return spark_type, random.Random(seed).choices([*values, None], k=rows)


def _functions(kind: T.DataType) -> list[str]:
    numeric = isinstance(kind, T.NumericType)
    return ["count", "min", "max", "approx_count_distinct", *(["sum", "avg"] if numeric else [])]


@pytest.mark.parametrize("kind", SAMPLES)
def test_groups_by_keys_of_every_type(spark: SparkSession, kind: str) -> None:
    columns = {"k": _sampled(kind, 120, 1), "j": _sampled("int", 120, 2), "v": _sampled("long", 120, 3)}
    table = table_of(columns)
    source = source_of((name, t) for name, (t, _) in columns.items())
    calls = [call("count", None), call("sum", Column(L, 2)), call("max", Column(L, 2))]
    cluster = Cluster(aggregate_of(source, [0, 1], calls), seed=4)
    expected = spark_rows(spark, table, "select k, j, count(*), sum(v), max(v) from t group by k, j")
    assert comparable(cluster.run(table)) == expected
    assert sum(merge.groups for merge in cluster.merges) == expected.total()


@pytest.mark.parametrize("kind", [kind for kind in SAMPLES if kind != "window"])
def test_aggregates_of_every_type(spark: SparkSession, kind: str) -> None:
    columns = {"k": _sampled("bool", 150, 5), "v": _sampled(kind, 150, 6)}
    table = table_of(columns)
    value = columns["v"][0]
    source = source_of((name, t) for name, (t, _) in columns.items())
    names = _functions(value)
    options = hll_options(spark, 9)
    calls = [call(f, Column(value, 1), **(options if f.startswith("approx") else {})) for f in names]
    expected = spark_rows(spark, table, f"select k, {', '.join(f'{f}(v)' for f in names)} from t group by k")
    assert comparable(Cluster(aggregate_of(source, [0], calls), seed=7).run(table)) == expected


_numbers = st.one_of(st.none(), st.sampled_from([0, 1, -1, 2**40, -(2**40)]), st.integers(-(2**46), 2**46))
_rows = st.lists(
    st.tuples(
        st.one_of(st.none(), st.floats(width=64), st.sampled_from([-0.0, 0.0, math.nan])),
        st.one_of(st.none(), st.text(max_size=3)),
        _numbers,
        st.one_of(st.none(), st.decimals(-(10**10), 10**10, places=3)),
    ),
    max_size=60,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=_rows, seed=st.integers(0, 2**16))
def test_any_rows(spark: SparkSession, rows: list[tuple[Any, ...]], seed: int) -> None:
    kinds = {"d": T.DoubleType(), "s": T.StringType(), "n": L, "m": T.DecimalType(20, 3)}
    table = table_of({name: (t, [row[i] for row in rows]) for i, (name, t) in enumerate(kinds.items())})
    d, s, n, m = (Column(t, i) for i, t in enumerate(kinds.values()))
    calls = [call("count", s), call("sum", n), call("avg", n), call("avg", m), call("sum", m), call("min", s)]
    aggregate = aggregate_of(source_of(kinds.items()), [0, 1], calls)
    sql = "select d, s, count(s), sum(n), avg(n), avg(m), sum(m), min(s) from t group by d, s"
    assert comparable(Cluster(aggregate, seed).run(table)) == spark_rows(spark, table, sql)
    everything = aggregate_of(source_of(kinds.items()), [], [call("max", d), call("min", d), *calls])
    sql = "select max(d), min(d), count(s), sum(n), avg(n), avg(m), sum(m), min(s) from t"
    assert comparable(Cluster(everything, seed).run(table)) == spark_rows(spark, table, sql)


def test_filter_clause_and_count_of_several(spark: SparkSession) -> None:
    columns = {"k": _sampled("byte", 80, 1), "b": _sampled("bool", 80, 2), "v": _sampled("long", 80, 3)}
    table = table_of(columns)
    keep, value, key = Column(T.BooleanType(), 1), Column(L, 2), Column(T.ByteType(), 0)
    calls = [
        call("count", None, filter=keep),
        call("sum", value, filter=keep),
        AggCall("count", (key, value), L),
        AggCall("count", (key, value), L, keep),
        call("count", Literal(T.IntegerType(), None)),
    ]
    source = source_of((name, t) for name, (t, _) in columns.items())
    sql = """select k, count(*) filter (where b), sum(v) filter (where b), count(k, v),
             count(k, v) filter (where b), count(cast(null as int)) from t group by k"""
    assert comparable(Cluster(aggregate_of(source, [0], calls), 9).run(table)) == spark_rows(spark, table, sql)


@pytest.mark.parametrize(
    ("precision", "scale"), [(5, 2), (18, 0), (28, 28), (31, 30), (36, 33), (38, 37), (38, 38), (38, 20)]
)
def test_average_of_decimals_rounds_as_spark(spark: SparkSession, precision: int, scale: int) -> None:
    rng = random.Random(precision * scale)
    limit = 10 ** min(precision, 33)
    with localcontext(prec=80):
        values = [Decimal(rng.randrange(-limit, limit)).scaleb(-scale) for _ in range(300)]
    keys = [rng.choice([1, 2, 3]) * (i % 13) for i in range(300)]
    kind = T.DecimalType(precision, scale)
    table = table_of({"k": (T.IntegerType(), keys), "v": (kind, values)})
    calls = [call("avg", Column(kind, 1)), call("sum", Column(kind, 1))]
    aggregate = aggregate_of(source_of([("k", T.IntegerType()), ("v", kind)]), [0], calls)
    expected = spark_rows(spark, table, "select k, avg(v), sum(v) from t group by k")
    assert comparable(Cluster(aggregate, 3).run(table)) == expected


@pytest.mark.parametrize("ansi", [True, False])
def test_overflow_of_long_sum(spark: SparkSession, ansi: bool) -> None:
    table = table_of({"v": (L, [2**63 - 1, None, 5, 2**63 - 1])})
    aggregate = aggregate_of(source_of([("v", L)]), [], [call("sum", Column(L, 0), ansi=ansi)])
    if ansi:
        with pytest.raises(RowError, match="ARITHMETIC_OVERFLOW"):
            Cluster(aggregate, 1).run(table)
    else:
        assert Cluster(aggregate, 1).run(table).column(0).to_pylist() == [3]


def test_long_sum_at_the_limit_is_no_overflow() -> None:
    table = table_of({"v": (L, [2**63 - 1, -5, None, -6])})
    aggregate = aggregate_of(source_of([("v", L)]), [], [call("sum", Column(L, 0), ansi=True)])
    assert Cluster(aggregate, 1).run(table).column(0).to_pylist() == [2**63 - 12]


@pytest.mark.parametrize("function", ["sum", "avg"])
def test_overflow_of_decimal_is_null_for_good_or_an_error(function: str) -> None:
    kind = T.DecimalType(38, 0)
    table = table_of({"v": (kind, [Decimal("9" * 38), Decimal("9" * 38), Decimal(-1), Decimal("-" + "9" * 38)])})
    source = source_of([("v", kind)])
    lenient = aggregate_of(source, [], [call(function, Column(kind, 0), ansi=False)])
    node = Merge(lenient)
    for at in (slice(0, 2), slice(2, 4)):
        chain = Cluster(lenient, 1)
        chain.chains[0].process(table.slice(at.start, 2).to_batches()[0])
        partials = chain.chains[0].flush(None)
        assert partials is not None
        assert partials.schema == partial_schema(lenient)
        node.merge(partials, None)
        restored = Merge(lenient)
        restored.restore(node.snapshot())
        node = restored
        result = node.emit("update", None)
        assert result is not None
        assert result.column(0).to_pylist() == [None]
    strict = aggregate_of(source, [], [call(function, Column(kind, 0), ansi=True)])
    with pytest.raises(RowError, match=f"ARITHMETIC_OVERFLOW.*try_{function}"):
        Cluster(strict, 1).run(table)


@pytest.mark.parametrize("p", [4, 5, 7, 9, 12])
def test_distinct_estimates_are_spark_s(spark: SparkSession, p: int) -> None:
    rng = np.random.default_rng(p)
    sizes = [1, 3, 10, 30, 60, 100, 300, 1000, 3000, 10_000]
    keys = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(keys))
    values = rng.integers(0, 2**62, len(keys))
    table = pa.table({"k": keys[order].astype(np.int32), "v": values[order]})
    rsd = 1.106 / 2 ** (p / 2) * 1.0001
    aggregate = aggregate_of(
        source_of([("k", T.IntegerType()), ("v", L)]),
        [0],
        [call("approx_count_distinct", Column(L, 1), **hll_options(spark, p))],
    )
    expected = spark_rows(spark, table, f"select k, approx_count_distinct(v, {rsd}) from t group by k")
    assert comparable(Cluster(aggregate, p).run(table)) == expected
