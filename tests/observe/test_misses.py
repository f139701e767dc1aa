"""Where the time of late results went."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.observe.metrics import QueryMetrics
from headway.observe.misses import PARTS, Misses, Result, Spent

SECONDS = st.floats(0.0, 10.0)


@given(SECONDS, SECONDS, SECONDS, SECONDS, SECONDS, SECONDS, SECONDS)
def test_the_parts_of_a_miss_add_up_to_its_latency(
    lag: float, blocked: float, queueing: float, service: float, exchange: float, held: float, commit: float
) -> None:
    first = 1000.0
    polled = first + lag + blocked
    written = polled + queueing + service + exchange + held
    result = Result(first, first, polled, 1, written, Spent(blocked, queueing, service, exchange))
    parts = result.parts(written + commit)
    assert set(parts) == set(PARTS)
    assert sum(parts.values()) == pytest.approx(written + commit - first, abs=1e-6)
    assert parts["watermark"] == pytest.approx(held, abs=1e-6)
    assert parts["sourceLag"] == pytest.approx(lag, abs=1e-6)


def test_only_what_missed_counts() -> None:
    metrics = QueryMetrics(target=0.1)
    metrics.show(Result(9.95, 9.95, 9.95, 7, 10.0, Spent(queueing=0.05)), now=10.0)
    assert (metrics.met, metrics.missed, metrics.misses.results) == (7, 0, 0)
    metrics.show(Result(9.7, 9.7, 9.8, 3, 10.0, Spent(queueing=0.15, service=0.05)), now=10.0)
    assert (metrics.met, metrics.missed, metrics.misses.results) == (7, 3, 3)
    mean = metrics.misses.mean_ms()
    assert next(iter(mean)) == "queueing"
    assert mean["queueing"] == pytest.approx(150.0)
    assert mean["sourceLag"] == pytest.approx(100.0)
    assert metrics.misses.latest == pytest.approx(0.2)


def test_of_rows_that_left_together_only_the_late_ones_missed() -> None:
    metrics = QueryMetrics(target=0.1)
    metrics.show(Result(9.8, 10.0, 10.0, 100, 10.0, Spent()), now=10.0)
    assert (metrics.met, metrics.missed) == (50, 50)


def test_nodes_add_up() -> None:
    one, other = Misses(), Misses()
    one.add(1, 0.1, {"queueing": 0.2})
    other.add(3, 0.5, {"queueing": 0.4, "service": 0.1})
    one.merge(other)
    assert (one.results, one.latest) == (4, 0.5)
    assert one.mean_ms() == pytest.approx({"queueing": 350.0, "service": 75.0})


@pytest.mark.parametrize("part", PARTS)
def test_people_are_told_the_worst_part_and_what_helps(part: str) -> None:
    misses = Misses()
    misses.add(1, 0.1, {part: 0.9, "service" if part != "service" else "queueing": 0.1})
    text = misses.explain(0.5, met=0)
    assert f"Most of it is {part}: " in text
    assert PARTS[part] in text


def test_bulk_and_met_queries_say_so() -> None:
    assert "no latency target" in Misses().explain(None, met=10)
    assert Misses().explain(0.5, met=1000) == "All 1,000 results met the target of 500 ms."
