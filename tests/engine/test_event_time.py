"""Watermarks through the whole engine: what is late is what Spark may drop, and silence holds nobody up for ever."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

from engine_cases import START, Runner, same
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener

from headway import Headway
from headway.query import StreamingQuery
from headway.testing import MemoryStream

SCHEMA = "ts timestamp, v long"
PATIENCE = 30.0


def at(seconds: int) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def counts(df: DataFrame, delay: str = "10 seconds") -> DataFrame:
    return sums(df.withWatermark("ts", delay))


def sums(df: DataFrame) -> DataFrame:
    """Of every ten seconds: when they begin and the sum of their values."""
    return df.groupBy(F.window("ts", "10 seconds")).agg(F.sum("v").alias("sum")).select("window.start", "sum")


def add(stream: MemoryStream, *seconds: int, partition: int = 0) -> None:
    stream.addData(*[(at(second), 1) for second in seconds], partition=partition)


def dropped(query: Any) -> int:
    """How many rows the query says it dropped because they were late."""
    return sum(int(s["numRowsDroppedByWatermark"]) for p in query.recentProgress for s in p["stateOperators"])


class Watcher(StreamingQueryListener):  # type: ignore[misc]
    """Lets a test wait for what progress says."""

    def __init__(self, query: StreamingQuery) -> None:
        self._id = query.id
        self._changed = threading.Condition()
        self.input_rows = 0
        self.watermark = ""

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None:
        if str(event.progress.id) == self._id:
            with self._changed:
                self.input_rows += event.progress.numInputRows
                self.watermark = event.progress.eventTime.get("watermark", self.watermark)
                self._changed.notify_all()

    def wait(self, rows: int = 0, watermark: dt.datetime = START) -> bool:
        """Until so many rows were read and the watermark is there; False if that takes too long."""
        text = f"{watermark.isoformat()}.000Z"
        with self._changed:
            return self._changed.wait_for(lambda: self.input_rows >= rows and self.watermark >= text, PATIENCE)


def watch(hw: Headway, query: StreamingQuery) -> Watcher:
    watcher = Watcher(query)
    hw.streams.addListener(watcher)
    return watcher


STEPS = [(100, 5), (75, 85, 91, 60), (130, 20), (119, 121, 1), (1000,)]
"""Seconds of event time in every step: rows are late to earlier steps, never to their own."""


def _spark_steps(run: Runner, tmp_path: Any) -> tuple[Any, int]:
    stream = run.stream(SCHEMA, partitions=1)
    options = {"checkpointLocation": str(tmp_path)}
    query = counts(stream.toDF()).writeStream.format("memory").queryName("late_oracle").options(**options).start()
    try:
        for step in STEPS:
            add(stream, *step)
            query.processAllAvailable()
        return same(run.spark.table("late_oracle").collect()), dropped(query)
    finally:
        query.stop()


def test_late_rows_are_those_that_spark_drops(once: Runner, hw: Headway, tmp_path: Any) -> None:
    expected, late = _spark_steps(once, tmp_path)
    for nodes, compile in ((1, "never"), (hw.nodes, "first")):
        stream = once.stream(SCHEMA, partitions=1)
        query = once.start(counts(stream.toDF()), **{"headway.nodes": str(nodes), "headway.compile": compile})
        for step in STEPS:
            add(stream, *step)
            query.processAllAvailable()
        assert same(once.table(query)) == expected
        assert dropped(query) == late > 0


def test_a_window_comes_when_the_watermark_has_passed_it_and_once(run: Runner) -> None:
    stream = run.stream(SCHEMA, partitions=2)
    query = run.start(counts(stream.toDF()))
    seen = []
    for second in (5, 19, 20, 29, 30, 55):
        add(stream, second, partition=second % 2)
        query.processAllAvailable()
        seen.append(sorted(row[0] for row in run.table(query)))
    none, first, second, third = [], [at(0)], [at(0), at(10)], [at(0), at(10), at(20)]
    assert seen == [none, none, first, first, second, [*third[:2], at(20), at(30)]]


def test_update_mode_keeps_what_is_not_late(run: Runner) -> None:
    stream = run.stream(SCHEMA, partitions=1)
    query = run.start(counts(stream.toDF()), "update")
    for step in ((100, 5), (5, 95), (95,)):
        add(stream, *step)
        query.processAllAvailable()
    assert same(run.table(query)) == same([(at(100), 1), (at(0), 1), (at(90), 1), (at(90), 2)])
    assert dropped(query) == 1


def test_complete_mode_drops_nothing(run: Runner) -> None:
    stream = run.stream(SCHEMA, partitions=1)
    query = run.start(counts(stream.toDF()), "complete")
    for step in ((1000,), (5,)):
        add(stream, *step)
        query.processAllAvailable()
    assert same(run.table(query)) == same([(at(1000), 1), (at(0), 1)])
    assert dropped(query) == 0


def test_the_slowest_partition_holds_the_watermark_back(run: Runner, hw: Headway) -> None:
    stream = run.stream(SCHEMA, partitions=2)
    query = run.start(counts(stream.toDF()), **{"headway.idleTimeout": "1 hour"})
    watcher = watch(hw, query)
    add(stream, 50, partition=1)  # first: nothing is known of a partition until it is found
    add(stream, 100, partition=0)
    assert watcher.wait(rows=2)
    add(stream, 200, partition=0)
    assert watcher.wait(rows=3, watermark=at(40))
    assert watcher.watermark == f"{at(40).isoformat()}.000Z"
    add(stream, 45, partition=1)
    assert watcher.wait(rows=4)
    assert run.table(query) == []
    add(stream, 70, partition=1)
    assert watcher.wait(watermark=at(60))
    assert same(run.table(query)) == same([(at(40), 1), (at(50), 1)])
    hw.streams.removeListener(watcher)


def test_a_silent_partition_does_not_hold_back_for_ever(run: Runner, hw: Headway) -> None:
    stream = run.stream(SCHEMA, partitions=2)
    query = run.start(counts(stream.toDF()), **{"headway.idleTimeout": "100 ms"})
    watcher = watch(hw, query)
    add(stream, 50, partition=1)
    add(stream, 200, partition=0)
    assert watcher.wait(watermark=at(190))
    assert run.table(query) == [(at(50), 1)]
    hw.streams.removeListener(watcher)


def test_windows_of_windows(run: Runner) -> None:
    stream = run.stream(SCHEMA, partitions=2)
    fives = (
        stream.toDF().withWatermark("ts", "5 seconds").groupBy(F.window("ts", "5 seconds")).agg(F.sum("v").alias("s"))
    )
    twenties = fives.groupBy(F.window("window", "20 seconds")).agg(F.sum("s").alias("s"), F.count("*").alias("n"))
    query = run.start(twenties.select("window.start", "s", "n"))
    for second in range(0, 100, 10):
        add(stream, *range(second, second + 10), partition=second // 10 % 2)
        query.processAllAvailable()
    assert same(run.table(query)) == same([(at(second), 20, 4) for second in (0, 20, 40, 60)])


def test_a_stream_without_a_watermark_holds_nobody_back(run: Runner) -> None:
    one, other = run.stream(SCHEMA, partitions=1), run.stream(SCHEMA, partitions=1)
    query = run.start(sums(one.toDF().withWatermark("ts", "5 seconds").union(other.toDF())))
    add(one, 1)
    add(other, 1)
    query.processAllAvailable()
    add(one, 60)
    query.processAllAvailable()
    assert run.table(query) == [(at(0), 2)]


def test_two_inputs_have_the_lower_watermark(run: Runner) -> None:
    one, other = run.stream(SCHEMA, partitions=2), run.stream(SCHEMA, partitions=1)
    both = one.toDF().withWatermark("ts", "10 seconds").union(other.toDF().withWatermark("ts", "30 seconds"))
    query = run.start(sums(both))
    add(one, 200, 15, partition=1)
    query.processAllAvailable()
    assert run.table(query) == []
    add(other, 50)
    query.processAllAvailable()
    assert same(run.table(query)) == same([(at(10), 1)])
    add(other, 35)
    add(one, 35, partition=1)
    query.processAllAvailable()
    add(other, 100)
    query.processAllAvailable()
    assert same(run.table(query)) == same([(at(10), 1), (at(30), 2), (at(50), 1)])
    assert dropped(query) == 0
