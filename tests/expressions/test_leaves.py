"""Attributes, literals and structs."""

from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

ROWS = [
    (1, 2.5, "a", Decimal("1.50"), b"\x00\xff"),
    (None, None, None, None, None),
    (-1, -0.0, "", Decimal("0.00"), b""),
]
SCHEMA = "i int, d double, s string, n decimal(10,2), b binary"


def test_columns(spark: SparkSession) -> None:
    check(spark, ["i", "d", "s", "n", "b"], ROWS, SCHEMA)


def test_literals(spark: SparkSession) -> None:
    exprs = [
        *("1", "1L", "1S", "1Y", "true", "false", "'abc'", "'a\nb\u20ac'", "''", "X'00FF'", "X''", "null"),
        *("double('NaN')", "double('-Infinity')", "-0.0D", "1e-10D", "float(1.1)", "float('Infinity')"),
        *("1.50BD", "12345678901234567890.123456789BD", "cast('1E-20' as decimal(30,25))", "1e20BD", "-1.5BD"),
        *("date'2020-01-01'", "date'1969-12-31'", "date'-0044-03-15'", "date'12020-01-01'"),
        *("timestamp'2020-01-01 00:00:00.123'", "timestamp'1900-01-01 00:00:00'", "timestamp'-0044-03-15 00:00:00'"),
        *("timestamp'2020-11-01 05:30:00Z'", "timestamp'2020-11-01 06:30:00Z'", "timestamp_ntz'2020-01-01 00:00:00'"),
        *("cast(null as int)", "cast(null as string)", "cast(null as decimal(5,1))", "cast(null as timestamp)"),
    ]
    check(spark, exprs, ROWS, SCHEMA)


def test_structs(spark: SparkSession) -> None:
    exprs = ["struct(i, s)", "named_struct('a', i, 'b', struct(d, n))", "struct(i, s).s", "struct(struct(d)).col1.d"]
    check(spark, exprs, ROWS, SCHEMA)


def test_fields_of_a_struct_column(spark: SparkSession) -> None:
    rows = [({"a": 1, "b": {"c": "x"}},), (None,), ({"a": None, "b": None},), ({"a": 2, "b": {"c": None}},)]
    check(spark, ["p.a", "p.b", "p.b.c", "p"], rows, "p struct<a: int, b: struct<c: string>>")
