"""Intervals as values, and times with zones of their own."""

from datetime import date, datetime
from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

SCHEMA = "t timestamp, u timestamp, n timestamp_ntz, d date, e date, i int, x double, c decimal(10,2)"
NEW_YORK = (datetime(2024, 3, 10, 6, 30), datetime(2024, 3, 11, 5, 0))
ROWS = [
    (*NEW_YORK, datetime(2024, 3, 10, 2, 30), date(2024, 1, 31), date(2023, 12, 1), 2, 1.5, Decimal("2.50")),
    (
        datetime(2024, 11, 3, 5, 30),
        datetime(2024, 11, 2, 6),
        datetime(1969, 7, 1),
        date(2024, 2, 29),
        date(2025, 1, 1),
        -3,
        -0.3,
        Decimal("-0.01"),
    ),
    (None, datetime(2000, 1, 1), None, None, date(1970, 1, 1), 1, 1e3, Decimal("7.00")),
    (
        datetime(1950, 1, 1),
        datetime(2050, 12, 31, 23, 59, 59, 999999),
        datetime(2024, 1, 1),
        date(1582, 10, 15),
        None,
        None,
        None,
        None,
    ),
    (
        datetime(2024, 7, 1, 12),
        datetime(2024, 7, 1),
        datetime(2024, 12, 31, 23),
        date(2020, 12, 31),
        date(2020, 12, 31),
        7,
        0.1,
        Decimal("1.00"),
    ),
]
EXPRS = [
    *(
        "t - u",
        "n - n",
        "d - e",
        "t + (u - t)",
        "t + make_dt_interval(i, 2, 3, 4.5)",
        "d + make_ym_interval(0, i)",
        "t + make_ym_interval(i, 1)",
    ),
    *(
        "n + (d - e)",
        "(t - u) + (u - t)",
        "(t - u) - interval 1 day",
        "-(t - u)",
        "abs(u - t)",
        "(t - u) * i",
        "(t - u) * x",
        "(t - u) * c",
    ),
    *("(t - u) / 7", "(t - u) / c", "(t - u) / (x + 3)", "t - u > interval 1 day", "greatest(t - u, interval 1 hour)"),
    *(
        "extract(day from (t - u))",
        "extract(hour from (t - u))",
        "extract(minute from (t - u))",
        "extract(second from (t - u))",
    ),
    *(
        "extract(month from make_ym_interval(1, i))",
        "extract(year from make_ym_interval(i, 30))",
        "n + make_ym_interval(0, i) * 2",
    ),
    *(
        "d + make_ym_interval(3, i) / 2",
        "make_timestamp(2024, i + 4, 1, 2, 3, c, 'Asia/Tokyo')",
        "convert_timezone('Asia/Tokyo', 'Europe/Paris', n)",
    ),
    *(
        "t - make_dt_interval(i)",
        "d + make_dt_interval(i)",
        "try_divide(t - u, 0) is null",
        "try_add(d, i)",
        "try_add(t, interval 1 day)",
    ),
    *(
        "sequence(d, d + make_ym_interval(0, 3), interval 1 month)",
        "make_timestamp_ntz(2024, i + 4, 1, 2, 3, c)",
        "try_make_timestamp(2024, i, 1, 2, 3, c)",
    ),
    *(
        "case when t > u then t - u else u - t end",
        "coalesce(d - e, interval 5 day)",
        "d - e in (interval 0 day)",
        "isnull(t - u)",
    ),
]


def test_intervals(spark: SparkSession) -> None:
    check(spark, [e for e in EXPRS if "ym_interval" not in e.split(" ")[0] or "extract" in e], ROWS, SCHEMA)


def test_what_fails(spark: SparkSession) -> None:
    exprs = ["(t - u) / 0", "make_dt_interval(2147483647, 0, 0, 0) * 100000", "d + make_ym_interval(200000000, 1)"]
    check(spark, exprs, ROWS, SCHEMA)
