"""A query's target: given, measured, met and missed."""

import pytest

from headway.cluster.target import Target
from headway.observe.metrics import QueryMetrics


def measured(latency: float, count: int) -> QueryMetrics:
    metrics = QueryMetrics()
    metrics.e2e.record(latency, count)
    return metrics


def test_auto_is_twice_the_95th_percentile() -> None:
    target = Target(None, auto=True)
    assert (target.measuring, target.latency) == (True, None)
    assert not target.observe(measured(0.020, 950), now=0.0)
    assert target.observe(measured(0.5, 50), now=6.0)
    assert target.latency == pytest.approx(0.040, rel=0.02)
    assert target.urgency == target.latency
    assert not target.measuring


def test_while_measured_a_query_is_the_most_urgent() -> None:
    target = Target(None, auto=True)
    assert target.urgency is not None
    assert target.urgency <= 0.001


def test_few_results_take_longer_but_not_for_ever() -> None:
    target = Target(None, auto=True)
    assert not target.observe(QueryMetrics(), now=0.0)
    assert not target.observe(measured(0.010, 3), now=100.0)
    assert not target.observe(measured(0.010, 1), now=159.0)
    assert target.observe(measured(0.010, 1), now=161.0)
    assert target.latency == pytest.approx(0.020, rel=0.02)


def test_a_target_below_the_own_work_is_warned_of_once_with_the_bound() -> None:
    target = Target(0.002)
    said = [target.check(0.010) for _ in range(10)]
    (warning,) = [text for text in said if text is not None]
    assert "2.0 ms" in warning
    assert "10.0 ms" in warning
    assert said[0] is None, "first runs are slow"


def test_one_slow_report_is_not_enough() -> None:
    target = Target(0.002)
    assert [target.check(seconds) for seconds in (0.01, 0.01, 0.001, 0.01, 0.01)] == [None] * 5


def test_bulk_is_never_too_slow() -> None:
    assert [Target(None).check(100.0) for _ in range(5)] == [None] * 5


def test_misses_are_of_the_whole_run() -> None:
    target = Target(0.1)
    for _ in range(2):
        metrics = QueryMetrics(0.1)
        metrics.met, metrics.missed = 9, 1
        metrics.misses.add(1, 0.1, {"queueing": 0.2})
        target.observe(metrics, now=0.0)
    assert target.explain().startswith("2 of 20 results (10.0 %) missed")
