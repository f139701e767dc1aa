"""Finding the highest rate that a system follows, and how it does at 80 % of it. The same for every system.

1. Every trial has the whole length of a measured run, so that the highest rate that was followed needs no second run.
   The search begins with a guess per system; a guess that is far off costs trials, but changes nothing of what is found
   but for the last eighth of it.
2. A trial that falls behind says what the system takes when more is offered: the next one offers a little less.
3. A trial in which rows that came `BEHIND` seconds ago still have no effect has failed, and is ended then.
4. A machine that is a guest of others' loses its processors for whole tenths of a second at times, and then any system
   is late. So the run at 80 % is repeated while too much of it was stolen; the one that lost least counts, and says how
   much.
5. A system that has a latency target is held to it: a rate at which more than a hundredth of the events come later has
   not been followed. So what it is said to take is less than what it reads when more is offered.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.cpu import stolen
from bench.report import Result

LOAD = 0.8
TRIES = 5
DISTURBED = 0.001
"""Part of the processors' time."""
BEHIND = 20.0
"""Seconds. Micro-batches are late by up to twice their length, seconds of it where they follow."""
LAG = 0.5
"""Seconds by which a system that follows may lag more at the end of a trial than before, whatever the machine did."""
STEP = 1.25
"""From a guess that was followed to the next rate; the steps after it are wider, for the guess was poor."""
NEAR = 1.125
"""A rate that was followed is the highest if so many times more was not."""
A_LITTLE_LESS = 0.95
SMALLEST = 1 / 1024
"""Part of the guess."""


@dataclass
class Trial:
    """A run at one offered rate (rows/s per query). `followed`: the backlog did not grow, and the target was kept;
    `cut`: it had fallen behind, and was ended before its time; `late`: it kept up, but too much was late."""

    rate: int
    rows_per_s: float
    rows: int
    seconds: float
    followed: bool
    latency_ms: dict[str, float]
    correct: bool
    cut: bool = False
    late: bool = False


def highest(
    run: Callable[[int, float], Trial], guess: int, seconds: float, say: Callable[[str], None], queries: int = 1
) -> Trial:
    """The trial at the highest rate that `run` follows; one that fell behind, if none is."""
    best: Trial | None = None
    failed: Trial | None = None
    rate, step = guess, STEP
    while True:
        trial = _tell(run(rate, seconds), say)
        if trial.followed:
            best = trial
        else:
            failed = trial
        if failed is None:
            rate, step = int(rate * step), min(step * step, 4.0)
        elif best is not None:
            if failed.rate <= best.rate * NEAR + 1:
                return best
            rate = _between(best.rate, failed.rate, failed.rows_per_s / queries)
        elif rate <= guess * SMALLEST:
            return failed
        else:
            rate = _below(failed.rate, failed.rows_per_s / queries)


def _below(failed: int, took: float) -> int:
    """A rate to try when `failed` was too much, of which so much was taken."""
    return int(min(max(took * A_LITTLE_LESS, failed / 4), failed / STEP))


def _between(followed: int, failed: int, took: float) -> int:
    """The same when a rate is known that is followed: what was taken, if that is not near one of the two."""
    return round(min(max(took * A_LITTLE_LESS, followed * NEAR), failed / NEAR))


def _tell(trial: Trial, say: Callable[[str], None]) -> Trial:
    if trial.followed:
        state = "followed"
    else:
        state = "too late" if trial.late else "fell behind, and was ended" if trial.cut else "fell behind"
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
    most = highest(run, guess, seconds, say, queries)
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
        say(f"    {lost:.2%} of the processors' time was stolen meanwhile; p99 {p99:,.1f} ms")
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
