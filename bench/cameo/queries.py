"""IPQ1 to IPQ4 as DataFrames, and their exact answers from the definition of the events alone.

The paper names the queries; keys and window lengths are ours:
1. IPQ1: the sum of revenue per campaign (100), in tumbling windows.
2. IPQ2: the same in sliding windows.
3. IPQ3: the events per job and status (1000 groups), in tumbling windows.
4. IPQ4: errors by a windowed join of two log streams. What is counted, pairs of a left error and a right event of one
   key (1000 of them), is the product of two counts; so the join is a union of the streams, two conditional counts per
   window and key, and a filter of keys that both streams have.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numba
import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bench.cameo.arrivals import Arrivals
from bench.cameo.source import STATUSES, first_id, random_bits, value

SHAPES = ("ipq1", "ipq2", "ipq3", "ipq4")
ERROR_CLASSES = 3
"""Classes below this are errors."""
KEYS = {"ipq1": 100, "ipq2": 100, "ipq3": 1000, "ipq4": 1000}
_KINDS = {"ipq1": 0, "ipq2": 0, "ipq3": 1, "ipq4": 2}
RIGHT_SEED = 1 << 20
"""Added to a job's seed for the second stream of IPQ4."""

Answer = dict[tuple[int, int], int]
"""(window start in microseconds, key) to the result."""


def query(shape: str, streams: list[DataFrame], window: str, slide: str) -> DataFrame:
    """The columns are `window`, `key` and `result`. `streams` are two for IPQ4, one for the others."""
    if shape == "ipq4":
        left, right = streams
        errors = (F.col("error_class") < ERROR_CLASSES).cast("bigint")
        both = _keyed(left, errors, F.lit(0)).union(_keyed(right, F.lit(0), F.lit(1)))
        groups = both.withWatermark("event_time", "0 seconds").groupBy(_window(window, slide), "key")
        counted = groups.agg(F.sum("left").alias("lefts"), F.sum("right").alias("rights"))
        return counted.where("lefts > 0 and rights > 0").selectExpr("window", "key", "lefts * rights as result")
    events = streams[0].withWatermark("event_time", "0 seconds")
    if shape == "ipq3":
        key = (F.col("job") * STATUSES + F.col("status")).alias("key")
        return events.groupBy(_window(window, slide), key).agg(F.count("*").alias("result"))
    keyed = events.groupBy(_window(window, slide), F.col("campaign").alias("key"))
    return keyed.agg(F.sum("revenue").alias("result"))


def _keyed(stream: DataFrame, left: Any, right: Any) -> DataFrame:
    key = (F.col("job") * STATUSES + F.col("status")).alias("key")
    return stream.select("event_time", key, left.cast("bigint").alias("left"), right.cast("bigint").alias("right"))


def _window(window: str, slide: str) -> Any:
    return F.window("event_time", window) if window == slide else F.window("event_time", window, slide)


@numba.njit(cache=True)
def _add(first: int, rows: int, seed: int, kind: int, out: Any) -> None:
    """Add a message to a pane: `out` is [what, key]."""
    for row in range(rows):
        bits = random_bits(first + row, seed)
        if kind == 0:
            out[0, value(bits, 0, 100)] += value(bits, 12, 1000)
            out[1, value(bits, 0, 100)] += 1
        elif kind == 1:
            out[0, value(bits, 24, 200) * 5 + value(bits, 36, 5)] += 1
        elif kind == 2:
            out[0, value(bits, 24, 200) * 5 + value(bits, 36, 5)] += value(bits, 48, 10) < 3
        else:
            out[1, value(bits, 24, 200) * 5 + value(bits, 36, 5)] += 1


def _panes(shape: str, arrivals: Arrivals, t0_us: int, slide_us: int, until_us: int) -> dict[int, Any]:
    """Per pane number (event time // slide), the sums by key of all messages before `until_us`."""
    panes: dict[int, Any] = defaultdict(lambda: np.zeros((2, KEYS[shape]), np.int64))
    kinds = [(_KINDS[shape], arrivals.seed)]
    if shape == "ipq4":
        kinds.append((3, arrivals.seed + RIGHT_SEED))
    for kind, seed in kinds:
        stream = Arrivals(seed, arrivals.sources, arrivals.rate, arrivals.rows, arrivals.process)
        for source in range(stream.sources):
            rows = stream.schedule(source).rows
            for number, due in stream.until(source, until_us - t0_us):
                _add(first_id(source, number), rows, seed, kind, panes[(t0_us + due) // slide_us])
    return panes


def exact(shape: str, arrivals: Arrivals, t0_us: int, window_us: int, slide_us: int, until_us: int) -> Answer:
    """The results of all windows that end by `until_us`, a multiple of the slide."""
    panes = _panes(shape, arrivals, t0_us, slide_us, until_us)
    answer: Answer = {}
    length = window_us // slide_us
    first, last = t0_us // slide_us - length + 1, until_us // slide_us - length
    for start in range(first, last + 1):
        sums = sum(
            (panes[start + n] for n in range(length) if start + n in panes), np.zeros((2, KEYS[shape]), np.int64)
        )
        results = sums[0] * sums[1] if shape == "ipq4" else sums[0]
        there = sums[1] if _KINDS[shape] == 0 else results  # a sum of revenue may be 0
        answer |= {(start * slide_us, int(key)): int(results[key]) for key in np.flatnonzero(there)}
    return answer
