"""Operations on bits."""

import pytest
from edges import integer_edges, pairs
from oracle import check
from pyspark.sql import SparkSession


@pytest.mark.parametrize(("kind", "bits"), [("byte", 8), ("short", 16), ("int", 32), ("long", 64)])
def test_bits(spark: SparkSession, kind: str, bits: int) -> None:
    check(
        spark,
        ["a & b", "a | b", "a ^ b", "~a", "bit_count(a)", "getbit(a, 3)"],
        pairs(integer_edges(bits)),
        f"a {kind}, b {kind}",
    )


@pytest.mark.parametrize(("kind", "bits"), [("int", 32), ("long", 64)])
def test_shifts(spark: SparkSession, kind: str, bits: int) -> None:
    rows = pairs(integer_edges(bits), [None, 0, 1, 31, 32, 33, 63, 64, -1, 2**31 - 1, -(2**31)])
    check(spark, ["a << n", "a >> n", "a >>> n", "shiftleft(a, 2)"], rows, f"a {kind}, n int")


def test_a_bit_that_is_not_there(spark: SparkSession) -> None:
    check(spark, ["getbit(a, b)"], [(-5, 0), (-5, 31), (None, 40), (5, None)], "a int, b int")
    check(spark, ["getbit(a, b)"], [(-5, 32)], "a int, b int")
    check(spark, ["getbit(a, b)", "bit_count(a > 0)"], [(-5, -1)], "a long, b int")
