"""Mathematical functions, rounding, hashes and number bases."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import check
from pyspark.sql import SparkSession

SCHEMA = "d double, e double, f float, i int, l bigint, n decimal(10,2), w decimal(38,18), s string"
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 3.5, -2.5, 1.005, 2.675, 1e-9, 123456.789, -0.4, 1e17, 1e300, 700.0, 0.1]
VALUES += [math.nan, math.inf, -math.inf]
ROWS = [
    (
        v,
        VALUES[-i],
        v if abs(v) < 1e30 else None,
        i - 5,
        (i - 9) * 10**15,
        Decimal(i * 1255 - 6000) / 100,
        Decimal(i) / 7,
        str(i * 37),
    )
    for i, v in enumerate(VALUES)
]
ROWS = [(*row[:6], row[6].quantize(Decimal("1e-18")), row[7]) for row in ROWS]
ROWS += [(None,) * 8, (9.5, 2.0, 0.125, 2**31 - 1, 2**63 - 1, Decimal("99999999.99"), Decimal("1e19"), "-7fff")]
ROWS += [(-9.5, 3.0, 0.375, -(2**31), -(2**63), Decimal("-99999999.99"), Decimal("-0.5"), "zz")]
CLOSE = [
    *(
        "exp(d)",
        "expm1(d)",
        "ln(d)",
        "log10(d)",
        "log2(d)",
        "log1p(d)",
        "log(d, e)",
        "pow(d, e)",
        "cbrt(d)",
        "hypot(d, e)",
    ),
    *("sin(e)", "cos(e)", "tan(e)", "cot(e)", "sec(e)", "csc(e)", "asin(d)", "acos(d)", "atan(d)", "atan2(d, e)"),
    *("sinh(d)", "cosh(d)", "tanh(d)", "asinh(e)", "acosh(e)", "atanh(d)"),
]
EXACT = [
    *(
        "sqrt(d)",
        "rint(d)",
        "signum(d)",
        "degrees(d)",
        "radians(d)",
        "factorial(i)",
        "xxhash64(d, i, s, n)",
        "hash(s, w, f, l)",
    ),
    *(
        "floor(n)",
        "ceil(n)",
        "floor(l)",
        "ceil(w)",
        "floor(f)",
        "ceil(i)",
        "floor(n, 1)",
        "ceil(n, -1)",
        "bin(l)",
        "hex(l)",
    ),
    *(
        "round(d)",
        "round(d, 2)",
        "round(d, -2)",
        "round(f, 1)",
        "round(n)",
        "round(n, 1)",
        "round(n, -2)",
        "round(w, 5)",
    ),
    *(
        "bround(d)",
        "bround(d, 2)",
        "bround(n)",
        "bround(n, 1)",
        "bround(f)",
        "bround(w, 3)",
        "round(d, 20)",
        "round(n, 5)",
    ),
    *("conv(s, 16, 10)", "conv(s, 36, -2)", "conv(s, 10, 36)", "conv(s, 1, 10)", "conv(s, i, 10)", "round(i, 2)"),
]
OVERFLOWING = [
    "floor(d)",
    "ceil(d)",
    "round(i, -1)",
    "round(l, -18)",
    "bround(i, -9)",
    "round(l, -19)",
    "round(i, -25)",
]


def test_transcendental(spark: SparkSession) -> None:
    check(spark, CLOSE, ROWS, SCHEMA, ulps=4)


def test_exact(spark: SparkSession) -> None:
    check(spark, EXACT, ROWS, SCHEMA)


def test_without_ansi(spark: SparkSession) -> None:
    check(spark, [*OVERFLOWING, "conv(s, 36, 16)"], [*ROWS, (*ROWS[-1][:7], "z" * 30)], SCHEMA, ansi=False)


@pytest.mark.parametrize("expression", [*OVERFLOWING[:4], "conv(s, 36, 16)"])
def test_overflow(spark: SparkSession, expression: str) -> None:
    check(spark, [expression], [(1e300, 1.0, 1.0, 2**31 - 1, 2**63 - 1, None, None, "z" * 30)], SCHEMA)


FINITE = st.floats(-1e15, 1e15, allow_subnormal=False).map(lambda x: float(f"{x:.9g}"))
RANDOM = st.tuples(
    st.none() | FINITE,
    st.none() | FINITE,
    st.none() | st.integers(-(2**20), 2**20).map(lambda x: x / 64),
    st.none() | st.integers(-(10**9), 10**9),
    st.none() | st.integers(-(10**17), 10**17),
    st.none() | st.decimals(-(10**7), 10**7, places=2),
    st.none() | st.decimals(-(10**15), 10**15, places=18),
    st.none() | st.text("0123456789abcdefxyz-", max_size=10),
)


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(RANDOM, min_size=80, max_size=80))
def test_random_rows(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    check(spark, EXACT + OVERFLOWING[:5], rows, SCHEMA)
