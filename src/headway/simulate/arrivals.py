"""When messages come to sources, drawn from a scenario: the same for every policy.

Every process is one of rate 1, regular or Poisson, whose time is stretched: where the rate is high, much of it passes
in a second. Bursts and Pareto volumes are such rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.simulate.jobs import Arrivals, Bursts, Recorded, Spread

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Stream:
    """What comes to one source operator, in order: times, rows, event times (microseconds), and what polls took (None:
    the stage's cost says)."""

    t: Floats
    rows: Integers
    p: Integers
    seconds: Floats | None = None


def streams(arrivals: Arrivals | Recorded, sources: int, start: float, end: float, seed: Any) -> list[Stream]:
    """The streams of a stage's source operators between start and end."""
    if isinstance(arrivals, Recorded):
        return [_recorded(points, start, end) for points in arrivals.points]
    rates = _skewed(arrivals, sources)
    return [
        _stream(arrivals, rates[i], i / sources, start, end, np.random.default_rng([*seed, i])) for i in range(sources)
    ]


def _recorded(points: tuple[tuple[float, int, int, float], ...], start: float, end: float) -> Stream:
    kept = [point for point in points if start <= point[0] < end]
    t, rows, p, seconds = zip(*kept, strict=True) if kept else ((), (), (), ())
    return Stream(np.array(t, float), np.array(rows, np.int64), np.array(p, np.int64), np.array(seconds, float))


def _skewed(arrivals: Arrivals, sources: int) -> Floats:
    weights: Floats = np.geomspace(1.0, arrivals.skew, sources) if sources > 1 else np.ones(1)
    rates: Floats = arrivals.rate * weights / weights.mean()
    return rates


def _stream(
    arrivals: Arrivals, rate: float, place: float, start: float, end: float, random: np.random.Generator
) -> Stream:
    times, passed = _stretch(arrivals, rate, start, end, random)
    t = np.interp(_unit(arrivals, rate, place, passed[-1], random), passed, times)
    t = t[t < end]
    p = np.maximum.accumulate(t - _draw(arrivals.delay, len(t), random)) if len(t) else t
    return Stream(t, np.full(len(t), arrivals.rows), np.rint(p * 1e6).astype(np.int64))


def _unit(arrivals: Arrivals, rate: float, place: float, length: float, random: np.random.Generator) -> Floats:
    """The points of a process of rate 1, up to `length`."""
    if arrivals.process == "poisson":
        # Six standard deviations more than the mean: that so many do not suffice never happens.
        gaps = random.exponential(1.0, ceil(length + 6.0 * length**0.5 + 16.0))
        points = np.cumsum(gaps)
    else:
        phase = arrivals.phase
        begin = place if phase == "even" else random.random() if phase == "random" else float(phase) * rate
        points = begin + np.arange(ceil(max(0.0, length - begin)))
    return points[points < length]


def _stretch(
    arrivals: Arrivals, rate: float, start: float, end: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Times, and how much of the unit process has passed at them."""
    times = np.array([start, end])
    if arrivals.pareto is not None:
        times = np.append(np.arange(start, end), end)
    if arrivals.bursts is not None:
        times = np.union1d(times, _edges(arrivals.bursts, start, end))
    lengths = np.diff(times)
    rates = np.full(len(lengths), rate)
    if arrivals.pareto is not None:
        seconds = (times[:-1] - start).astype(int)
        # numpy's Pareto begins at 0 and has the mean 1 / (shape - 1).
        volumes = (1.0 + random.pareto(arrivals.pareto, seconds[-1] + 1)) * (arrivals.pareto - 1.0) / arrivals.pareto
        rates = rates * volumes[seconds]
    if arrivals.bursts is not None:
        rates = (
            np.where((times[:-1] + 1e-9) % arrivals.bursts.every < arrivals.bursts.length, arrivals.bursts.factor, 1.0)
            * rates
        )
    return times, np.concatenate([[0.0], np.cumsum(rates * lengths)])


def _edges(bursts: Bursts, start: float, end: float) -> Floats:
    begins = np.arange(ceil(start / bursts.every) - 1, ceil(end / bursts.every)) * bursts.every
    edges = np.concatenate([begins, begins + bursts.length])
    return edges[(edges > start) & (edges < end)]


def _draw(spread: Spread, count: int, random: np.random.Generator) -> Floats:
    if spread.scv == 0.0 or spread.mean == 0.0:
        return np.full(count, spread.mean)
    return random.gamma(1.0 / spread.scv, spread.scv * spread.mean, count)
