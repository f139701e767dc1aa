"""Fixed expressions over random rows."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import check
from pyspark.sql import SparkSession

# No shrinking: every step of it would be a Spark job.
MODERATE = settings(max_examples=6, deadline=None, derandomize=True, database=None, phases=[Phase.generate])


def integers(bits: int) -> st.SearchStrategy[int | None]:
    top = 2 ** (bits - 1)
    return st.none() | st.integers(-top, top - 1) | st.integers(-10, 10)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal | None]:
    unscaled = st.integers(1 - 10**precision, 10**precision - 1) | st.integers(-1000, 1000)
    return st.none() | unscaled.map(lambda value: Decimal(f"{value}E-{scale}"))


def rows(*columns: st.SearchStrategy[Any]) -> st.SearchStrategy[Sequence[tuple[Any, ...]]]:
    return st.lists(st.tuples(*columns), min_size=1, max_size=60)


@MODERATE
@given(data=rows(integers(32), integers(32), integers(64), integers(8)))
def test_integers(spark: SparkSession, data: Sequence[tuple[Any, ...]]) -> None:
    exprs = ["a + b", "a - b", "a * b", "a div b", "a % b", "pmod(a, b)", "a / b", "-a", "abs(a)", "l * a", "l div b"]
    exprs += ["pmod(l, a)", "t * t", "pmod(t, 7Y)", "a < b", "greatest(a, b, l)", "a & b", "a << t", "l >>> t"]
    exprs += ["try_multiply(l, a)", "try_add(a, b)", "case when a > b then a else b end", "a in (b, 1, 2)"]
    check(spark, exprs, data, "a int, b int, l long, t byte", ansi=False)


@MODERATE
@given(data=rows(st.none() | st.floats(), st.none() | st.floats(), st.none() | st.floats(width=32)))
def test_floating_point(spark: SparkSession, data: Sequence[tuple[Any, ...]]) -> None:
    exprs = [
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "a % b",
        "pmod(a, b)",
        "-a",
        "abs(a)",
        "f * f",
        "f % float(3)",
        "a < b",
    ]
    exprs += [
        "a = b",
        "a <=> b",
        "a >= b",
        "greatest(a, b)",
        "least(b, a, f)",
        "nanvl(a, b)",
        "isnan(a)",
        "a in (b, 0)",
    ]
    check(spark, exprs, data, "a double, b double, f float", ansi=False)


@MODERATE
@given(data=rows(decimals(38, 18), decimals(38, 18), decimals(12, 4), decimals(20, 0)))
def test_decimals(spark: SparkSession, data: Sequence[tuple[Any, ...]]) -> None:
    exprs = [
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "c / c",
        "a / c",
        "c * d",
        "a * c",
        "d / a",
        "c + d",
        "d % c",
        "pmod(d, c)",
    ]
    exprs += ["d div c", "a < b", "greatest(c, d)", "c = d", "abs(c)", "-d", "c * c * c", "a + c * d"]
    check(spark, exprs, data, "a decimal(38,18), b decimal(38,18), c decimal(12,4), d decimal(20,0)", ansi=False)


@MODERATE
@given(data=rows(st.none() | st.text(max_size=4), st.none() | st.text(max_size=4), st.none() | st.binary(max_size=3)))
def test_texts(spark: SparkSession, data: Sequence[tuple[Any, ...]]) -> None:
    exprs = ["s = t", "s < t", "s >= t", "s <=> t", "greatest(s, t)", "least(s, t)", "s in (t, '', 'a')"]
    exprs += ["coalesce(s, t)", "if(s < t, s, t)", "b < X'80'", "b = X''", "nullif(s, t)"]
    check(spark, exprs, data, "s string, t string, b binary", ansi=False)
