"""Intervals mean what Spark's own parser says they mean."""

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from py4j.java_gateway import get_field
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from headway.errors import InvalidOption
from headway.intervals import duration, seconds


@pytest.fixture(scope="session")
def spark_seconds(spark: SparkSession) -> Any:
    """Spark's parser, the one its triggers use, in seconds; None where it refuses the string or it has months."""
    jvm = spark._jvm
    assert jvm is not None
    parser = getattr(getattr(jvm, "org.apache.spark.sql.catalyst.util.SparkIntervalUtils$"), "MODULE$")
    text = jvm.org.apache.spark.unsafe.types.UTF8String

    def parse(interval: str) -> float | None:
        try:
            found = parser.stringToInterval(text.fromString(interval))
        except IllegalArgumentException:
            return None
        micros, days = get_field(found, "microseconds"), get_field(found, "days")
        return None if "month" in interval.lower() or "year" in interval.lower() else micros / 1e6 + days * 86_400

    return parse


UNITS = ["second", "minute", "hour", "day", "week", "millisecond", "microsecond", "month", "year", "fortnight", "sec"]
SPACES = st.sampled_from([" ", "  ", "\t", "\n "])


@st.composite
def terms(draw: st.DrawFn) -> str:
    number = draw(st.sampled_from(["", "+", "-", "- "])) + draw(
        st.one_of(
            st.integers(0, 10**6).map(str),
            st.decimals(0, 10**4, places=7).map(str),
            st.sampled_from([".5", ".", "1.", "1.1234567891", "x", "", "0"]),
        )
    )
    return (
        number
        + draw(st.sampled_from([" ", "  ", ""]))
        + draw(st.sampled_from(UNITS))
        + draw(st.sampled_from(["", "s", "S"]))
    )


@st.composite
def intervals(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["", "", "interval ", "INTERVAL  ", "interval", " "]))
    text = prefix + draw(SPACES).join(draw(st.lists(terms(), min_size=0, max_size=3)))
    return text.upper() if draw(st.booleans()) else text


def ours(interval: str) -> float | None:
    try:
        return duration(interval)
    except InvalidOption:
        return None


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(interval=intervals())
def test_as_spark_parses_it(spark_seconds: Any, interval: str) -> None:
    assert ours(interval) == pytest.approx(spark_seconds(interval), abs=1e-7)


@pytest.mark.parametrize(
    ("interval", "length"),
    [
        ("800 ms", 0.8),
        ("1.5 ms", 0.0015),
        ("20 us", 0.00002),
        ("2 s", 2),
        ("5 min", 300),
        ("1 h 30 min", 5400),
        ("2 seconds", 2),
        ("1 minute 30 seconds", 90),
        ("INTERVAL 5 SECONDS", 5),
        ("2 seconds -500 milliseconds", 1.5),
        (3, 3),
        (0.02, 0.02),
    ],
)
def test_good_ones(interval: str | float, length: float) -> None:
    assert seconds(interval) == pytest.approx(length)


@pytest.mark.parametrize(
    "interval",
    [
        *("", "  ", "fast", "800", "800ms", "ms", "1.5 minutes", "1 month", "-2 seconds", "0 seconds", "interval"),
        *("1 second - 1 second", "99999999999999999 weeks", 0, -1.5, math.nan, math.inf, True, None),
    ],
)
def test_bad_ones_are_named_and_a_good_one_shown(interval: Any) -> None:
    with pytest.raises(InvalidOption) as caught:
        seconds(interval)
    assert repr(interval) in str(caught.value)
    assert "800 ms" in str(caught.value)
