"""Whether a rate is followed, judged by how far a system lags behind the schedule of its rows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from bench.search import BEHIND, LAG, Trial

SAMPLES_PER_S = 20


def watch(
    rate: int, queries: int, seconds: float, emitted: Callable[[], int], lag_ms: Callable[[], float]
) -> tuple[Trial, list[float]]:
    """Look at running queries for so long, or until they have fallen behind: a trial that lacks its latency and whether
    it is correct, and the lags.

    `emitted` counts the rows that all queries have taken. A rate is followed if nearly all of it was taken and the lag
    at the end is not much more than that of the first half.
    """
    began, before = time.time(), emitted()
    lags: list[float] = []
    while time.time() < began + seconds and not (lags and lags[-1] > BEHIND * 1000):
        lags.append(lag_ms())
        time.sleep(1 / SAMPLES_PER_S)
    cut = lags[-1] > BEHIND * 1000
    took, rows = time.time() - began, emitted() - before
    early, late = np.median(lags[: max(1, len(lags) // 2)]), np.median(lags[-len(lags) // 4 :])
    followed = rows / took > 0.95 * rate * queries and late <= 1.2 * early + LAG * 1000 and not cut
    return Trial(rate, rows / took, rows, took, bool(followed), {}, False, cut), lags
