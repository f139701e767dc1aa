"""Eligibility, and thresholds that adapt."""

from __future__ import annotations

import itertools

import pytest

from headway.scheduling import Flow
from headway.scheduling.thresholds import Range, Thresholds


@pytest.mark.parametrize(
    ("pending", "idle", "eligible"),
    [(999, 0.0009, False), (1000, 0.0, True), (1, 0.0011, True), (0, 0.5, True)],
)
def test_enough_rows_or_long_enough_idle(pending: int, idle: float, eligible: bool) -> None:
    flow = Flow(pending=pending, last=5.0)
    assert Thresholds().eligible(flow, 5.0 + idle) is eligible


def adapted(*gradients: float) -> list[tuple[float, float]]:
    """The thresholds after each second with such a gradient."""
    thresholds, seen = Thresholds(), []
    thresholds.adapt(0.0, 0.0)
    for second, gradient in enumerate(gradients, 1):
        thresholds.adapt(gradient, float(second))
        seen.append((thresholds.events, thresholds.idle))
    return seen


def test_they_grow_with_latency_and_shrink_with_it() -> None:
    assert adapted(0.5) == [(pytest.approx(1500), pytest.approx(0.0015))]
    assert adapted(-0.5) == [(pytest.approx(500), pytest.approx(0.0005))]


def test_a_change_after_which_latency_grows_faster_is_reverted() -> None:
    assert adapted(0.2, 0.5, 0.1) == [
        (pytest.approx(1200), pytest.approx(0.0012)),
        (pytest.approx(1000), pytest.approx(0.001)),
        (pytest.approx(1100), pytest.approx(0.0011)),
    ]


def test_steps_and_values_are_bounded() -> None:
    seen = adapted(*[100.0] * 20)
    assert max(b - a for (a, _), (b, _) in itertools.pairwise(seen)) == 1000
    assert seen[-1][0] == 9000  # the next step would reach the maximum
    assert adapted(-1.0) == [(1000, 0.001)]  # nor do they become nothing


def test_they_change_once_a_second() -> None:
    thresholds = Thresholds(Range(4, 100, 10))
    thresholds.adapt(1.0, 0.0)
    thresholds.adapt(1.0, 0.9)
    assert thresholds.events == 4
    thresholds.adapt(1.0, 1.0)
    assert thresholds.events == 8
