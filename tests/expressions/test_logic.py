"""Three-valued logic and conditionals, which look at a row only where Spark does."""

from datetime import date, datetime
from decimal import Decimal
from itertools import product

from edges import BOOLEANS, DOUBLES, pairs
from oracle import check
from pyspark.sql import SparkSession

ROWS = [(1, 0, 1.5, "a"), (None, 2, float("nan"), None), (3, None, None, ""), (0, 0, -0.0, "b"), (-5, 3, 0.0, "a")]
SCHEMA = "i int, j int, d double, s string"


def test_truth_tables(spark: SparkSession) -> None:
    exprs = ["a and b", "a or b", "not a", "a and not b or c", "a is null", "a is not null", "if(a, b, c)"]
    exprs += ["case when a then b when c then a end", "a and null", "a or null", "coalesce(a, b, c)", "a = (b or c)"]
    check(spark, exprs, list(product(BOOLEANS, BOOLEANS, BOOLEANS)), "a boolean, b boolean, c boolean")


def test_tests_for_null_and_nan(spark: SparkSession) -> None:
    exprs = ["isnan(a)", "isnull(a)", "isnotnull(b)", "nanvl(a, b)", "nanvl(a, 1)", "nvl(a, b)", "ifnull(a, 0)"]
    exprs += ["nvl2(a, b, 1D)", "nullif(a, b)", "zeroifnull(a)", "nullifzero(a)", "coalesce(a, b, 1D)"]
    check(spark, exprs, pairs(DOUBLES), "a double, b double")


def test_conditionals(spark: SparkSession) -> None:
    exprs = [
        "case when i > 1 then 'x' when i < 0 then s end",
        "case i when 1 then 10 when 3 then j else i end",
        "case when d > 1 then 1.50 when i = 3 then null else 2.25 end",
        "if(i > 1, struct(i, s), null)",
        "case when i > 1 then struct(i, s) when j > 1 then struct(j as i, s) end",
        "coalesce(s, 'none')",
        "coalesce(null, i, j)",
        "case when i = 1 then X'01' else X'02' end",
        "case when i = 1 then date'2020-01-01' else date'2020-01-02' end",
        "if(i is null, timestamp'2020-01-01 00:00:00', null)",
    ]
    check(spark, exprs, ROWS, SCHEMA)


def test_untaken_branches_raise_nothing(spark: SparkSession) -> None:
    exprs = [
        "case when j != 0 then i div j end",
        "case when j = 0 then 0 when j is null then -1 else i % j end",
        "if(j = 0, null, i / j)",
        "j != 0 and i div j > 0",
        "j = 0 or i div j > 0",
        "j is null or j = 0 or i % j = 0",
        "coalesce(i, i div (j - 2))",
        "i in (1, 3, 0, -5, 7 div j)",
        "nanvl(d, i / (j - 2))",
        "case when j = 0 then 1 when i div j = 0 then 2 else 3 end",
    ]
    check(spark, exprs, ROWS, SCHEMA)


def test_taken_branches_raise(spark: SparkSession) -> None:
    exprs = [
        "case when j = 0 then i div j end",
        "j = 0 and i div j > 0",
        "j != 0 or i div j > 0",
        "coalesce(s, 'a') = 'a' or i / 0 > 1",
    ]
    exprs += [
        "coalesce(i div j, 1)",
        "i in (100, 7 div j)",
        "if(j = 0, i % j, 1)",
        "i <=> (i div j)",
        "greatest(i, i div j)",
    ]
    check(spark, exprs, ROWS, SCHEMA)


def test_arguments_after_a_null_raise_nothing(spark: SparkSession) -> None:
    rows = [(None, 0, 5), (1, 1, 5), (None, 0, None)]
    exprs = [
        "a + 1 div b",
        "a < 1 div b",
        "a = 1 div b",
        "(c div b) * a",
        "a * (c div b)",
        "c % (a + 1 div b)",
        "a & (1 div b)",
    ]
    check(spark, exprs, rows, "a bigint, b bigint, c bigint")


def test_in(spark: SparkSession) -> None:
    exprs = [
        "i in (1, 3)",
        "i in (1, null)",
        "i in (j, 3)",
        "i not in (1, 2, 3)",
        "i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
        "i in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, null)",
        "s in ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', '')",
        "d in (1.5D, double('NaN'), 0D)",
        "d in (1.5D, double('NaN'), 0D, 2D, 3D, 4D, 5D, 6D, 7D, 8D, 9D, 10D)",
        "i in (1, 2, 3, 4, 5)",
        "i in (null)",
    ]
    check(spark, exprs, ROWS, SCHEMA)


def test_in_of_other_types(spark: SparkSession) -> None:
    rows = [
        (Decimal("1.50"), b"\x01", date(2020, 1, 3), datetime(2020, 1, 3, 5)),
        (None, None, None, None),
        (Decimal("-2.00"), b"", date(2020, 2, 3), datetime(2020, 1, 3)),
    ]
    days = ", ".join(f"date'2020-01-{day:02}'" for day in range(1, 13))
    bytes_ = ", ".join(f"X'{byte:02x}'" for byte in range(12))
    exprs = ["n in (1.5, -2, 3)", "n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1.5)", f"b in ({bytes_})", "b in (X'01', X'')"]
    exprs += [f"t in ({days})", f"x in ({days})"]
    check(spark, exprs, rows, "n decimal(10,2), b binary, t date, x timestamp")


def test_at_least_n_non_nulls(spark: SparkSession) -> None:
    check(spark, ["i", "s"], ROWS, SCHEMA, given=lambda frame: frame.na.drop(thresh=3))
