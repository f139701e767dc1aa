"""State stays bounded: an hour of event time through every stateful operator, and its state does not grow."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from engine_cases import START, Runner
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from stateful_functions import OUTPUT, Forgetting, Remembering, counted

from headway.query import StreamingQuery

SCHEMA = "k string, v long, ts timestamp"
HOUR, PIECE = 3600, 300
NEAR = "l.v = r.v and l.ts between r.ts - interval 5 seconds and r.ts + interval 3 seconds"
Build = Callable[[DataFrame, DataFrame], DataFrame]


def windows(df: DataFrame) -> DataFrame:
    return df.groupBy(F.window("ts", "10 seconds"), "v").agg(F.count("*").alias("n"), F.collect_list("k").alias("ks"))


def of_windows(df: DataFrame) -> DataFrame:
    ended = windows(df).select(F.window_time("window").alias("ts"), "n")
    return ended.groupBy(F.window("ts", "1 minute")).agg(F.sum("n").alias("n"))


def near(how: str) -> Build:
    return lambda left, right: left.alias("l").join(right.alias("r"), F.expr(NEAR), how).select("l.k", "l.v")


BUILDS: dict[str, tuple[Build, int]] = {
    "windows": (lambda left, right: windows(left), 1),
    "windows of windows": (lambda left, right: of_windows(left), 2),
    "sessions": (lambda left, right: left.groupBy(F.session_window("ts", "7 seconds"), "k").count(), 1),
    "no duplicates": (lambda left, right: left.dropDuplicates(["k", "ts"]), 1),
    "no duplicates within the watermark": (lambda left, right: left.dropDuplicatesWithinWatermark(["k"]), 1),
    "inner join": (near("inner"), 1),
    "left join": (near("left"), 1),
    "full join": (near("full"), 1),
    "semi join": (near("left_semi"), 1),
    "a join, then windows": (lambda left, right: windows(left.join(right.select("k", F.col("ts").alias("t")),
        F.expr("ts = t")).select(left.k, "v", "ts")), 2),
    "applyInPandasWithState": (lambda left, right: left.groupBy("k").applyInPandasWithState(
        counted, OUTPUT, "n long, last long", "Append", "EventTimeTimeout"), 1),
    "transformWithState, timers": (
        lambda left, right: left.groupBy("k").transformWithState(Remembering(), OUTPUT, "Append", "EventTime"), 1),
    "transformWithState, time to live": (
        lambda left, right: left.groupBy("k").transformWithState(Forgetting(), OUTPUT, "Append", "ProcessingTime"), 1),
}  # fmt: skip
"""A query over two streams, and how many operators of it keep state."""


def rows(first: int) -> list[tuple[Any, ...]]:
    """One a second; a key is over after ten."""
    return [(str(s // 10), s % 7, START + dt.timedelta(seconds=s)) for s in range(first, first + PIECE)]


def state(query: StreamingQuery) -> list[tuple[int, int]]:
    """Rows and bytes, per operator."""
    told: list[Any] = [p["stateOperators"] for p in query.recentProgress if p["stateOperators"]]
    return [(int(s["numRowsTotal"]), int(s["memoryUsedBytes"])) for s in told[-1]]


def test_an_hour_of_event_time_leaves_as_much_as_half_of_it(once: Runner) -> None:
    left, right = once.stream(SCHEMA, partitions=1), once.stream(SCHEMA, partitions=1)
    timed = [stream.toDF().withWatermark("ts", "20 seconds") for stream in (left, right)]
    queries = {name: once.start(build(*timed)) for name, (build, _) in BUILDS.items()}
    most: dict[str, list[tuple[int, int]]] = {name: [(0, 0)] * operators for name, (_, operators) in BUILDS.items()}
    for first in range(0, HOUR, PIECE):
        left.addData(*rows(first))
        right.addData(*rows(first))
        for name, query in queries.items():
            query.processAllAvailable()
            now = state(query)
            assert len(now) == len(most[name]), name
            if first < HOUR // 2:
                most[name] = [(max(a, c), max(b, d)) for (a, b), (c, d) in zip(most[name], now, strict=True)]
    for name, query in queries.items():
        for (kept, size), (most_kept, most_bytes) in zip(state(query), most[name], strict=True):
            assert kept <= most_kept < PIECE, name
            assert size <= most_bytes, name
            assert (size > 0) == (kept > 0) or name.startswith("transform"), name
