"""The query of a tenant, and its exact answer from the definition of the events alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.lines import Line, windows
from bench.tenants.schedule import Run
from bench.tenants.source import KEYS

WINDOW_US = 1_000_000
Answer = dict[tuple[int, int], int]
"""(window start in microseconds, key) to count."""


def query(events: DataFrame) -> DataFrame:
    """Events per key and second."""
    seconds = F.window("event_time", "1 second")
    return events.withWatermark("event_time", "0 seconds").groupBy(seconds, "key").count()


def counts(runs: Iterable[Run]) -> Answer:
    """The counts of all windows, ended or not."""
    counted: Counter[tuple[int, int]] = Counter()
    number = 0
    for run in runs:
        at = run.start_us + np.arange(run.rows, dtype=np.int64) * run.gap_us
        keys = np.arange(number, number + run.rows) % KEYS
        number += run.rows
        cells, sizes = np.unique((at // WINDOW_US) * KEYS + keys, return_counts=True)
        for cell, size in zip(cells.tolist(), sizes.tolist(), strict=True):
            counted[cell // KEYS * WINDOW_US, cell % KEYS] += size
    return dict(counted)


def correct(lines: list[Line], runs: list[Run]) -> bool:
    """Whether the lines (window start and end, key, count) are the windows that the last event has ended, each once.

    Whether a window that ends in the last event's own millisecond has ended is left open: Spark counts in milliseconds.
    """
    answer, once = windows(lines)
    everything = counts(runs)
    last = max((run.end_us for run in runs), default=0)
    ended = {key for key in everything if key[0] + WINDOW_US <= last - 1000}
    return once and ended <= set(answer) and all(everything.get(key) == count for key, count in answer.items())
