"""Compiled expressions of dates, times and truth values give what Spark gives, in UTC and with summer time."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from compiled import check_compiled, reasons
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from generated_rows import generated

NEW_YORK = "America/New_York"
_COMPARED = [f"a {sign} b" for sign in ("=", "<", "<=", ">", ">=", "<=>")]
_CHOSEN = ["coalesce(a, b)", "if(a > b, a, b)", "nullif(a, b)", "xxhash64(a, b)", "isnull(a)", "a in (b, a)"]
_EXTREME = ["greatest(a, b)", "least(b, a)"]
_OF_DATES = ["year", "month", "quarter", "dayofmonth", "dayofyear", "dayofweek", "weekday", "unix_date"]
_CLOCK = ["hour(a)", "minute(a)", "second(a)"]
_NUMBERS = ["tinyint", "smallint", "int", "bigint", "float", "double"]

DATES = [
    *_COMPARED,
    *_CHOSEN,
    *_EXTREME,
    *(f"{name}(a)" for name in _OF_DATES),
    "date_add(a, i)",
    "date_sub(a, i)",
    "date_diff(a, b)",
    "a in (date'2024-02-29', null)",
    "try_cast(a as timestamp_ntz)",
    "cast(a as timestamp_ntz)",
]
TIMES = [
    *_COMPARED,
    *_CHOSEN,
    *_EXTREME,
    *(f"unix_{unit}(a)" for unit in ("micros", "millis", "seconds")),
    "a in (timestamp'2024-03-10 06:59:59.999999Z', b)",
    *(f"try_cast(a as {kind})" for kind in _NUMBERS),
]
TIMES_BY_MODE = [f"cast(a as {kind})" for kind in _NUMBERS]
LOCAL_TIMES = [*_COMPARED, *_CHOSEN, *_EXTREME, *_CLOCK, "cast(a as date)"]
TRUTHS = [
    *_COMPARED,
    *_CHOSEN,
    "a and b",
    "a or b",
    "not a",
    "a and not b or b is null",
    "case when a then b when b then a else true end",
    *(f"cast(a as {kind})" for kind in _NUMBERS),
    "true and a",
    "b or null",
]
# What only a kernel in UTC computes.
ZONED = {
    "date": ["cast(a as timestamp)", "try_cast(a as timestamp)"],
    "timestamp": [*_CLOCK, "cast(a as date)", "cast(a as timestamp_ntz)", "year(a)", "date_diff(a, b)"],
    "timestamp_ntz": ["cast(a as timestamp)"],
}
BY_MODE = {"date": ["cast(a as timestamp_ntz)"], "timestamp": TIMES_BY_MODE}
EXPRS = {"date": DATES, "timestamp": [*TIMES, *TIMES_BY_MODE], "timestamp_ntz": LOCAL_TIMES, "boolean": TRUTHS}

_DAYS = [date(1970, 1, 1), date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(2023, 12, 31)]
_INSTANTS = [
    datetime(1970, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999_999),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
    # New York's clocks go on, and back, in 2024.
    datetime(2024, 3, 10, 6, 59, 59, 999_999),
    datetime(2024, 3, 10, 7),
    datetime(2024, 11, 3, 5, 30),
    datetime(2024, 11, 3, 6, 30),
]


def _days() -> list[int | None]:
    ends = [-(2**31), -(2**31) + 1, 2**31 - 1, 2**31 - 3, 106_751_991, 106_751_992, -106_751_991, -106_751_992]
    return [None, *((day - date(1970, 1, 1)).days for day in _DAYS), *ends]


def _micros() -> list[int | None]:
    past = [datetime.replace(at, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC) for at in _INSTANTS]
    micros = [(delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds for delta in past]
    return [None, *micros, 2**63 - 1, -(2**63), 2**31 * 1_000_000, 127_999_999, -128_000_001]


def _rows(kind: str) -> list[tuple[object, ...]]:
    """Pairs of `kind` and an int, all as numbers: Python's dates end at year 9999, Spark's do not."""
    if kind == "boolean":
        return [(a, b, 0) for a in (None, True, False) for b in (None, True, False)]
    picked, bits, near = (_days(), 32, 40_000) if kind == "date" else (_micros(), 64, 2**51)
    values = st.none() | st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) | st.integers(-near, near)
    numbers = [None, 0, 1, -1, 2**31 - 1, -(2**31)]
    hand_picked = [(a, b, numbers[n % len(numbers)]) for n, (a, b) in enumerate((a, b) for a in picked for b in picked)]
    return hand_picked + generated(st.tuples(values, values, st.none() | st.integers(-(2**31), 2**31 - 1)))


@pytest.mark.parametrize("kind", EXPRS)
def test_in_any_zone(spark: SparkSession, kind: str) -> None:
    """Python's and Spark's clocks do not matter: the kernel is the same in a zone with summer time."""
    for zone in ("UTC", NEW_YORK):
        check_compiled(spark, EXPRS[kind], _rows(kind), f"a {kind}, b {kind}, i int", zone=zone)


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no ansi"])
@pytest.mark.parametrize("kind", ZONED)
def test_in_utc(spark: SparkSession, kind: str, ansi: bool) -> None:
    by_mode = BY_MODE.get(kind, []) if ansi else []
    check_compiled(spark, by_mode + ZONED[kind], _rows(kind), f"a {kind}, b {kind}, i int", ansi=ansi)


@pytest.mark.parametrize("kind", ZONED)
def test_other_zones_are_left_to_the_interpreted_tier(spark: SparkSession, kind: str) -> None:
    left = reasons(spark, ZONED[kind], f"a {kind}, b {kind}, i int", ansi=False, zone=NEW_YORK)
    assert all(why is not None and NEW_YORK in why for why in left.values()), left
