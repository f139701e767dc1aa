"""Casts among all simple types, in ANSI mode, outside it, and as try_cast."""

import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from oracle import check
from pyspark.sql import SparkSession

NUMBERS = ["tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,10)", "decimal(3,0)"]
TIMES = ["date", "timestamp", "timestamp_ntz"]
LONGS = [0, 1, -1, 127, 128, -129, 2**15, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63), None, 10**10, 99999999]
DOUBLES = [
    *(0.0, -0.0, 1.0, 0.5, -0.5, 1.5, 2.5, -127.9, 127.99, 128.0, 1e7, 9999999.0, 1e-3, 9.99e-4, 1.0e10, 123456789.125),
    *(2.0**31, 2.0**63, -(2.0**63), 1e300, 5e-324, 1e-5, 0.1, 1 / 3, math.nan, math.inf, -math.inf, None, 1.005, 0.045),
]
DECIMALS = [*map(Decimal, ("0", "1.00", "-1.00", "127.50", "-128.99", "99999999.99", "0.01", "-0.05", "32768.5")), None]
NUMBER_TEXTS = [
    *(
        "0",
        "1",
        "-1",
        "+1",
        " 12 ",
        "\t12\n",
        "127",
        "128",
        "-128",
        "32768",
        "2147483648",
        "9223372036854775807",
        "00012",
    ),
    *(
        "9223372036854775808",
        "-9223372036854775808",
        "1.5",
        "1.",
        ".5",
        ".",
        "-.",
        "+",
        "-",
        "",
        " ",
        "abc",
        "1a",
        "1e3",
    ),
    *("1E-3", "1e400", "NaN", "nan", "-NaN", "Infinity", "-inf", "+INF", "1d", "1.5F", "0x10", "0x1p3", "\u0661", None),
    *("1e", "e1", "1 2", "99999999999999999999", "123456789012345678901234567890123456789012", "0.000000000000000005"),
    *("1e-50", "1e37", "1e38", "12345678.905", "-0.005", "0e100", "true", "T", " yes ", "no", "N", "f", "FALSE", "on"),
]
TIME_TEXTS = [
    *(
        "2020-01-01",
        "2020-1-1",
        "2020",
        "2020-02",
        "2020-02-30",
        "2020-02-29",
        "2019-02-29",
        " 2020-01-01 ",
        "2020-13-01",
    ),
    *("2020-01-01T", "2020-01-01 ", "2020-01-01 12", "2020-01-01 12:30", "2020-01-01T12:30:15", "2020-1-1 1:2:3"),
    *("2020-01-01 12:30:15.1", "2020-01-01 12:30:15.123456789", "2020-01-01 12:30:15.", "2020-01-01 24:00:00"),
    *("2020-01-01 12:30:15Z", "2020-01-01 12:30:15 UTC", "2020-01-01 12:30:15+01:00", "2020-01-01 12:30:15-8:00"),
    *("2020-01-01 12:30:15.5 Europe/Berlin", "2020-01-01 12:30:15 PST", "2020-01-01 12:30:15 GMT+3", "2020-01-01x"),
    *("2020-01-01 12:30:15 Nowhere/Land", "2020-01-01 12:30Z", "2020-01-01 12:30:60", "2020-01-01 1:2:3 +19:00"),
    *("-0044-03-15", "+12020-01-01", "12020-01-01", "294247-01-10 04:00:54.775807", "294248-01-01", "1234567-01-01"),
    *(
        "0000-01-01",
        "0001-01-01",
        "1582-10-10",
        "999-01-01",
        "20200101",
        "2020-001-01",
        "",
        " ",
        "abc",
        None,
        "2020-01-",
    ),
    *("2024-03-10 02:30:00", "2024-11-03 01:30:00", "2060-03-14 02:30:00", "1883-11-18 12:00:00", "2020-01-01 abc"),
]
MICROS = [
    *(0, -1, 1, 1_700_000_000_123_456, 1_710_054_000_000_000, 1_710_053_999_999_999, 1_730_613_600_000_000, None),
    *(1_730_610_000_000_000, -62_135_596_800_000_000, 253_402_300_800_000_000, 2_000_000_000_000_000_000, 120_000_000),
    *(-2_717_640_000_000_000, 32_503_680_000_000_000),
]
DAYS = [0, -1, 19792, 20030, -719162, 2932897, -800000, None, 18321]


def casts(columns: list[str], targets: list[str], function: str = "cast") -> list[str]:
    return [f"{function}({column} as {target})" for column in columns for target in targets]


def check_modes(spark: SparkSession, rows: list[tuple[Any, ...]], schema: str, targets: list[str]) -> None:
    """As try_cast, which has ANSI's rules without its errors, and outside ANSI mode."""
    check(spark, casts(["x"], targets, "try_cast"), rows, schema)
    check(spark, casts(["x"], targets), rows, schema, ansi=False)


@pytest.mark.parametrize("source", ["bigint", "int", "smallint", "tinyint"])
def test_integers(spark: SparkSession, source: str) -> None:
    bits = {"bigint": 63, "int": 31, "smallint": 15, "tinyint": 7}[source]
    rows = [(v if v is None or -(2**bits) <= v < 2**bits else None,) for v in LONGS]
    check_modes(spark, rows, f"x {source}", [*NUMBERS, "string", "boolean", "timestamp"])
    check(spark, casts(["x"], ["binary"]), rows, f"x {source}", ansi=False)


@pytest.mark.parametrize("source", ["double", "float"])
def test_fractions(spark: SparkSession, source: str) -> None:
    check_modes(spark, [(v,) for v in DOUBLES], f"x {source}", [*NUMBERS, "boolean", "timestamp"])


def test_fractions_to_texts(spark: SparkSession) -> None:
    # Java before 19 prints some numbers with more digits than they need, 2^31 as a float for one.
    rows = [(v, None if v in (2.0**31, 2.0**63, -(2.0**63), 123456789.125) else v) for v in DOUBLES]
    check(spark, ["cast(x as string)", "cast(y as string)"], rows, "x double, y float")


@pytest.mark.parametrize("source", ["decimal(10,2)", "decimal(38,10)"])
def test_decimals(spark: SparkSession, source: str) -> None:
    rows = [(v,) for v in DECIMALS] + [(Decimal("0.0000000001"),)] * (source == "decimal(38,10)")
    rows += [(Decimal("1234567890123456789012345678.5"),)] * (source == "decimal(38,10)")
    check_modes(spark, rows, f"x {source}", [*NUMBERS, "decimal(38,38)", "boolean", "string", "timestamp"])


def test_booleans(spark: SparkSession) -> None:
    rows = [(True,), (False,), (None,)]
    check(spark, casts(["x"], [*NUMBERS, "string", "decimal(1,0)"]), rows, "x boolean")
    check(spark, casts(["x"], [*NUMBERS, "string", "decimal(1,1)", "timestamp"]), rows, "x boolean", ansi=False)


def test_texts_to_numbers(spark: SparkSession) -> None:
    check_modes(spark, [(v,) for v in NUMBER_TEXTS], "x string", [*NUMBERS, "decimal(38,20)", "boolean", "binary"])


def test_texts_to_times(spark: SparkSession) -> None:
    check_modes(spark, [(v,) for v in TIME_TEXTS], "x string", TIMES)


def test_times(spark: SparkSession) -> None:
    numbers = ["tinyint", "int", "bigint", "float", "double", "decimal(20,6)", "decimal(12,0)"]
    check_modes(spark, [(v,) for v in MICROS], "x timestamp", [*numbers, "date", "timestamp_ntz", "string"])
    check(spark, casts(["x"], ["boolean"]), [(v,) for v in MICROS], "x timestamp", ansi=False)
    check(spark, casts(["x"], ["date", "timestamp", "string"]), [(v,) for v in MICROS], "x timestamp_ntz")
    check(spark, casts(["x"], ["timestamp", "timestamp_ntz", "string"]), [(v,) for v in DAYS], "x date")
    check(spark, casts(["x"], [*numbers, "boolean"]), [(v,) for v in DAYS], "x date", ansi=False)


@pytest.mark.parametrize("days", [2**31 - 1, 106_751_992, -106_751_992, 106_751_990, -106_751_990])
def test_dates_beyond_the_last_timestamp(spark: SparkSession, days: int) -> None:
    """Spark fails in either mode; only try_cast gives null."""
    for ansi in (True, False):
        exprs = [f"{function}(a as {kind})" for function in ("cast", "try_cast") for kind in TIMES[1:]]
        check(spark, exprs, [(days,), (None,)], "a date", ansi=ansi)


def test_a_time_that_python_does_not_have_is_told_in_numbers(spark: SparkSession) -> None:
    check(spark, ["cast(a as int)"], [(2**63 - 1,)], "a timestamp")


def test_binaries(spark: SparkSession) -> None:
    check(spark, ["cast(x as string)"], [(b"abc",), (b"",), (None,), ("é😀".encode(),)], "x binary")


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        *((128, "int", "tinyint"), (2**31, "bigint", "int"), (math.nan, "double", "int"), (1e19, "double", "bigint")),
        *((Decimal("300"), "decimal(5,0)", "tinyint"), (1000, "int", "decimal(3,0)"), (1e5, "double", "decimal(3,0)")),
        *(
            ("abc", "string", "int"),
            ("1.5", "string", "int"),
            ("x", "string", "double"),
            ("maybe", "string", "boolean"),
        ),
        *(("x", "string", "decimal(3,0)"), ("1e50", "string", "decimal(3,0)"), ("1234", "string", "decimal(3,0)")),
        *(("2020-13-01", "string", "date"), ("soon", "string", "timestamp"), ("12:30", "string", "timestamp_ntz")),
        *((10**17, "timestamp", "int"), (math.inf, "double", "timestamp"), (1e300, "double", "timestamp")),
        *((Decimal("99.9"), "decimal(3,1)", "decimal(2,1)"), (True, "boolean", "decimal(1,1)")),
    ],
)
def test_what_ansi_refuses(spark: SparkSession, value: object, source: str, target: str) -> None:
    check(spark, [f"cast(x as {target})"], [(value,)], f"x {source}")


ROWS = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_subnormal=False).filter(lambda x: float(f"{x:.10g}") == x or not math.isfinite(x)),
    st.none() | st.decimals(-(10**15), 10**15, places=4),
    st.none() | st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999),
    st.none() | st.integers(-(2**31), 2**31 - 1),
)


@settings(max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(ROWS, min_size=60, max_size=60))
def test_random_rows(spark: SparkSession, rows: list[tuple[Any, ...]]) -> None:
    schema = "l bigint, d double, n decimal(20,4), t timestamp, i int"
    numbers = casts(["l", "d", "n", "i"], [*NUMBERS, "string", "boolean"], "try_cast")
    times = casts(["t"], ["date", "timestamp_ntz", "string", "bigint", "double"])
    # What was written must be read back.
    back = [f"cast(cast({c} as string) as {t})" for c, t in (("l", "bigint"), ("d", "double"), ("t", "timestamp"))]
    check(spark, numbers + times + back, rows, schema)


def test_every_step_of_a_day_with_a_gap(spark: SparkSession) -> None:
    local = [f"2024-03-10 0{h}:{m:02d}:00" for h in range(5) for m in range(0, 60, 10)]
    check(
        spark,
        ["cast(x as timestamp)", "cast(cast(x as timestamp_ntz) as timestamp)"],
        [(t,) for t in local],
        "x string",
    )
