"""The search for the highest rate, over systems that are functions of the rate."""

import os
from dataclasses import replace

import pytest

from bench.search import NEAR, Trial, highest, measure


class System:
    """Follows up to `most` rows/s, and takes `taken` of that when more is offered."""

    def __init__(self, most: float, taken: float = 1.0) -> None:
        self.most, self.taken = most, taken
        self.rates: list[int] = []

    def run(self, rate: int, seconds: float) -> Trial:
        self.rates.append(rate)
        followed = rate <= self.most
        return Trial(
            rate, rate if followed else self.most * self.taken, 1, seconds, followed, {"p99": rate / 1e6}, True
        )


def silent(line: str) -> None:
    assert line


@pytest.mark.parametrize("most", [20_000, 900_000, 1_000_000, 7_500_000])
@pytest.mark.parametrize("taken", [0.0, 0.3, 1.0, 1.4])
def test_it_comes_near_the_highest_rate(most: int, taken: float) -> None:
    found = highest(System(most, taken).run, 1_000_000, 20.0, silent)
    assert found.followed
    assert most / NEAR - 1 <= found.rate <= most


@pytest.mark.parametrize("guess", [0.85, 1.0, 1.1])
def test_a_good_guess_needs_few_trials(guess: float) -> None:
    system = System(1_000_000)
    highest(system.run, int(guess * 1e6), 20.0, silent)
    assert len(system.rates) <= 3


def test_what_a_failing_trial_took_is_offered_next() -> None:
    """Per query: three of them share what the system takes."""
    system = System(1_000_000, taken=3.0)
    highest(system.run, 64_000_000, 20.0, silent, queries=3)
    assert system.rates[1] == 16_000_000
    system = System(1_000_000, taken=3.0)
    highest(system.run, 2_000_000, 20.0, silent, queries=3)
    assert system.rates[1] == 950_000


def test_every_trial_is_as_long_as_the_measured_run() -> None:
    lengths = set()

    def run(rate: int, seconds: float) -> Trial:
        lengths.add(seconds)
        return System(1_000_000).run(rate, seconds)

    highest(run, 300_000, 13.0, silent)
    assert lengths == {13.0}


def test_a_trial_that_was_ended_says_so() -> None:
    said: list[str] = []

    def run(rate: int, seconds: float) -> Trial:
        return replace(System(1_000_000).run(rate, seconds), cut=rate > 1_000_000)

    highest(run, 1_000_000, 20.0, said.append)
    assert [("followed" in line, "ended" in line) for line in said[:2]] == [(True, False), (False, True)]


def test_what_follows_nothing_ends() -> None:
    system = System(0)
    assert not highest(system.run, 1_000_000, 20.0, silent).followed
    assert len(system.rates) < 10


def test_latency_is_that_at_four_fifths() -> None:
    result = measure("w", "s", 2, "max", 20.0, System(1_000_000).run, 500_000, silent)
    assert result.latency_ms["p99"] == pytest.approx(0.8 * result.offered_rows_per_s / 2 / 1e6, rel=1e-3)
    fixed = measure("w", "s", 1, "1000", 5.0, System(10).run, 500_000, silent)
    assert (fixed.offered_rows_per_s, fixed.rows_per_s) == (1000.0, 10)


def test_a_disturbed_run_is_repeated_and_the_least_disturbed_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five, of which the second lost least, the second; whatever their latencies are."""
    counted = iter([0.0, 100.0, 100.0, 150.0, 150.0, 350.0, 350.0, 450.0, 450.0, 600.0])
    monkeypatch.setattr("bench.search.stolen", lambda: next(counted))
    monkeypatch.setattr("bench.search.time.monotonic", iter(range(0, 1000, 100)).__next__)
    p99 = iter([1.0, 3.0, 2.0, 4.0, 5.0])

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
    assert system.rates == [*before.rates, 800_000]
    assert result.settings["stolen"] == 0.0


def test_a_rate_at_which_the_target_is_missed_is_not_followed() -> None:
    """Nor does it end the search: a lower one may keep it."""
    said: list[str] = []

    def run(rate: int, seconds: float) -> Trial:
        late = rate > 600_000
        return Trial(rate, rate, 1, seconds, not late, {"p99": 1.0}, True, late=late)

    found = highest(run, 1_000_000, 20.0, said.append)
    assert 600_000 / NEAR - 1 <= found.rate <= 600_000
    assert "too late" in said[0]
