"""Every aggregate function, lowered from what a user writes, against Spark over the same rows.

Doubles may differ by a billionth: kernels and Spark add the same numbers in another order and merge other parts, and a
skewness or kurtosis multiplies what that loses. Everything else is compared exactly.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aggregation import SAMPLES, UTC, Cluster, aggregate_of, source_of, table_of
from lowered import answer_of, batch_of, rows_of, stream_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Aggregate
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.expressions.registry import RowError
from headway.kernels.interpreted import InterpretedChain


@pytest.fixture(autouse=True)
def _no_generated_code(spark: SparkSession) -> Iterator[None]:
    """Spark compiles a program for every query, and for hundreds of moments that takes a minute."""
    settings = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, old in before.items():
        spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _rows(count: int = 400, seed: int = 3) -> pa.Table:
    rng = random.Random(seed)
    kinds = ["bool", "byte", "short", "int", "long", "float", "decimal_10_2", "string", "binary", "date", "timestamp"]
    columns = {name: (SAMPLES[name][0], rng.choices([*SAMPLES[name][1], None], k=count)) for name in kinds}
    # The last of these keys has one row, and the one before it nothing but nulls.
    columns["k"] = (T.IntegerType(), [rng.randrange(6) if n else 8 for n in range(count)])
    empty = columns["k"][1]
    columns["x"] = (T.DoubleType(), [None if k == 5 else rng.choice([1.5, -2.25, 1e3, 0.1]) for k in empty])
    columns["y"] = (T.DoubleType(), [None if rng.random() < 0.2 else rng.gauss(5, 2) for _ in range(count)])
    columns["same"] = (T.DoubleType(), [0.1 * k for k in empty])
    columns["w"] = (T.IntegerType(), [rng.choice([0, 1, 2, 3, None]) for _ in range(count)])
    columns["n"] = (T.LongType(), rng.sample(range(10 * count), count))
    return table_of(columns)


def _check(spark: SparkSession, tmp_path: Path, table: pa.Table, build: Callable[[DataFrame], DataFrame]) -> None:
    stream = build(stream_of(spark, table, tmp_path))
    expected = build(batch_of(spark, table)).toArrow()
    for seed in (1, 2):
        answer = answer_of(stream, table, seed)
        assert answer.column_names == expected.column_names
        assert _by_key(answer) == _by_key(expected, near=True)


def _by_key(table: pa.Table, near: bool = False) -> dict[str, dict[str, Any]]:
    """Results by key and name; `near`: doubles are equal to those that are about the same."""
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    names = table.column_names
    return {
        repr(row[0]): {name: _plain(value, name, near) for name, value in zip(names[1:], row[1:], strict=True)}
        for row in rows
    }


def _plain(value: Any, name: str, near: bool) -> Any:
    bag = name.startswith(("collect_list", "collect_set"))
    if isinstance(value, float):
        if bag:
            return repr(value)
        return pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True) if near else value
    if isinstance(value, list):
        items = [_plain(item, name, near) for item in value]
        return sorted(items, key=repr) if bag else items
    if isinstance(value, dict):
        return tuple(_plain(item, name, near) for item in value.values())
    return value.astimezone(UTC) if getattr(value, "tzinfo", None) else value


def _selected(*expressions: str, keys: str = "k") -> Callable[[DataFrame], DataFrame]:
    return lambda df: df.groupBy(keys).agg(*(F.expr(text).alias(text) for text in expressions))


_MOMENTS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis")
_PAIRS = (
    *("corr", "covar_samp", "covar_pop", "regr_count", "regr_avgx", "regr_avgy"),
    *("regr_sxx", "regr_syy", "regr_sxy", "regr_slope", "regr_intercept", "regr_r2"),
)


def test_moments(spark: SparkSession, tmp_path: Path) -> None:
    _check(spark, tmp_path, _rows(), _selected(*(f"{f}({c})" for f in _MOMENTS for c in ("x", "same", "decimal_10_2"))))


def test_moments_of_pairs(spark: SparkSession, tmp_path: Path) -> None:
    pairs = ["xy", ("x", "same"), ("same", "x")]
    _check(spark, tmp_path, _rows(), _selected(*(f"{f}({a}, {b})" for f in _PAIRS for a, b in pairs)))


def test_moments_of_infinity_and_nan(spark: SparkSession, tmp_path: Path) -> None:
    values = [(1, math.inf), (1, 2.0), (2, math.nan), (2, 1.0), (3, -math.inf), (4, math.nan), (5, 1e308), (5, 1e308)]
    table = table_of({"k": (T.IntegerType(), [k for k, _ in values]), "x": (T.DoubleType(), [x for _, x in values])})
    _check(spark, tmp_path, table, _selected(*(f"{f}(x)" for f in _MOMENTS), "covar_pop(x, k)", "regr_sxy(k, x)"))


def test_numbers_and_bits(spark: SparkSession, tmp_path: Path) -> None:
    bits = [f"{f}({c})" for f in ("bit_and", "bit_or", "bit_xor") for c in ("byte", "short", "int", "long")]
    flags = [f"{f}(bool)" for f in ("bool_and", "bool_or", "every", "any", "some", "count_if")]
    tries = [f"{f}({c})" for f in ("try_sum", "try_avg") for c in ("int", "long", "x", "decimal_10_2")]
    product = lambda df: df.groupBy("k").agg(F.product("x").alias("product(x)"), F.product("w").alias("product(w)"))  # noqa: E731
    _check(spark, tmp_path, _rows(), _selected(*bits, *flags, *tries))
    _check(spark, tmp_path, _rows(60), product)


def test_try_sum_is_null_on_overflow(spark: SparkSession, tmp_path: Path) -> None:
    large = Decimal(10) ** 37 * 9
    table = table_of(
        {
            "k": (T.IntegerType(), [1, 1, 2, 2, 3]),
            "v": (T.LongType(), [2**63 - 1, 1, -(2**63), -1, 2**63 - 1]),
            "m": (T.DecimalType(38, 0), [large, large, large, None, large]),
        }
    )
    _check(spark, tmp_path, table, _selected("try_sum(v)", "try_sum(m)", "try_avg(v)", "try_avg(m)"))


def test_lists_and_sets(spark: SparkSession, tmp_path: Path) -> None:
    kinds = ["bool", "int", "float", "decimal_10_2", "string", "binary", "date", "timestamp"]
    kinds += ["struct(int, float)", "array(int, w)"]
    every = [f"{f}({c})" for f in ("collect_list", "collect_set") for c in kinds]
    filtered = ["collect_list(int) filter (where bool)", "collect_set(struct(bool, string)) filter (where int > 0)"]
    joined = ["listagg(string, '-') within group (order by n)", "listagg(binary) within group (order by float desc, n)"]
    _check(spark, tmp_path, _rows(), _selected(*every, *filtered, *joined))


def test_sets_of_long_groups(spark: SparkSession, tmp_path: Path) -> None:
    kinds = ["int", "float", "x", "decimal_10_2", "string", "binary", "timestamp", "struct(int, float)", "n % 700"]
    _check(spark, tmp_path, _rows(1500), _selected(*(f"collect_set({c})" for c in kinds), keys="bool"))


def test_picks(spark: SparkSession, tmp_path: Path) -> None:
    by = [f"{f}({c}, n)" for f in ("max_by", "min_by") for c in ("string", "float", "timestamp", "struct(int, binary)")]
    kinds = ["bool", "date", "string", "float", "decimal_10_2", "struct(float, n)"]
    orders = [f"{f}({order}, {order})" for f in ("max_by", "min_by") for order in kinds if order != "float"]
    structs = [f"{f}(struct(float + 0f, string, int))" for f in ("min", "max")]
    pinned = [f"{f}({c})" for f in ("first", "last", "any_value") for c in ("k", "same", "struct(k, same)")]
    ignoring = [f"{f}(if(n % 3 = 0, same, null), true)" for f in ("first", "last")]
    filtered = ["first(k) filter (where n < 0)", "max_by(string, n) filter (where bool)"]
    _check(spark, tmp_path, _rows(), _selected(*by, *orders, *structs, *pinned, *ignoring, *filtered))


def test_several_picks(spark: SparkSession, tmp_path: Path) -> None:
    kinds = ("string", "float", "struct(int, binary)", "array(int)", "n")
    by = [f"{f}({c}, n, {k})" for f in ("max_by", "min_by") for c, k in zip(kinds, (1, 2, 3, 7, 10_000), strict=True)]
    orders = [f"{f}({o}, {o}, 4)" for f in ("max_by", "min_by") for o in ("date", "string", "x", "struct(float, n)")]
    others = ["max_by(n, n, 3) filter (where bool)", "min_by(string, if(n < 0, n, null), 2)"]
    _check(spark, tmp_path, _rows(), _selected(*by, *orders, *others))


def test_percentiles_and_modes(spark: SparkSession, tmp_path: Path) -> None:
    kinds = ("int", "long", "float", "x", "decimal_10_2")
    exact = [f"percentile({c}, array(0, 0.25, 0.5, 1))" for c in kinds] + [f"median({c})" for c in kinds]
    exact += ["percentile(y, 0.3, w)", "percentile_cont(0.4) within group (order by y desc)"]
    exact += [f"percentile_disc({p}) within group (order by y {d})" for p in (0, 0.33, 1) for d in ("asc", "desc")]
    near = [f"approx_percentile({c}, array(0, 0.25, 0.5, 1))" for c in (*kinds, "date", "timestamp")]
    near += ["percentile_approx(y, 0.9)", "percentile_approx(n, array(0.00001, 0.99999), 20000)"]
    modes = [f"mode() within group (order by {c} {d})" for c in ("int", "string", "float") for d in ("asc", "desc")]
    modes += ["mode(same)", "mode(array(same))", "mode(w % 2, true)"]
    _check(spark, tmp_path, _rows(), _selected(*exact, *near, *modes))


def test_a_frequency_must_not_be_negative(spark: SparkSession, tmp_path: Path) -> None:
    stream = stream_of(spark, _rows(20), tmp_path).groupBy("k").agg(F.expr("percentile(x, 0.5, -1)"))
    with pytest.raises(RowError, match="NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION"):
        answer_of(stream, _rows(20), 1)


def test_no_rows_at_all(spark: SparkSession, tmp_path: Path) -> None:
    functions = ["stddev(x)", "corr(x, y)", "collect_list(int)", "collect_set(string)", "first(int)", "max_by(x, y)"]
    functions += [
        "median(x)",
        "mode(int)",
        "approx_percentile(x, 0.5)",
        "bit_or(int)",
        "try_sum(int)",
        "listagg(string)",
        "max_by(int, x, 3)",
    ]
    table = _rows(30).slice(0, 0)
    stream = stream_of(spark, table, tmp_path).agg(*map(F.expr, functions))
    expected = batch_of(spark, table).agg(*map(F.expr, functions)).toArrow()
    assert answer_of(stream, table, 1).to_pylist() == expected.to_pylist()


def test_the_order_of_rows_holds_on_one_node(spark: SparkSession, tmp_path: Path) -> None:
    """Spark gives the first, the last and the list in the order of the rows of one partition; so does one chain."""
    table = _rows(200).select(["k", "n", "int", "string"])
    functions = [
        "first(n)",
        "last(n)",
        "first(int)",
        "last(int)",
        "first(int, true)",
        "last(string, true)",
        "max_by(n, k)",
    ]
    functions += ["collect_list(n)", "collect_list(string)", "listagg(string)", "first(int) filter (where n % 2 = 0)"]
    build = lambda df: df.groupBy("k").agg(*map(F.expr, functions))  # noqa: E731
    aggregate = lower(build(stream_of(spark, table, tmp_path))).plan
    while not isinstance(aggregate, Aggregate):
        aggregate = aggregate.inputs[0]
    cluster = Cluster(aggregate, seed=5)
    chain = InterpretedChain(Chain(aggregate.input, (), aggregate))
    below = rows_of(aggregate.input, table, 1)
    for batch in cluster.batches(below):
        chain.process(batch)
        if cluster.random.random() < 0.4:
            cluster.exchange(chain)
    cluster.exchange(chain)
    answer = cluster.emit("complete", None)
    expected = build(batch_of(spark, table).coalesce(1)).toArrow()
    assert _ordered(answer) == _ordered(expected)


def _ordered(table: pa.Table) -> list[Sequence[Any]]:
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True), key=repr)


def test_a_long_summary_is_shortened_and_stays_true() -> None:
    """Against the exact ranks: an accuracy of 50 allows ranks to be off by a fiftieth."""

    shares = (0.05, 0.3, 0.5, 0.77, 0.95)
    kind = T.DoubleType()
    call = AggCall(
        "approx_percentile", (Column(kind, 0),), T.ArrayType(kind), None, (("percentages", shares), ("accuracy", 50))
    )
    aggregate = aggregate_of(source_of([("v", kind)]), [], [call])
    rng = random.Random(9)
    values = sorted(rng.choice([rng.gauss(0, 1), float(rng.randrange(5))]) for _ in range(20_000))
    table = table_of({"v": (kind, rng.sample(values, len(values)))})
    cluster = Cluster(aggregate, 4)
    (answers,) = cluster.run(table).column(0).to_pylist()
    for share, answer in zip(shares, answers, strict=True):
        low, high = values.index(answer), len(values) - 1 - values[::-1].index(answer)
        rank = share * len(values)
        assert low - len(values) / 50 <= rank <= high + 1 + len(values) / 50
    (merge,) = cluster.merges
    (summary,) = merge.snapshot().column(0).to_pylist()
    assert len(summary) <= 200
