"""TRANSFORM and PROGRESSMAP."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling import ProgressMap, Windows
from headway.scheduling.progress import FEWEST, HISTORY

SECOND = 1_000_000
EPOCH = 1_790_000_000  # a time of today, seconds


def fitted(points: list[tuple[float, float]]) -> ProgressMap:
    """Points in seconds."""
    progress = ProgressMap()
    for p, t in points:
        progress.update(round(p * SECOND), t)
    return progress


# TRANSFORM


def test_tumbling_windows_of_10_seconds_end_at_1_11_21_as_in_the_paper() -> None:
    windows = Windows(first=1, slide=10)
    assert [windows.frontier(windows.number(p)) for p in (0, 1, 5, 10, 11, 20)] == [1, 11, 11, 11, 21, 21]


@given(
    p=st.integers(-(10**15), 10**15),
    first=st.integers(-(10**9), 10**9),
    slide=st.integers(1, 10**9),
    delay=st.integers(0, 10**9),
)
def test_the_frontier_is_the_next_end_after_p(p: int, first: int, slide: int, delay: int) -> None:
    windows = Windows(first, slide, delay)
    frontier = windows.frontier(windows.number(p))
    assert p < frontier <= p + slide
    assert (frontier - first - delay) % slide == 0
    assert windows.number(frontier - 1) == windows.number(p)
    assert windows.number(frontier) == windows.number(p) + 1


def test_a_watermarks_delay_puts_the_frontier_off() -> None:
    windows = Windows(first=10, slide=10, delay=3)
    assert [windows.frontier(windows.number(p)) for p in (9, 10, 12, 13)] == [13, 13, 13, 23]


def test_sliding_windows_end_every_slide() -> None:
    windows = Windows(first=60, slide=10)
    assert [windows.frontier(windows.number(p)) for p in (55, 65, -5, -10)] == [60, 70, 0, 0]


# PROGRESSMAP


def test_events_that_need_two_seconds_are_expected_at_3_13_23_as_in_the_paper() -> None:
    progress = fitted([(p / 2, p / 2 + 2) for p in range(20)])
    assert [progress.time_of(p * SECOND) for p in (1, 11, 21)] == pytest.approx([3, 13, 23])


@given(
    slope=st.floats(0.05, 5),
    offset=st.floats(-100, 100),
    step=st.floats(0.25, 5),
    points=st.integers(FEWEST, 500),
    start=st.sampled_from([-EPOCH, 0, EPOCH]),
)
def test_an_exact_line_is_found(slope: float, offset: float, step: float, points: int, start: int) -> None:
    progress = fitted([(start + n * step, EPOCH + offset + slope * n * step) for n in range(points)])
    ahead = points * step + 1
    expected = progress.time_of(round((start + ahead) * SECOND))
    assert expected is not None
    assert expected == pytest.approx(EPOCH + offset + slope * ahead, abs=0.001 * (1 + slope * ahead))


@given(st.integers(0, 2**32))
def test_noise_averages_out(seed: int) -> None:
    random = Random(seed)
    progress = fitted([(n * 0.05, EPOCH + n * 0.05 + random.gauss(0.0, 0.005)) for n in range(200)])
    expected = progress.time_of(11 * SECOND)
    assert expected is not None
    assert expected == pytest.approx(EPOCH + 11, abs=0.03)


def test_a_day_of_messages_does_not_wear_the_fit_out() -> None:
    progress = ProgressMap()
    for n in range(200_000):
        at = n * 0.001 + (86_000 if n > 100_000 else 0)
        progress.update(round((EPOCH + at) * SECOND), EPOCH + at + 2)
    expected = progress.time_of(round((EPOCH + at + 1) * SECOND))
    assert expected == pytest.approx(EPOCH + at + 3, abs=0.001)


@pytest.mark.parametrize("seed", range(10))
def test_many_messages_a_second_with_jitter_still_tell_the_next_seconds(seed: int) -> None:
    random = Random(seed)
    progress = fitted([(n * 0.001, EPOCH + n * 0.001 + random.uniform(0.0, 0.005)) for n in range(5000)])
    assert progress.time_of(15 * SECOND) == pytest.approx(EPOCH + 15, abs=0.06)


def test_too_few_points_tell_nothing() -> None:
    points = [(float(n), n + 2.0) for n in range(FEWEST)]
    assert fitted(points[:-1]).time_of(20 * SECOND) is None
    assert fitted(points).time_of(20 * SECOND) == pytest.approx(22.0)


@pytest.mark.parametrize("p", [0.0, 0.1, 12345.678, float(EPOCH)])
@pytest.mark.parametrize("points", [FEWEST, 100, 1000])
def test_event_time_that_stands_still_tells_nothing(p: float, points: int) -> None:
    moving = [(p - 100 + n, float(n)) for n in range(100)]
    progress = fitted([*moving, *((p, 100.0 + n) for n in range(points + HISTORY))])
    assert progress.time_of(round((p + 1) * SECOND)) is None


def test_event_time_that_goes_back_tells_nothing() -> None:
    assert fitted([(-float(n), float(n)) for n in range(50)]).time_of(10 * SECOND) is None


def test_a_poor_fit_tells_nothing() -> None:
    random = Random(1)
    assert fitted([(n * 0.05, random.uniform(0, 100)) for n in range(100)]).time_of(6 * SECOND) is None


def test_a_fit_that_is_good_far_ahead_may_be_poor_near() -> None:
    progress = fitted([(n * 0.1, n * 0.1 + (0.04 if n % 2 else -0.04)) for n in range(100)])
    assert progress.time_of(round(9.95 * SECOND)) is None
    assert progress.time_of(20 * SECOND) == pytest.approx(20.0, abs=0.02)


@pytest.mark.parametrize("jump", [-3600.0, -10.0, 10.0, 3600.0])
def test_after_a_jump_of_the_clock_nothing_is_told_until_history_is_of_one_kind_again(jump: float) -> None:
    progress = fitted([(n * 0.1, EPOCH + n * 0.1) for n in range(100)])
    for n in range(100, 300):
        progress.update(n * SECOND // 10, EPOCH + jump + n * 0.1)
        expected = progress.time_of((n + 10) * SECOND // 10)
        if n < 100 + HISTORY - 1:
            assert expected is None
        else:
            assert expected == pytest.approx(EPOCH + jump + (n + 10) * 0.1, abs=0.01)
