"""However much comes and however slowly it is taken, a node's memory stays where it was."""

import threading
from pathlib import Path

from pyspark.sql import Row, SparkSession

from headway import Headway

PAGE = 4096


def resident(hw: Headway) -> int:
    """Bytes of memory that the nodes hold."""
    statm = (Path(f"/proc/{hello.pid}/statm").read_text() for hello in hw._runtime.coordinator.hellos())
    return sum(int(text.split()[1]) for text in statm) * PAGE


def after(hw: Headway, query: object, progresses: int) -> int:
    """The nodes' memory when the query has made so many more progresses."""
    made = threading.Semaphore(0)
    query._run._running.add_progress_callback(lambda progress, idle: made.release())  # type: ignore[attr-defined]
    for _ in range(progresses):
        assert made.acquire(timeout=30)
    return resident(hw)


def test_a_source_faster_than_the_nodes(spark: SparkSession, hw: Headway) -> None:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1_000_000_000).load()
    query = hw.writeStream(rows.where("value % 7 = 0")).format("noop").start(fallback=False)
    try:
        before = after(hw, query, 4)
        assert after(hw, query, 8) < before + 200 * 1024 * 1024
        assert query.lastProgress["headway"]["backlogRows"] > 0
    finally:
        query.stop()


def test_a_sink_that_hangs_holds_back_its_source_alone(spark: SparkSession, hw: Headway) -> None:
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1_000_000).load()

    def hang(row: Row) -> None:
        threading.Event().wait()

    stuck = hw.writeStream(rows).foreach(hang).start(fallback=False)
    free = hw.writeStream(rows.where("value % 1000 = 0")).format("noop").start(fallback=False)
    try:
        before = after(hw, free, 4)
        assert after(hw, free, 4) < before + 200 * 1024 * 1024
        assert stuck.lastProgress["numInputRows"] == 0
        assert free.lastProgress["numInputRows"] > 0
    finally:
        stuck.stop()
        free.stop()


def test_strings_of_megabytes_wait_at_their_source_and_are_told_of(spark: SparkSession, hw: Headway) -> None:
    """A thousand rows a second, a megabyte each, which nobody takes: all but a few stay numbers."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1000).load()

    def hang(row: Row) -> None:
        threading.Event().wait()

    wide = rows.selectExpr("repeat('x', 1000000 + cast(value % 10 as int)) AS text")
    stuck = hw.writeStream(wide).foreach(hang).start(fallback=False)
    free = hw.writeStream(rows.where("value % 10 = 0")).format("noop").start(fallback=False)
    try:
        after(hw, free, 2)
        before = resident(hw)
        assert after(hw, free, 4) < before + 200 * 1024 * 1024
        held = stuck.lastProgress["headway"]["memory"]["inFlightBytes"]
        # On each of two nodes: what a channel holds, what the sink's thread holds, and a piece too much in both.
        assert 1_000_000 <= held < 2 * (16 + 16 * 4 + 8) * 1024 * 1024
        assert free.lastProgress["numInputRows"] > 0
        assert free.lastProgress["headway"]["memory"]["inFlightBytes"] < 1024 * 1024
    finally:
        stuck.stop()
        free.stop()
