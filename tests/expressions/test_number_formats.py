"""Numbers read and written by a format."""

from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

TEXTS = [
    *("0", "12", "012", "1,234", "12,345", "1234", ",123", "1,,2", "-12", "12-", "+12", "12+", "--1", "$12.5", "12.5$"),
    *("-$12.50", "<12>", "<12", "12>", "<$1,234.5>", "1.", ".5", "1.50", "1.505", "1..5", " 1 2 ", " -12", "- 12", ""),
    *(" ", "$", "abc", "1e3", "٣٤", "1\u00a02", "999999999999999999999999999999.99", "-", ".", "0.00", "1 .5"),
]
FORMATS = [
    *("999", "099", "000", "9,999", "0,000", "9G999D99", "999.99", "000.00", "999.", "S999", "999S"),
    *("MI999.9", "999MI"),
    *("$999.99", "S$9,999.99", "999PR", "$9,999.9PR", "9", "99999999999999999999999999999999.99"),
]


def test_what_is_a_number(spark: SparkSession) -> None:
    rows = [(text,) for text in [*TEXTS, None]]
    check(spark, [f"try_to_number(a, '{format_}')" for format_ in FORMATS], rows, "a string")


def test_what_is_none_is_an_error(spark: SparkSession) -> None:
    check(spark, ["to_number(a, '9,999.99')"], [("1,234.5",), (None,), ("7",)], "a string")
    check(spark, ["to_number(a, '9,999.99')"], [("12345",)], "a string")
    check(spark, ["to_number(a, '999')"], [("1a",)], "a string", ansi=False)


def test_a_fraction_alone(spark: SparkSession) -> None:
    """Of a text without a point Spark takes digits for whole ones, and has no room for them."""
    check(spark, ["try_to_number(a, '.99')"], [(".5",), (".50",), (".505",), ("0",), ("x",)], "a string")
    check(spark, ["try_to_number(a, '.99')"], [("12",)], "a string")


def test_numbers_written(spark: SparkSession) -> None:
    texts = ["0", "7", "-7", "12.5", "-12.5", "0.5", "-0.05", "999.99", "1234", "-1234.56", "12345678.9", "100", None]
    rows = [(None if text is None else Decimal(text), n - 6) for n, text in enumerate(texts)]
    more = ["0,009.90", "S0999", "9,999,999MI", "S$99.9", "99.", "990.009", ".99", "S.9", "9PR", "$9,990.00PR"]
    exprs = [f"to_char(m, '{format_}')" for format_ in FORMATS + more]
    check(spark, [*exprs, "to_varchar(n, 'S999')"], rows, "m decimal(12, 2), n int")
