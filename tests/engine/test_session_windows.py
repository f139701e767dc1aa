"""Session windows through the whole engine: what joins, what ends, what is late, and what a restart keeps."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

from engine_cases import START, Runner, events, same
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway import Headway
from headway.query import StreamingQuery
from headway.testing import MemoryStream

SCHEMA = "ts timestamp, k string, gap int"


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def sessions(df: DataFrame) -> DataFrame:
    """By key, ten seconds apart: when they begin and end, and how many events they have."""
    grouped = df.withWatermark("ts", "30 seconds").groupBy(F.session_window("ts", "10 seconds"), "k").count()
    return grouped.select("session_window.start", "session_window.end", "k", "count")


def add(stream: MemoryStream, query: StreamingQuery, *rows: tuple[float, str]) -> None:
    stream.addData(*[(at(second), key, 5) for second, key in rows])
    query.processAllAvailable()


def state(query: StreamingQuery) -> tuple[int, int]:
    """How many sessions are open, and how many events were late so far."""
    progress: list[Any] = [p for p in query.recentProgress if p["stateOperators"]]
    late = sum(int(s["numRowsDroppedByWatermark"]) for p in progress for s in p["stateOperators"])
    return int(progress[-1]["stateOperators"][0]["numRowsTotal"]), late


def expected(*rows: tuple[float, float, str, int]) -> Any:
    return same([(at(start), at(end), key, count) for start, end, key, count in rows])


def test_sessions_end_by_the_watermark(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    query = run.start(sessions(stream.toDF()))
    add(stream, query, (40, "a"), (40, "b"), (41, "a"), (41, "c"))
    assert (run.table(query), state(query)) == ([], (3, 0))
    # The watermark is 11 seconds: an event at 25 s is not late, and joins nothing yet; one at 34 s joins both for b.
    add(stream, query, (25, "b"))
    assert (run.table(query), state(query)) == ([], (4, 0))
    add(stream, query, (34, "b"))
    assert (run.table(query), state(query)) == ([], (3, 0))
    add(stream, query, (80, "c"))
    assert same(run.table(query)) == expected((25, 50, "b", 3))
    # The watermark is 50 seconds: of these the one for a is late, the last one joins a session that would have ended.
    add(stream, query, (82, "c"), (35, "a"), (45, "c"))
    assert same(run.table(query)) == expected((25, 50, "b", 3), (40, 51, "a", 2))
    assert state(query) == (2, 1)
    add(stream, query, (200, "z"))
    ended = [(25, 50, "b", 3), (40, 51, "a", 2), (41, 55, "c", 2), (80, 92, "c", 2)]
    assert same(run.table(query)) == expected(*ended)
    assert state(query) == (1, 1)


def test_complete_mode_is_the_batch_answer(run: Runner) -> None:
    run.check(
        "sessions",
        lambda df: df.groupBy(F.session_window("ts", "2 seconds"), "k").agg(F.count("*"), F.sum("i"), F.stddev("h")),
        events(200),
        output="complete",
    )
    run.check(
        "sessions with a gap of their own",
        lambda df: df.groupBy("b", F.session_window("ts", F.expr("make_interval(0, 0, 0, 0, 0, 0, abs(k))"))).count(),
        events(100),
        output="complete",
    )


def test_gaps_of_their_own_and_no_other_key(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    gap = F.expr("CASE WHEN gap > 7 THEN '8 seconds' ELSE '3 seconds' END")
    windows = stream.toDF().withWatermark("ts", "0 seconds").groupBy(F.session_window("ts", gap))
    query = run.start(windows.agg(F.max("gap")).select("session_window.*", "max(gap)"))
    stream.addData((at(0), "a", 1), (at(2), "a", 9), (at(11), "b", 4), (at(13), "b", 4))
    stream.addData((at(100), "a", 1))
    query.processAllAvailable()
    assert same(run.table(query)) == same([(at(0), at(10), 9), (at(11), at(16), 4)])


def test_open_sessions_outlive_a_restart(once: Runner, hw: Headway, tmp_path: Path) -> None:
    stream = once.stream(SCHEMA)

    def start() -> StreamingQuery:
        writer = hw.writeStream(sessions(stream.toDF())).format("parquet")
        return once.keep(writer.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "out")))

    query = start()
    add(stream, query, (0, "a"), (8, "a"), (3, "b"))
    query.stop()
    query = start()
    add(stream, query, (13, "b"), (100, "z"))
    rows = once.spark.read.parquet(str(tmp_path / "out")).collect()
    assert same(rows) == expected((0, 18, "a", 2), (3, 23, "b", 2))
