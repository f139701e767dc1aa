"""Arithmetic on integers and floating-point numbers, with and without ANSI."""

import pytest
from edges import DOUBLES, FLOATS, integer_edges, pairs
from oracle import check
from pyspark.sql import SparkSession

BINARY = ["a + b", "a - b", "a * b", "a / b", "a div b", "a % b", "pmod(a, b)"]
UNARY = ["-a", "+a", "abs(a)"]
TRY = ["try_add(a, b)", "try_subtract(a, b)", "try_multiply(a, b)", "try_divide(a, b)", "try_mod(a, b)"]
INTEGERS = [("byte", 8), ("short", 16), ("int", 32), ("long", 64)]


@pytest.mark.parametrize(("kind", "bits"), INTEGERS)
def test_integers_wrap_around(spark: SparkSession, kind: str, bits: int) -> None:
    check(spark, BINARY + UNARY + TRY, pairs(integer_edges(bits)), f"a {kind}, b {kind}", ansi=False)


@pytest.mark.parametrize(("kind", "bits"), INTEGERS)
def test_integers_that_fit(spark: SparkSession, kind: str, bits: int) -> None:
    small = pairs([None, 1, -1, 7, -7, 3, -3, 10])
    check(spark, BINARY + UNARY, small, f"a {kind}, b {kind}")
    check(spark, TRY, pairs(integer_edges(bits)), f"a {kind}, b {kind}")


@pytest.mark.parametrize(("kind", "bits"), INTEGERS)
def test_integers_overflow(spark: SparkSession, kind: str, bits: int) -> None:
    top = 2 ** (bits - 1) - 1
    check(spark, ["a + b"], [(1, 1), (top, 1)], f"a {kind}, b {kind}")
    check(spark, ["a - b", "a * b", "-a", "abs(a)", "a div b"], [(-top - 1, -1), (None, None)], f"a {kind}, b {kind}")
    check(spark, ["a - b", "a * b"], [(-top - 1, 2)], f"a {kind}, b {kind}")


def test_division_by_zero(spark: SparkSession) -> None:
    check(spark, ["a / b", "a div b", "a % b", "pmod(a, b)"], [(1, 1), (1, 0)], "a int, b int")
    check(spark, ["a / b", "a % b", "pmod(a, b)"], [(1.0, -0.0)], "a double, b double")
    check(spark, ["a / b", "a % b", "pmod(a, b)"], [(None, 0.0)], "a double, b double")


@pytest.mark.parametrize(("kind", "values"), [("double", DOUBLES), ("float", FLOATS)])
def test_floating_point(spark: SparkSession, kind: str, values: list[float]) -> None:
    exprs = ["a + b", "a - b", "a * b", "a / b", "a % b", "pmod(a, b)", *UNARY, "try_add(a, b)", "try_divide(a, b)"]
    check(spark, exprs, pairs(values), f"a {kind}, b {kind}", ansi=False)
    check(spark, exprs, pairs(values, [v for v in values if v != 0]), f"a {kind}, b {kind}")


def test_nothing(spark: SparkSession) -> None:
    check(spark, BINARY + UNARY + TRY, [], "a int, b int")
    check(spark, BINARY + UNARY + TRY, [(None, None)], "a long, b long")


def test_expressions_over_columns_and_constants(spark: SparkSession) -> None:
    exprs = [
        "a + 1",
        "2 * a - b",
        "(a + b) * (a - b)",
        "a % 3 = 0",
        "a / 2",
        "-(a + b)",
        "a * 1.5",
        "a + 1L",
        "a div 2 + b",
    ]
    check(spark, exprs, [(1, 2), (None, 1), (-7, 3), (100, None)], "a int, b int")
