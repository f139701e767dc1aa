"""A query in which nothing happens costs next to nothing, and misses nothing when something does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine_cases import Runner
from pyspark.sql import functions as F

from headway import Headway
from headway.query import StreamingQuery

SCHEMA = "k long, v long"
SOON = 60.0


def until(condition: Callable[[], bool]) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


def epochs(checkpoint: Path) -> int:
    """The last epoch that was committed."""
    return max((int(file.stem) for file in (checkpoint / "headway" / "epochs").glob("*.json")), default=-1)


def start(hw: Headway, once: Runner, df: object, checkpoint: Path) -> StreamingQuery:
    writer = hw.writeStream(df).format("noop").option("headway.checkpointInterval", "100 ms")  # type: ignore[arg-type]
    return once.keep(writer.option("checkpointLocation", str(checkpoint)).start(fallback=False))


def test_epochs_end_only_where_something_happened(once: Runner, hw: Headway, tmp_path: Path) -> None:
    idle_stream, busy_stream = once.stream(SCHEMA), once.stream(SCHEMA)
    idle = start(hw, once, idle_stream.toDF(), tmp_path / "idle")
    busy = start(hw, once, busy_stream.toDF(), tmp_path / "busy")
    idle_stream.addData((1, 1))
    idle.processAllAvailable()
    busy.processAllAvailable()
    drained, at = epochs(tmp_path / "idle"), epochs(tmp_path / "busy")
    for more in range(1, 5):
        busy_stream.addData((more, more))
        until(lambda more=more: epochs(tmp_path / "busy") >= at + more)  # type: ignore[misc]
    # One more than the drain is allowed: what was counted while it went through may have come behind the barrier.
    assert epochs(tmp_path / "idle") <= drained + 1
    rested = epochs(tmp_path / "idle")
    idle_stream.addData((2, 2))
    until(lambda: epochs(tmp_path / "idle") > rested)


def test_rows_are_in_the_epoch_that_follows_them(once: Runner, hw: Headway, tmp_path: Path) -> None:
    """Nobody asks for it, and a restart from it finds nothing to read."""
    stream = once.stream(SCHEMA)
    query = start(hw, once, stream.toDF(), tmp_path)
    query.processAllAvailable()
    at = epochs(tmp_path)
    stream.addData((1, 1))
    until(lambda: sum(progress.numInputRows for progress in query.recentProgress) == 1)
    until(lambda: epochs(tmp_path) > at)
    query.stop()
    again = start(hw, once, stream.toDF(), tmp_path)
    again.processAllAvailable()
    assert sum(progress.numInputRows for progress in again.recentProgress) == 0


def test_many_idle_queries_need_no_threads(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    df = stream.toDF()
    queries = [once.start(df.where(F.col("v") > n)) for n in range(3)]
    for query in queries:
        query.processAllAvailable()
    before = threading.active_count()
    more = [once.start(df.where(F.col("v") > n)) for n in range(12)]
    for query in more:
        query.processAllAvailable()
    assert threading.active_count() <= before + 4


def test_queries_of_one_shape_keep_their_own_literals_and_options(once: Runner, hw: Headway) -> None:
    streams = [once.stream(SCHEMA, partitions=1) for _ in range(3)]
    queries = [
        once.start(stream.toDF().where(F.col("v") >= bound).select((F.col("v") * factor).alias("scaled")))
        for stream, bound, factor in zip(streams, (0, 5, 8), (1, 10, 100), strict=True)
    ]
    for number, stream in enumerate(streams):
        stream.addData(*[(number, v) for v in range(10)])
    for query in queries:
        query.processAllAvailable()
    tables = [sorted(row[0] for row in once.table(query)) for query in queries]
    assert tables == [list(range(10)), [10 * v for v in range(5, 10)], [800, 900]]
