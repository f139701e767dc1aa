"""Arithmetic on decimals of any precision, rounded as Spark rounds."""

from decimal import Decimal

import pytest
from edges import decimal_edges, pairs
from oracle import check
from pyspark.sql import SparkSession

BINARY = ["a + b", "a - b", "a * b", "a / b", "a div b", "a % b", "pmod(a, b)", "try_add(a, b)", "try_multiply(a, b)"]
TYPES = [(5, 2), (18, 6), (20, 0), (38, 10), (38, 18), (38, 37), (38, 0), (3, 3)]


@pytest.mark.parametrize("left", TYPES)
def test_pairs_of_types(spark: SparkSession, left: tuple[int, int]) -> None:
    rows, columns, exprs = [], [], []
    edges = [decimal_edges(p, s) for p, s in TYPES]
    for i, (p, s) in enumerate(TYPES):
        columns.append(f"b{i} decimal({p},{s})")
        exprs += [expr.replace("b", f"b{i}") if "try" not in expr else expr.replace(", b", f", b{i}") for expr in _safe(left, (p, s))]
    for a in decimal_edges(*left):
        rows += [(a, *(values[i % len(values)] for values in edges)) for i in range(max(map(len, edges)))]
    check(spark, exprs, rows, f"a decimal({left[0]},{left[1]}), {', '.join(columns)}", ansi=False)


def _safe(left: tuple[int, int], right: tuple[int, int]) -> list[str]:
    """Without remainders whose quotients may have too many digits, which fail in every mode."""
    digits = left[0] - left[1] + right[1]
    return [e for e in BINARY if digits <= 38 or ("%" not in e and "mod" not in e and "div" not in e)]


def test_signs(spark: SparkSession) -> None:
    rows = [(v,) for v in decimal_edges(38, 10)[:-2]] + [(Decimal("-1234567890123456789012345678.9012345678"),)]
    check(spark, ["-a", "abs(a)", "+a"], rows, "a decimal(38,10)")
    check(spark, ["-a", "abs(a)"], [(Decimal("9" * 38),), (Decimal("-" + "9" * 38),)], "a decimal(38,0)")
    check(spark, ["-a", "abs(a)"], [(Decimal("-12345678901234567890123456789012345678"),)], "a decimal(38,0)")


def test_rounding(spark: SparkSession) -> None:
    rows = [(Decimal(a), Decimal(b)) for a in ("1", "2", "-1", "-2", "5", "0.5") for b in ("3", "-3", "6", "7", "1.5")]
    check(spark, BINARY, rows, "a decimal(38,10), b decimal(38,10)")
    check(spark, BINARY, rows, "a decimal(5,2), b decimal(5,2)")


def test_overflow(spark: SparkSession) -> None:
    rows = [(Decimal("9" * 38), Decimal("9" * 38))]
    check(spark, ["a + b", "-a - b", "a * b", "a / cast(0.01 as decimal(3,2))"], rows, "a decimal(38,0), b decimal(38,0)")
    check(spark, ["a div cast(0.01 as decimal(3,2))", "a div 1", "a % cast(0.07 as decimal(3,2))"], rows, "a decimal(38,0), b decimal(38,0)")


def test_division_by_zero(spark: SparkSession) -> None:
    rows = [(Decimal("1.00"), Decimal("0.00"))]
    check(spark, ["a / b", "a % b", "a div b", "pmod(a, b)", "try_divide(a, b)"], rows, "a decimal(5,2), b decimal(5,2)")
    check(spark, ["a / b", "a % b"], [(None, Decimal("0.00"))], "a decimal(5,2), b decimal(5,2)")


def test_impossible_remainder(spark: SparkSession) -> None:
    rows = [(Decimal("9" * 38), Decimal("0.0000000000000000000000000000000000007"))]
    check(spark, ["a % b"], rows, "a decimal(38,0), b decimal(38,37)")


def test_mixed_with_integers(spark: SparkSession) -> None:
    rows = [(Decimal("1.50"), 3), (None, 1), (Decimal("-2.25"), -7)]
    check(spark, ["a + i", "a * i", "a / i", "i - a", "i % a", "a > i", "i / 3.0BD", "a + 1.5D"], rows, "a decimal(10,2), i int")
