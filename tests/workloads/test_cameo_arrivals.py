"""Messages come when their process says, on average as many as asked for."""

import pytest

from bench.cameo.arrivals import SECOND, SKEW, Arrivals, volume, weights

PROCESSES = ["constant", "pareto", "skewed"]


def times(arrivals: Arrivals, source: int, seconds: int) -> list[int]:
    return [due for _, due in arrivals.until(source, seconds * SECOND)]


@pytest.mark.parametrize("process", PROCESSES)
def test_the_mean_volume_is_that_asked_for(process: str) -> None:
    arrivals = Arrivals(seed=3, sources=64, rate=5.0, rows=100, process=process)
    seconds = 400
    rows = sum(len(times(arrivals, k, seconds)) * arrivals.schedule(k).rows for k in range(arrivals.sources))
    # Of a Pareto distribution, 25,600 draws have a mean that is a few percent off.
    assert rows / seconds == pytest.approx(arrivals.rows_per_s, rel=0.1 if process == "pareto" else 0.01)


@pytest.mark.parametrize("process", PROCESSES)
def test_a_seed_gives_the_same_messages_and_another_seed_others(process: str) -> None:
    one, same, other = (Arrivals(seed, 4, 3.0, 10, process) for seed in (1, 1, 2))
    assert times(one, 2, 30) == times(same, 2, 30)
    assert times(one, 2, 30) != times(other, 2, 30)
    assert times(one, 2, 30) != times(one, 1, 30)


@pytest.mark.parametrize("process", PROCESSES)
def test_messages_are_counted_as_they_come(process: str) -> None:
    arrivals = Arrivals(9, 4, 2.5, 10, process)
    due = times(arrivals, 1, 40)
    assert due == sorted(due)
    schedule = arrivals.schedule(1)
    for until in (-1, 0, 1, due[0], due[7] - 1, due[7], due[20] + 1, 39 * SECOND):
        assert schedule.count(until) == sum(at <= until for at in due)
    assert schedule.due(5) == due[5]
    assert schedule.due(3) == due[3]  # after going back


def test_a_pareto_volume_has_mean_one_and_a_long_tail() -> None:
    drawn = sorted(volume(7, source, second) for source in range(200) for second in range(500))
    assert sum(drawn) / len(drawn) == pytest.approx(1.0, rel=0.05)
    # Of shape 1.5: a tail of 1 % begins at 0.01 ** (-1 / 1.5) times the least value.
    assert drawn[-1000] / drawn[0] == pytest.approx(0.01 ** (-1 / 1.5), rel=0.1)
    assert drawn[-1] > 50


def test_skewed_sources_differ_two_hundredfold() -> None:
    shares = weights(64)
    assert shares[-1] / shares[0] == pytest.approx(SKEW)
    assert sum(shares) / 64 == pytest.approx(1.0)


def test_an_unknown_process_is_named() -> None:
    with pytest.raises(ValueError, match=r"'uneven'.*constant, pareto, skewed"):
        Arrivals(1, 1, 1.0, 1, "uneven").schedule(0)
