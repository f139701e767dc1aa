"""Random expressions over typed columns, at rows from the edges of the types."""

from decimal import Decimal
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracle import check
from pyspark.sql import SparkSession

from random_sql import trees

SCHEMA = "i int, j int, l long, d double, e double, m decimal(10,2), n decimal(30,8), s string, t string, p boolean"
NAN = float("nan")
ROWS: list[tuple[Any, ...]] = [
    (1, 2, 3, 1.5, -2.5, Decimal("1.25"), Decimal("7.00000001"), "a", "b", True),
    (0, -1, 2**62, NAN, 0.0, Decimal("-0.01"), None, "", None, False),
    (None, 5, None, None, 3.0, None, Decimal("-12345678901234567890.5"), None, "x", None),
    (2**31 - 1, -(2**31), -(2**63), float("inf"), -0.0, Decimal("99999999.99"), Decimal("0"), "\u00e9", "e", True),
    (-7, 3, -1, -0.0, float("-inf"), Decimal("0.00"), Decimal("3"), "b", "b", None),
]
# No shrinking: every step of it would be a Spark job.
MODERATE = settings(max_examples=4, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
LEAVES = {
    "integer": ["i", "j", "l", "1", "0", "-3", "1000000"],
    "double": ["d", "e", "0D", "2.5D"],
    "decimal": ["m", "n", "1.5BD", "0.001BD"],
    "string": ["s", "t", "'a'", "''"],
    "boolean": ["p", "i > 1", "s = 'a'", "true"],
}
ANY = st.sampled_from(sorted(LEAVES)).flatmap(lambda kind: trees(kind, 3, LEAVES))


@MODERATE
@given(exprs=st.lists(ANY, min_size=8, max_size=12))
def test_without_ansi(spark: SparkSession, exprs: list[str]) -> None:
    check(spark, exprs, ROWS, SCHEMA, ansi=False)


@MODERATE
@given(exprs=st.lists(ANY, min_size=3, max_size=5), row=st.sampled_from(ROWS))
def test_with_ansi(spark: SparkSession, exprs: list[str], row: tuple[Any, ...]) -> None:
    """One row, so that there is no question whose error comes first."""
    check(spark, exprs, [row], SCHEMA)
