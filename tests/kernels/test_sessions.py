"""Session windows against Spark over the same rows, and what becomes of sessions as the watermark moves on."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aggregation import UTC, WINDOW, aggregate_of, call, comparable, source_of, table_of
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered import answer_of, batch_of, stream_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import Aggregate
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.sessions import SessionMerge

L = T.LongType()
# The clocks of New York go forward at 07:00 on this day.
START = dt.datetime(2024, 3, 10, 5, 30, tzinfo=UTC)


def _rows(count: int = 300) -> pa.Table:
    rng = random.Random(8)
    times = [
        START + dt.timedelta(seconds=rng.randrange(1200) * 10, milliseconds=rng.randrange(3)) for _ in range(count)
    ]
    return table_of(
        {
            "ts": (T.TimestampType(), [None if rng.random() < 0.03 else time for time in times]),
            "k": (T.StringType(), rng.choices(["a", "b", "c", None], k=count)),
            "v": (L, rng.choices([1, 2, 3, None], k=count)),
            "gap": (T.StringType(), rng.choices(["5 seconds", "2 minutes", "no gap", "-1 second", None], k=count)),
            "n": (T.IntegerType(), rng.choices([0, 10, 70, None], k=count)),
        }
    )


def _sessions(*keys: str, gap: str, computed: bool = False) -> Callable[[DataFrame], DataFrame]:
    """`computed`: the gap is an expression over the row."""
    return lambda df: df.groupBy(*keys, F.session_window("ts", F.expr(gap) if computed else gap)).agg(
        F.count("*").alias("rows"), F.sum("v").alias("sum"), F.stddev("v").alias("sd"), F.max("ts").alias("last")
    )


_CASE = "CASE v WHEN 1 THEN '5 seconds' WHEN 2 THEN '0 seconds' ELSE '70 seconds' END"
CASES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "by key": _sessions("k", gap="20 seconds"),
    "by two keys": _sessions("k", "n", gap="1 minute"),
    "in all": _sessions(gap="15 seconds"),
    "gap of a day": _sessions("k", gap="1 day"),
    "gap by case": _sessions("k", gap=_CASE, computed=True),
    "gap by text": _sessions("k", gap="gap", computed=True),
    "made gap": _sessions("k", gap="make_interval(0, 0, 0, 0, 0, v, n)", computed=True),
    "made gap of a month": _sessions("k", gap="make_interval(0, if(n = 1, 1, 0), 0, 0, 0, v, n)", computed=True),
    "bounds": lambda df: _sessions("k", gap="20 seconds")(df).select(
        "k", "session_window.start", "session_window.end", "rows"
    ),
    "after a filter": lambda df: _sessions("k", gap="20 seconds")(df.where("v > 1")).where("rows > 1"),
}


@pytest.mark.parametrize("name", CASES)
def test_sessions_are_sparks(spark: SparkSession, tmp_path: Path, name: str) -> None:
    table = _rows()
    expected = comparable(CASES[name](batch_of(spark, table)).toArrow())
    stream = CASES[name](stream_of(spark, table, tmp_path))
    assert len(expected) > 3
    for seed in (1, 2):
        assert comparable(answer_of(stream, table, seed)) == expected


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark too fails on grouping sets with sessions."""
    stream = stream_of(spark, _rows(3), tmp_path)
    with pytest.raises(UnsupportedPlan, match="grouping sets"):
        lower(stream.rollup("k", F.session_window("ts", "30 seconds")).count())


SOURCE = source_of([("k", L), ("w", WINDOW), ("v", L)])


def _aggregate(keys: list[int]) -> Aggregate:
    plain = aggregate_of(SOURCE, keys, [call("count", None), call("sum", Column(L, 2))], event_key=len(keys) - 1)
    return Aggregate(plain.schema, plain.input, plain.keys, plain.aggs, plain.event_key, session=True)


BY_KEY = _aggregate([0, 1])


def _partials(*events: tuple[int, int, int]) -> pa.RecordBatch:
    """Of events of (key, time, gap), each of which counts 1."""
    windows = [{"start": time, "end": time + gap} for _, time, gap in events]
    columns = [
        pa.array([key for key, _, _ in events], pa.int64()),
        pa.array(windows, arrow_type(WINDOW)),
        pa.array([1] * len(events), pa.int64()),
    ]
    chain = InterpretedChain(Chain(SOURCE, (), BY_KEY))
    chain.process(pa.RecordBatch.from_arrays(columns, ["k", "w", "v"]))
    partials = chain.flush(None)
    assert partials is not None
    return partials


def _plain(batch: pa.RecordBatch | None) -> list[tuple[int, ...]]:
    """Results as sorted (key, start, end, count)."""
    if batch is None:
        return []
    bounds = [column.cast(pa.int64()).to_pylist() for column in batch.column(1).flatten()]
    return sorted(zip(batch.column(0).to_pylist(), *bounds, batch.column(2).to_pylist(), strict=True))


def test_a_session_leaves_when_the_watermark_has_reached_its_end() -> None:
    merge = SessionMerge(BY_KEY)
    merge.merge(_partials((1, 0, 10), (1, 7, 10), (2, 3, 10)), None)
    assert _plain(merge.emit("append", 12)) == []
    assert _plain(merge.emit("append", 13)) == [(2, 3, 13, 1)]
    assert _plain(merge.emit("append", 17)) == [(1, 0, 17, 2)]
    assert merge.groups == 0


def test_an_event_joins_two_sessions() -> None:
    merge = SessionMerge(BY_KEY)
    merge.merge(_partials((1, 0, 10), (1, 20, 10), (2, 0, 10)), None)
    assert merge.groups == 3
    merge.merge(_partials((1, 10, 10)), 9)
    assert merge.groups == 2
    assert _plain(merge.emit("append", 30)) == [(1, 0, 30, 3), (2, 0, 10, 1)]


def test_late_events_are_dropped_and_counted() -> None:
    merge = SessionMerge(BY_KEY)
    merge.merge(_partials((1, 0, 10)), None)
    assert _plain(merge.emit("append", 15)) == [(1, 0, 10, 1)]
    assert merge.merge(_partials((1, 3, 10), (1, 5, 10), (3, 4, 20)), 15) == 1
    assert _plain(merge.emit("append", 100)) == [(3, 4, 24, 1)]


def test_complete_gives_all_when_something_changed() -> None:
    merge = SessionMerge(BY_KEY)
    merge.merge(_partials((1, 0, 10), (2, 50, 10)), None)
    assert _plain(merge.emit("complete", 90)) == [(1, 0, 10, 1), (2, 50, 60, 1)]
    assert merge.emit("complete", 90) is None
    merge.merge(_partials((1, 8, 10)), None)
    assert _plain(merge.emit("complete", 90)) == [(1, 0, 18, 2), (2, 50, 60, 1)]


_events = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 200), st.integers(1, 12)), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(events=_events, seed=st.integers(0, 2**16))
def test_any_order_gives_the_same_sessions(events: list[tuple[int, int, int]], seed: int) -> None:
    """Events come in any order and in pieces, with restarts in between; the watermark stays behind them."""
    rng = random.Random(seed)
    merge = SessionMerge(BY_KEY)
    shuffled = rng.sample(events, len(events))
    while shuffled:
        size = rng.randrange(1, 6)
        merge.merge(_partials(*shuffled[:size]), None)
        shuffled = shuffled[size:]
        if rng.random() < 0.3:
            state, merge = merge.snapshot(), SessionMerge(BY_KEY)
            merge.restore(state.slice(0, 2))
            merge.restore(state.slice(2))
    results: list[Any] = []
    for watermark in range(0, 300, 7):
        results += _plain(merge.emit("append", watermark))
    assert sorted(results) == _expected(events)
    assert merge.groups == 0


def _expected(events: list[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
    sessions: list[list[int]] = []
    for key, time, gap in sorted(events):
        if sessions and sessions[-1][0] == key and time <= sessions[-1][2]:
            sessions[-1][2] = max(sessions[-1][2], time + gap)
            sessions[-1][3] += 1
        else:
            sessions.append([key, time, time + gap, 1])
    return sorted(tuple(session) for session in sessions)  # type: ignore[misc]


def test_many_sessions_of_many_keys_stay_apart() -> None:
    rng = np.random.default_rng(4)
    merge = SessionMerge(BY_KEY)
    total = 0
    for round_ in range(30):
        keys, times = rng.integers(0, 5000, 2000), round_ * 100 + rng.integers(0, 100, 2000)
        assert merge.merge(_partials(*((int(k), int(t), 50) for k, t in zip(keys, times, strict=True))), None) == 0
        ended = merge.emit("append", round_ * 100 - 1)
        total += 0 if ended is None else sum(ended.column(2).to_pylist())
        assert merge.groups <= 5000 * 2
    last = merge.emit("append", 10**6)
    assert last is not None
    assert total + sum(last.column(2).to_pylist()) == 30 * 2000
