"""Compiled expressions within others: branches that are not taken, arguments after a null, structs; and that none of
the expressions that kernels take has been left out of these tests."""

from __future__ import annotations

import pytest
from compiled import check_compiled, lowered_exprs
from edges import DOUBLES, integer_edges
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from test_compiled_numbers import exprs as of_numbers
from test_compiled_times import EXPRS as OF_TIMES
from test_compiled_times import ZONED
from test_random_rows import integers

from generated_rows import generated
from headway.dataflow.expr import Call, Expr
from headway.kernels.compiled.emitter import _COMPILES

SCHEMA = "a bigint, b bigint, i int, p boolean, d double, f float, t timestamp"
NESTED = [
    "b <> 0 and a div b > 0",
    "a div b > 0 and b <> 0",
    "b = 0 or a % b > 0",
    "p and a div b > 0",
    "p or a div b > 0",
    "not (p and a % b = 1)",
    "case when b = 0 then -1 else a % b end",
    "case when p then a div b when a > 5 then b div a end",
    "case when a div b = 1 then 1 when p then i else a + b end",
    "coalesce(a, 1 div b)",
    "coalesce(a div b, b div a, 0)",
    "if(p, a * a, a - b)",
    "if(a div b > 0, null, i)",
    "a in (b, 1 div b, 7)",
    "a in (b, null, i)",
    "a <=> 1 div b",
    "greatest(a, 1 div b, i)",
    "least(d, f, a)",
    "i + 1 % b",
    "1 % b + i",
    "(a + b) * (a + b)",
    "(a + b) div (a + b)",
    "if(a div b = 1, null, a div b)",
    "xxhash64(a, 1 div b, d, f, p, t, i)",
    "cast(a + b as int) + i",
    "isnull(a div b)",
    "a >= b and a <= 10 div b",
    "struct(a, d, f, p, t, i)",
    "struct(b, a > i)",
    "nanvl(d, 1 / b)",
    "d / 0",
    "a % -1",
    "d in (2.5D, double('nan'), 0D)",
]
# These come with whole plans; see the tests of compiled queries.
_IN_PLANS = {"AtLeastNNonNulls", "GetStructField", "PreciseTimestampConversion", "TimeWindow"}


def _rows() -> list[tuple[object, ...]]:
    longs, doubles = integer_edges(64), DOUBLES
    picked = [
        (a, b, (None, 0, 2**31 - 1, -1)[n % 4], (None, True, False)[m % 3], doubles[(n + m) % len(doubles)], 0.5, n)
        for n, a in enumerate(longs)
        for m, b in enumerate(longs)
    ]
    real = st.none() | st.floats()
    row = st.tuples(
        integers(64),
        integers(64),
        integers(32),
        st.none() | st.booleans(),
        real,
        st.none() | st.floats(width=32),
        integers(64),
    )
    return picked + generated(row)


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no ansi"])
def test_nested(spark: SparkSession, ansi: bool) -> None:
    check_compiled(spark, NESTED, _rows(), SCHEMA, ansi=ansi)


def test_every_expression_is_tried(spark: SparkSession) -> None:
    tried: set[str] = set()
    for kind in ("int", "bigint", "double"):
        tried |= _functions(spark, of_numbers(kind, ansi=False), f"a {kind}, b {kind}")
    for kind, exprs in OF_TIMES.items():
        tried |= _functions(spark, exprs + ZONED.get(kind, []), f"a {kind}, b {kind}, i int")
    tried |= _functions(spark, NESTED, SCHEMA)
    assert set(_COMPILES) - tried == _IN_PLANS


def _functions(spark: SparkSession, exprs: list[str], schema: str) -> set[str]:
    found: set[str] = set()
    waiting: list[Expr] = list(lowered_exprs(spark, exprs, schema, ansi=False, zone="UTC"))
    while waiting:
        expr = waiting.pop()
        if isinstance(expr, Call):
            found.add(expr.function)
            waiting.extend(expr.args)
    return found
