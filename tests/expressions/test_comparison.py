"""Comparisons, in Spark's order of values."""

import pytest
from edges import BY_TYPE, decimal_edges, pairs
from oracle import check
from pyspark.sql import SparkSession

COMPARISONS = ["a = b", "a <=> b", "a < b", "a <= b", "a > b", "a >= b", "a != b", "greatest(a, b)", "least(a, b)"]
OTHERS = ["greatest(a, b, a)", "least(b, a, b)", "a between b and a", "nullif(a, b)", "a is distinct from b"]


@pytest.mark.parametrize("kind", [*BY_TYPE, "decimal(5,2)", "decimal(38,10)"])
def test_pairs(spark: SparkSession, kind: str) -> None:
    values = BY_TYPE.get(kind) or decimal_edges(*map(int, kind[8:-1].split(",")))
    check(spark, COMPARISONS + OTHERS, pairs(values), f"a {kind}, b {kind}")


def test_nothing(spark: SparkSession) -> None:
    check(spark, COMPARISONS, [], "a int, b int")
    check(spark, COMPARISONS, [], "a double, b double")


def test_structs(spark: SparkSession) -> None:
    values = [None, {"x": 1, "y": 2.0}, {"x": None, "y": float("nan")}, {"x": 1, "y": -0.0}, {"x": 1, "y": 0.0}]
    kind = "struct<x: int, y: double>"
    check(spark, ["a = b", "a <=> b", "a != b", "struct(a) = struct(b)"], pairs(values), f"a {kind}, b {kind}")


def test_mixed_types(spark: SparkSession) -> None:
    rows = [(1, 1.0, "1", None), (None, 2.5, "x", None), (3, float("nan"), None, None)]
    check(
        spark,
        ["i < d", "i = d", "d > 2", "i is null and d is null", "n = 1", "n <=> i"],
        rows,
        "i int, d double, s string, n int",
    )
