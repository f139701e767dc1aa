"""Finding the highest rate that a system follows, and how it does at 80 % of it. The same for every system.

A machine that is a guest of others' loses its processors for whole tenths of a second at times, and then any system is
late. So the run at 80 % is repeated while too much of it was stolen; the one that lost least counts, and says how much.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.cpu import stolen
from bench.report import Result

LOAD = 0.8
TRIES = 3
DISTURBED = 0.01
"""Part of the processors' time."""


@dataclass
class Trial:
    """A run at one offered rate (rows/s per query). `followed`: the backlog did not grow."""

    rate: int
    rows_per_s: float
    rows: int
    seconds: float
    followed: bool
    latency_ms: dict[str, float]
    correct: bool


def highest(run: Callable[[int, float], Trial], guess: int, seconds: float, say: Callable[[str], None]) -> Trial:
    """The trial at the highest rate that `run` follows: doubling from `guess`, then halving the gap."""
    short = max(8.0, seconds / 2)
    best, rate, failed = None, guess, None
    while failed is None:
        trial = _tell(run(rate, short), say)
        if trial.followed:
            best, rate = trial, rate * 2
        elif best is None and rate > guess // 64:
            rate //= 2
        else:
            failed = rate
    for _ in range(3):
        middle = ((best.rate if best else 0) + failed) // 2
        trial = _tell(run(middle, short), say)
        best, failed = (trial, failed) if trial.followed else (best, middle)
    # A shorter run at this rate was followed: so is the longer one, a little below it. If not, or if none was followed,
    # the steps become wider, so that an end is near.
    rate, share = (best.rate, 0.97) if best else (failed, 0.5)
    while True:
        rate = int(rate * share)
        trial = _tell(run(rate, seconds), say)
        if trial.followed or rate <= guess // 1024:
            return trial
        share *= 0.9


def _tell(trial: Trial, say: Callable[[str], None]) -> Trial:
    state = "followed" if trial.followed else "fell behind"
    say(f"  offered {trial.rate / 1e6:.2f} M rows/s per query: {state}, {trial.rows_per_s / 1e6:.2f} M rows/s in all")
    return trial


def measure(
    workload: str,
    system: str,
    queries: int,
    rate: str,
    seconds: float,
    run: Callable[[int, float], Trial],
    guess: int,
    say: Callable[[str], None],
) -> Result:
    """At a given rate, or, for "max", the highest rate, with the latency at 80 % of it."""
    if rate != "max":
        only = _tell(run(int(rate), seconds), say)
        return _result(workload, system, queries, only, only)
    most = highest(run, guess, seconds, say)
    say(f"{system}: highest {most.rate / 1e6:.2f} M rows/s per query; now at {LOAD:.0%} of it")
    loaded, lost = _undisturbed(lambda: _tell(run(int(most.rate * LOAD), seconds), say), say)
    return _result(workload, system, queries, most, loaded, lost)


def _undisturbed(run: Callable[[], Trial], say: Callable[[str], None]) -> tuple[Trial, float]:
    """The run of which the host took least, and which part of the processors' time that was."""
    tried: list[tuple[Trial, float]] = []
    while len(tried) < TRIES and not (tried and tried[-1][1] <= DISTURBED):
        began, before = time.monotonic(), stolen()
        trial = run()
        lost = (stolen() - before) / (time.monotonic() - began) / (os.cpu_count() or 1)
        p99 = trial.latency_ms.get("p99", 0.0)
        say(f"    {lost:.1%} of the processors' time was stolen meanwhile; p99 {p99:,.1f} ms")
        tried.append((trial, lost))
    return min(tried, key=lambda one: one[1])


def _result(workload: str, system: str, queries: int, most: Trial, loaded: Trial, lost: float | None = None) -> Result:
    told = {} if lost is None else {"stolen": lost}
    return Result(
        workload,
        system,
        queries,
        float(most.rate * queries),
        most.rows_per_s,
        loaded.latency_ms,
        most.seconds,
        most.rows,
        most.correct and loaded.correct,
        {"latency_at_rows_per_s": float(loaded.rate * queries)} | told,
    )
