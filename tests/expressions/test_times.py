"""Date and time functions, in zones with changing clocks."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import check, lower
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway.errors import UnsupportedPlan

SCHEMA = "d date, t timestamp, n timestamp_ntz, i int, l bigint, u timestamp"
TIMES = [
    *(
        0,
        -1,
        1_709_208_000_123_456,
        1_710_054_000_000_000,
        1_710_053_999_999_999,
        1_730_613_600_000_000,
        951_782_400_000_000,
    ),
    *(
        1_730_610_000_000_000,
        1_730_611_800_000_000,
        1_711_846_800_000_000,
        1_729_990_800_000_000,
        1_729_987_200_000_000,
    ),
    *(
        -62_135_596_800_000_000,
        253_402_300_799_999_999,
        -2_717_640_000_000_000,
        2_846_000_000_000_000,
        1_735_689_599_999_999,
    ),
]
ROWS = [
    (t // 86_400_000_000, t, TIMES[-1 - i], i - 6, (i - 3) * 10**8, TIMES[(i * 5) % len(TIMES)])
    for i, t in enumerate(TIMES)
]
ROWS.append((None,) * 6)
UNITS = ["MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"]
TRUNCATED = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "dd", "nonsense"]
PARTS = [
    *(
        "year(d)",
        "quarter(d)",
        "month(d)",
        "day(d)",
        "dayofweek(d)",
        "dayofyear(d)",
        "weekday(d)",
        "weekofyear(d)",
        "year(t)",
    ),
    *("hour(t)", "minute(t)", "second(t)", "hour(n)", "minute(n)", "second(n)", "extract(second from t)", "dayname(d)"),
    *("monthname(d)", "extract(yearofweek from d)", "last_day(d)", "next_day(d, 'MON')", "next_day(d, 'sunday')"),
    *(
        "unix_seconds(t)",
        "unix_millis(t)",
        "unix_micros(t)",
        "unix_date(d)",
        "date_from_unix_date(i)",
        "unix_timestamp(t)",
    ),
    *(
        "unix_timestamp(d)",
        "timestamp_seconds(l)",
        "timestamp_millis(l)",
        "timestamp_micros(l)",
        "timestamp_seconds(l / 7.0D)",
    ),
]
ARITHMETIC = [
    *(
        "date_add(d, i)",
        "date_sub(d, 3)",
        "datediff(d, u)",
        "add_months(d, i)",
        "months_between(t, u)",
        "d + interval 5 month",
    ),
    *(
        "months_between(t, u, false)",
        "trunc(d, 'MM')",
        "trunc(d, 'week')",
        "trunc(d, 'Q')",
        "trunc(d, 'quarter')",
        "trunc(d, 'YY')",
    ),
    *(
        f"date_trunc('{unit}', t)"
        for unit in [
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "hour",
            "minute",
            "second",
            "millisecond",
            "dd",
            "nonsense",
        ]
    ),
    *(
        "t + interval 1 day",
        "t - interval 1 day",
        "t + interval 1 month",
        "t - interval 25 hours",
        "t + interval '1 2' day to hour",
    ),
    *(
        "n + interval 1 day",
        "n + interval 1 month",
        "d + interval 1 day",
        "t + interval 90 minutes",
        "t + make_interval(1, 2, 3, 4, 5, 6, 7.25)",
        "t - make_interval(0, 13, 0, -1, 30)",
        "n + make_interval(0, 1, 0, 1)",
        "t + interval 1 year",
    ),
    *(f"timestampadd({unit}, i, t)" for unit in UNITS),
    *(f"timestampdiff({unit}, t, u)" for unit in UNITS),
    *("from_utc_timestamp(t, 'Asia/Tokyo')", "to_utc_timestamp(t, 'Europe/Berlin')", "from_utc_timestamp(t, '+01:30')"),
]
TEXTS = [
    *(
        "date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS')",
        "date_format(t, 'd/M/yy h:m a')",
        "date_format(t, 'EEE, dd MMM yyyy')",
    ),
    *("date_format(t, \"yyyy-MM-dd'T'HH:mm\")", "date_format(t, 'EEEE MMMM')", "date_format(n, 'DDD SSSSSS')"),
    *("date_format(t, 'XXX xx Z VV')", "date_format(t, 'X x XX xxx Q QQ QQQ')", "date_format(t, 'LL LLLL k K kk KK')"),
    *("from_unixtime(l)", "from_unixtime(l, 'yyyyMMdd')", "date_format(d, 'yyyy')"),
]


@contextmanager
def time_zone(spark: SparkSession, name: str) -> Iterator[None]:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin", "+05:30"])
def test_functions(spark: SparkSession, zone: str) -> None:
    with time_zone(spark, zone):
        check(spark, PARTS + ARITHMETIC + TEXTS, ROWS, SCHEMA)


READ = [
    *(
        "2020-01-02 03:04:05",
        "2024-03-10 02:30:00",
        "2020-1-2 3:4:5",
        "2020-02-30 00:00:00",
        " 2020-01-02 03:04:05",
        "",
    ),
    *(
        "2020-01-02 24:00:00",
        "20200102",
        "2020-01-02",
        "2/1/2020 3:04",
        "2020-01-02T03:04:05.123",
        "2020-01-02 03:04:05.1234567",
    ),
    *("2020-01-02T03:04:05+02:00", "2020-01-02T03:04:05Z", "2020-07-02T03:04:05-0530", "02 Jan 2020", "2 january 2020"),
    *("1/2/20 3:04 pm", "1/2/20 12:04 AM", "1/2/69 12:04 PM", "1/2/20 13:04 PM"),
    *("+12020-01-02 03:04:05", "-0044-01-02 03:04:05", "garbage", None),
]
PATTERNS = [
    *("yyyy-MM-dd HH:mm:ss", "yyyyMMdd", "yyyy-MM-dd", "d/M/yyyy H:mm", "yyyy-MM-dd\\'T\\'HH:mm:ss.SSS"),
    *("yyyy-MM-dd HH:mm:ss.SSSSSS", "HH:mm", "yyyy-MM-dd\\'T\\'HH:mm:ssXXX", "yyyy-MM-dd\\'T\\'HH:mm:ssZ"),
    *("dd MMM yyyy", "d MMMM yyyy", "M/d/yy h:mm a", "yyyy-MM-dd\\'T\\'HH:mm:ssX"),
]


def test_reading(spark: SparkSession) -> None:
    exprs = [f"to_timestamp(s, '{p}')" for p in PATTERNS] + ["unix_timestamp(s)", "to_date(s, 'yyyy-MM-dd')"]
    check(spark, exprs, [(s,) for s in READ], "s string", ansi=False)


@pytest.mark.parametrize("text", ["2020-01-02 03:04:05", "2020-02-30 00:00:00", "garbage"])
def test_reading_in_ansi_mode(spark: SparkSession, text: str) -> None:
    check(spark, ["to_timestamp(s, 'yyyy-MM-dd HH:mm:ss')"], [(text,)], "s string")


def test_making(spark: SparkSession) -> None:
    rows = [
        (2024, 2, 29, Decimal("59.999999")),
        (2023, 2, 28, Decimal("60")),
        (1, 1, 1, Decimal("0")),
        (None, 1, 1, None),
    ]
    exprs = ["make_date(y, m, d)", "make_timestamp(y, m, d, 2, 30, s)", "make_timestamp_ntz(y, m, d, 2, 30, s)"]
    check(spark, exprs, rows, "y int, m int, d int, s decimal(16,6)")
    bad = [*rows, (2023, 2, 29, Decimal("1")), (2023, 13, 1, Decimal("61")), (2023, 1, 0, Decimal("-1"))]
    check(spark, exprs, bad, "y int, m int, d int, s decimal(16,6)", ansi=False)
    check(spark, exprs[:2], [(2023, 2, 29, Decimal("1"))], "y int, m int, d int, s decimal(16,6)")


def test_overflow(spark: SparkSession) -> None:
    rows = [(10**17, 0)]
    check(spark, [f"timestampadd({unit}, l, t)" for unit in ("SECOND", "DAY")], rows, "l bigint, t timestamp")
    check(spark, ["timestamp_seconds(l)", "timestamp_millis(l)"], rows, "l bigint, t timestamp")
    check(spark, ["timestamp_seconds(n)"], [(Decimal("0.1234567"),)], "n decimal(10,7)")
    check(spark, ["timestamp_seconds(n)"], [(Decimal("-0.1234560"),), (None,)], "n decimal(10,7)")


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd z", "G", "yyyy [HH]", "QQQQ", "n"])
def test_what_is_refused_is_named(spark: SparkSession, pattern: str) -> None:
    frame = spark.range(1).select(F.timestamp_seconds("id").alias("t"))
    with pytest.raises(UnsupportedPlan, match="datetime pattern"):
        lower(frame.select(F.date_format("t", pattern)))


WHEN = st.none() | st.integers(-30_000_000_000_000_000, 60_000_000_000_000_000)
RANDOM = st.tuples(
    st.none() | st.integers(-300_000, 700_000),
    WHEN,
    WHEN,
    st.none() | st.integers(-1000, 1000),
    st.none() | st.integers(-(10**10), 10**10),
    WHEN,
)


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(RANDOM, min_size=100, max_size=100))
def test_random_times(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    check(spark, PARTS + ARITHMETIC + TEXTS, rows, SCHEMA)
