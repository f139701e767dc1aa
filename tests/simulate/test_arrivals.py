"""The arrival processes have the rates, volumes and event times that a scenario asks for."""

from __future__ import annotations

import numpy as np
import pytest

from headway.simulate import Arrivals, Bursts, Recorded, Spread
from headway.simulate.arrivals import Stream, streams


def drawn(arrivals: Arrivals | Recorded, sources: int = 1, start: float = 0.0, end: float = 10.0) -> list[Stream]:
    return streams(arrivals, sources, start, end, (1, 2))


def test_constant_streams_begin_at_their_phase() -> None:
    assert list(drawn(Arrivals(2.0, 5, phase=0.25), end=2.0)[0].t) == [0.25, 0.75, 1.25, 1.75]
    assert list(drawn(Arrivals(1.0, phase=0.5), start=3.0, end=5.0)[0].t) == [3.5, 4.5]
    assert [stream.t[0] for stream in drawn(Arrivals(0.5), 4)] == [0.0, 0.5, 1.0, 1.5]
    random = [stream.t[0] for stream in drawn(Arrivals(1.0, phase="random"), 50)]
    assert len(set(random)) == 50
    assert 0.0 <= min(random) < 0.2 < 0.8 < max(random) < 1.0


def test_poisson_gaps_are_exponential() -> None:
    stream = drawn(Arrivals(100.0, 3, "poisson"), end=200.0)[0]
    gaps = np.diff(stream.t)
    assert gaps.mean() == pytest.approx(0.01, rel=0.03)
    assert gaps.std() == pytest.approx(0.01, rel=0.03)
    assert set(stream.rows) == {3}


def test_pareto_volumes_keep_the_mean_and_have_the_tail() -> None:
    counts = np.concatenate(
        [
            np.bincount(stream.t.astype(int), minlength=500)
            for stream in drawn(Arrivals(200.0, pareto=2.5), 40, end=500.0)
        ]
    )
    assert counts.mean() == pytest.approx(200.0, rel=0.03)
    assert counts.min() == pytest.approx(200.0 * 1.5 / 2.5, abs=1.0)
    # So many seconds have more than three times the least volume.
    assert (counts > 3 * counts.min()).mean() == pytest.approx(3**-2.5, rel=0.1)


def test_skewed_sources_are_geometric_with_the_same_total() -> None:
    counts = [len(stream.t) for stream in drawn(Arrivals(100.0, skew=200.0), 64, end=100.0)]
    assert sum(counts) == pytest.approx(64 * 100 * 100, rel=0.001)
    assert counts[-1] / counts[0] == pytest.approx(200.0, rel=0.01)
    assert counts[32] / counts[31] == pytest.approx(200.0 ** (1 / 63), rel=0.01)


def test_bursts_multiply_the_rate_while_they_last() -> None:
    stream = drawn(Arrivals(10.0, phase=0.0, bursts=Bursts(every=5.0, length=1.0, factor=4.0)), end=10.0)[0]
    assert list(np.bincount(stream.t.astype(int))) == [40, 10, 10, 10, 10, 40, 10, 10, 10, 10]


def test_event_time_is_behind_and_never_goes_back() -> None:
    stream = drawn(Arrivals(100.0, delay=Spread(0.2, scv=1.0)), end=50.0)[0]
    behind = stream.t - stream.p / 1e6
    assert behind.min() >= 0.0
    assert 0.0 < behind.mean() < 0.2
    assert (np.diff(stream.p) >= 0).all()
    exact = drawn(Arrivals(100.0, delay=Spread(0.25)), end=5.0)[0]
    np.testing.assert_array_equal(exact.p, np.rint((exact.t - 0.25) * 1e6))


def test_recorded_streams_are_as_they_were() -> None:
    stream = drawn(Recorded((((0.5, 3, 400_000, 0.01), (1.5, 4, 1_400_000, 0.02)),)), end=1.0)[0]
    assert (list(stream.t), list(stream.rows), list(stream.p)) == ([0.5], [3], [400_000])
    assert stream.seconds is not None
    assert list(stream.seconds) == [0.01]


def test_no_arrivals_at_all() -> None:
    assert [len(stream.t) for stream in drawn(Arrivals(0.0, process="poisson"), 3)] == [0, 0, 0]
    assert [len(stream.t) for stream in drawn(Arrivals(0.0), 3)] == [0, 0, 0]
