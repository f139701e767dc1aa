"""Latency histograms are right to a percent, add up exactly, and do not hide waiting."""

import pickle
import timeit

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
        rank = max(1, int(at / 100 * len(ranked) + 0.5))
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
    assert LatencyHistogram(LatencyHistogram().encode()).count == 0


def test_what_lies_outside_counts_at_the_edge() -> None:
    made = histogram([-0.5, 0.0, 1e6])
    assert made.count == 3
    assert made.percentiles()["P0"] == 0
    assert made.percentiles()["P99"] == pytest.approx(3_600_000, rel=0.01)


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


def test_recording_is_cheap() -> None:
    made = LatencyHistogram()
    rounds = 20_000
    best = min(timeit.repeat(lambda: made.record(0.0123, 100), number=rounds, repeat=5))
    assert best / rounds < 2e-6
