"""Latency histograms are right to a percent, add up exactly, and do not hide waiting."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.observe.histogram import PERCENTILES, LatencyHistogram

LATENCIES = st.lists(st.floats(1e-5, 1000.0), min_size=1, max_size=200)


def histogram(latencies: list[float]) -> LatencyHistogram:
    made = LatencyHistogram()
    for latency in latencies:
        made.record(latency)
    return made


@given(latencies=LATENCIES)
def test_percentiles_are_right_to_two_percent(latencies: list[float]) -> None:
    ranked, told = sorted(latencies), histogram(latencies).percentiles()
    for name, at in PERCENTILES.items():
        rank = max(1, math.ceil(at / 100 * len(ranked)))
        assert told[name] == pytest.approx(ranked[rank - 1] * 1000, rel=0.02, abs=0.002)


@given(parts=st.lists(LATENCIES, min_size=1, max_size=4))
def test_merged_is_the_same_as_recorded_together(parts: list[list[float]]) -> None:
    merged = LatencyHistogram()
    for part in parts:
        merged.merge(pickle.loads(pickle.dumps(histogram(part))))
    together = histogram([latency for part in parts for latency in part])
    assert merged.percentiles() == together.percentiles()
    assert merged.count == together.count


def test_nothing_recorded_has_no_percentiles() -> None:
    assert LatencyHistogram().percentiles() == {}
    assert LatencyHistogram().summary() == {}


def test_a_clock_that_is_behind_counts_as_zero() -> None:
    made = histogram([-0.5, 0.0, 2.0])
    assert made.count == 3
    assert made.percentiles()["P0"] == 0
    assert made.summary()["mean"] == pytest.approx(2000 / 3, rel=0.01)


@given(latencies=LATENCIES)
def test_the_summary_is_that_of_the_latencies(latencies: list[float]) -> None:
    told = histogram(latencies).summary()
    assert told["max"] == pytest.approx(max(latencies) * 1000, rel=0.02, abs=0.002)
    assert told["mean"] == pytest.approx(sum(latencies) / len(latencies) * 1000, rel=0.02, abs=0.002)
    assert told["p50"] <= told["p95"] <= told["p99"] <= told["max"]


@given(count=st.integers(1, 10_000), lowest=st.floats(0.001, 1.0), width=st.floats(0, 10))
def test_a_span_counts_every_row_between_its_ends(count: int, lowest: float, width: float) -> None:
    made = LatencyHistogram()
    made.record_span(lowest, lowest + width, count)
    assert made.count == count
    told = made.percentiles()
    assert told["P99"] == pytest.approx((lowest + width) * 1000, rel=0.03)
    assert told["P0"] >= lowest * 1000 * 0.98
    if count >= 2 and width > lowest:
        assert told["P0"] == pytest.approx(lowest * 1000, rel=0.02)
