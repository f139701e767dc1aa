"""Duplicates through the whole engine: what stays, what is late, and how long a key is known."""

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

SCHEMA = "ts timestamp, k string, v long"


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def add(stream: MemoryStream, query: StreamingQuery, *rows: tuple[float, str]) -> None:
    stream.addData(*[(at(second), key, 0) for second, key in rows])
    query.processAllAvailable()


def state(query: StreamingQuery) -> tuple[int, int]:
    """How many rows are kept, and how many were late so far."""
    progress: list[Any] = [p for p in query.recentProgress if p["stateOperators"]]
    late = sum(int(s["numRowsDroppedByWatermark"]) for p in progress for s in p["stateOperators"])
    return int(progress[-1]["stateOperators"][0]["numRowsTotal"]), late


def normal(df: DataFrame) -> DataFrame:
    """Zero has one sign: which one survives depends on what comes first."""
    return df.select("k", "s", "b", "y", "h", "i", "m", "x", "day", "ntz", (F.col("f") + 0).alias("f"), "ts")


def test_keys_of_every_type(run: Runner) -> None:
    rows = events() * 2 + events(40, seed=2)
    run.check("distinct", lambda df: normal(df).distinct(), rows)
    run.check("some columns", lambda df: normal(df).select("f", "s", "b").dropDuplicates(), rows)
    run.check("a struct", lambda df: df.select(F.struct("k", "s").alias("p")).dropDuplicates(["p"]), rows)
    run.check("keys", lambda df: normal(df).dropDuplicates(["k", "day"]).select("k", "day"), rows)


def test_the_first_that_comes_stays(run: Runner) -> None:
    stream = run.stream("k long, v long", partitions=1)
    query = run.start(stream.toDF().dropDuplicates(["k"]))
    stream.addData((1, 1), (2, 2), (1, 3), (None, 4))
    query.processAllAvailable()
    stream.addData((2, 5), (3, 6), (None, 7), (3, 8))
    query.processAllAvailable()
    assert sorted(run.table(query), key=str) == [(1, 1), (2, 2), (3, 6), (None, 4)]
    states: list[Any] = [state for p in query.recentProgress for state in p["stateOperators"]]
    assert sum(state["customMetrics"].get("numDroppedDuplicateRows", 0) for state in states) == 4


def test_keys_with_event_time_are_known_until_the_watermark(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    query = run.start(stream.toDF().withWatermark("ts", "10 seconds").dropDuplicates(["ts", "k"]).select("ts"))
    seconds = [*range(1, 6), *range(1, 6), *range(10, 16)]
    add(stream, query, *[(second, "a") for second in seconds])
    assert same(run.table(query)) == same([(at(second),) for second in dict.fromkeys(seconds)])
    assert state(query) == (6, 0)
    add(stream, query, (25, "a"))
    assert state(query) == (1, 0)
    add(stream, query, (10, "a"), (25, "a"))
    assert state(query) == (1, 1)
    add(stream, query, (45, "a"))
    assert state(query) == (1, 1)
    assert len(run.table(query)) == 13


def test_within_the_watermark_a_key_is_known_for_its_delay(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    within = stream.toDF().withWatermark("ts", "2 seconds").dropDuplicatesWithinWatermark(["k"]).select("ts", "k")
    query = run.start(within)
    add(stream, query, (1, "a"), (3, "a"), (2, "b"))
    assert same(run.table(query)) == same([(at(1), "a"), (at(2), "b")])
    assert state(query) == (2, 0)
    add(stream, query, (5, "c"), (2.5, "b"))  # the watermark is at 3 then: it ends a
    assert state(query) == (2, 0)
    add(stream, query, (4, "a"), (3.5, "b"), (3, "d"))
    assert state(query) == (3, 1)
    add(stream, query, (20, "e"))
    assert state(query) == (1, 1)
    expected = [(at(1), "a"), (at(2), "b"), (at(5), "c"), (at(4), "a"), (at(20), "e")]
    assert same(run.table(query)) == same(expected)


def test_a_restart_knows_the_keys_on_another_number_of_nodes(hw: Headway, once: Runner, tmp_path: Path) -> None:
    stream = once.stream(SCHEMA)
    df = stream.toDF().withWatermark("ts", "10 seconds").dropDuplicates(["ts", "k"])
    for nodes in (1, hw.nodes, 1):
        writer = hw.writeStream(df).format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = once.keep(writer.option("headway.nodes", nodes).start(str(tmp_path / "out"), fallback=False))
        add(stream, query, *[(second, key) for second in range(5, 20) for key in "abcdefgh"], (4, "z"))
        query.stop()
    found = once.spark.read.parquet(str(tmp_path / "out"))
    assert same(found.groupBy("k").count().collect()) == same([*[(key, 15) for key in "abcdefgh"], ("z", 1)])
