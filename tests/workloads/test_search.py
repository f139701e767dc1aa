"""The search for the highest rate, over systems that are functions of the rate."""

import os

import pytest

from bench.search import Trial, highest, measure


class System:
    """Follows up to `most` rows/s, for a longer run up to `lasting` of it."""

    def __init__(self, most: float, lasting: float = 1.0) -> None:
        self.most, self.lasting = most, lasting
        self.trials = 0

    def run(self, rate: int, seconds: float) -> Trial:
        self.trials += 1
        followed = rate <= self.most * (1.0 if seconds < 20 else self.lasting)
        return Trial(rate, min(rate, self.most), 1, seconds, followed, {"p99": rate / 1e6}, True)


def silent(line: str) -> None:
    assert line


@pytest.mark.parametrize("most", [20_000, 900_000, 1_000_000, 7_500_000])
def test_it_comes_near_the_highest_rate(most: int) -> None:
    found = highest(System(most).run, 1_000_000, 20.0, silent)
    assert found.followed
    assert 0.8 * most <= found.rate <= most


def test_a_longer_run_that_falls_behind_is_tried_again_below() -> None:
    system = System(1_000_000, lasting=0.6)
    found = highest(system.run, 1_000_000, 20.0, silent)
    assert found.followed
    assert 400_000 <= found.rate <= 600_000


def test_what_follows_nothing_ends() -> None:
    system = System(0)
    assert not highest(system.run, 1_000_000, 20.0, silent).followed
    assert system.trials < 30


def test_latency_is_that_at_four_fifths() -> None:
    result = measure("w", "s", 2, "max", 20.0, System(1_000_000).run, 500_000, silent)
    assert result.latency_ms["p99"] == pytest.approx(0.8 * result.offered_rows_per_s / 2 / 1e6, rel=1e-3)
    fixed = measure("w", "s", 1, "1000", 5.0, System(10).run, 500_000, silent)
    assert (fixed.offered_rows_per_s, fixed.rows_per_s) == (1000.0, 10)


def test_a_disturbed_run_is_repeated_and_the_least_disturbed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three, whose processors lost much, less and most, the second; whatever their latencies are."""
    counted = iter([0.0, 100.0, 100.0, 150.0, 150.0, 350.0])
    monkeypatch.setattr("bench.search.stolen", lambda: next(counted))
    monkeypatch.setattr("bench.search.time.monotonic", iter(range(0, 600, 100)).__next__)
    p99 = iter([1.0, 3.0, 2.0])

    def run(rate: int, seconds: float) -> Trial:
        loaded = rate == int(0.8 * found.rate)
        return Trial(rate, rate, 1, seconds, rate <= 1_000_000, {"p99": next(p99) if loaded else 9.0}, True)

    found = highest(System(1_000_000).run, 1_000_000, 20.0, silent)
    result = measure("w", "s", 1, "max", 20.0, run, 1_000_000, silent)
    assert result.latency_ms == {"p99": 3.0}
    assert result.settings["stolen"] == pytest.approx(0.5 / (os.cpu_count() or 1))


def test_an_undisturbed_run_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.search.stolen", lambda: 0.0)
    before, system = System(1_000_000), System(1_000_000)
    highest(before.run, 1_000_000, 20.0, silent)
    result = measure("w", "s", 1, "max", 20.0, system.run, 1_000_000, silent)
    assert system.trials == before.trials + 1
    assert result.settings["stolen"] == 0.0
