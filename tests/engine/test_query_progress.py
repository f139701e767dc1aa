"""What a running query tells of itself."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from engine_cases import Runner, scatter
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import StreamingQueryListener, StreamingQueryProgress

from headway import Headway

SCHEMA = "k long, v long"
NUMBERS = [(n % 7, n) for n in range(100)]
PERCENTILES = ["P0", "P50", "P90", "P95", "P99"]


def test_the_rows_that_went_through_are_counted(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    query = run.start(stream.toDF().groupBy("k").agg(F.sum("v")), "update")
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    progress = query.lastProgress
    assert isinstance(progress, StreamingQueryProgress)
    assert (progress["name"], str(progress["id"]), str(progress["runId"])) == (query.name, query.id, query.runId)
    everything = query.recentProgress
    assert sum(p["numInputRows"] for p in everything) == 100
    assert sum(source["numInputRows"] for p in everything for source in p["sources"]) == 100
    assert sum(p["sink"]["numOutputRows"] for p in everything) == len(run.table(query)) >= 7
    assert max(p["inputRowsPerSecond"] for p in everything) > 0
    (merge,) = [state for state in progress["stateOperators"] if state["operatorName"] == "stateStoreSave"]
    assert merge["numRowsTotal"] == 7
    assert query.status["isTriggerActive"] is True


def test_offsets_of_files_are_sparks(once: Runner, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        (tmp_path / "in" / f"{number}.txt").write_text(f"{number}\n")
    files = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
    theirs = files.writeStream.format("noop").start()
    ours = once.start(files, checkpointLocation=str(tmp_path / "checkpoint"))
    for query in (theirs, ours):
        query.processAllAvailable()
    wanted = theirs.lastProgress["sources"][0]["endOffset"]
    theirs.stop()
    assert ours.lastProgress is not None
    assert ours.lastProgress["sources"][0]["endOffset"] == wanted == '{"logOffset": 2}'
    first = ours.recentProgress[0]["sources"][0]["startOffset"]
    ours.stop()
    again = once.start(files, checkpointLocation=str(tmp_path / "checkpoint"))
    again.processAllAvailable()
    assert (first, again.recentProgress[0]["sources"][0]["startOffset"]) == ("null", wanted)


def test_latency_is_told_by_percentile_and_judged_by_the_target(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    writer = hw.writeStream(stream.toDF()).format("noop").latency("10 minutes")
    query = once.keep(writer.start(fallback=False))
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    told = [p["headway"] for p in query.recentProgress]
    assert sum(own["met"] for own in told) == 100
    assert sum(own["missed"] for own in told) == 0
    latency = next(own["latency"] for own in told if own["met"])
    assert {name: list(values) for name, values in latency.items()} == dict.fromkeys(
        ("processingLatencyMs", "sourceQueuingLatencyMs", "e2eLatencyMs"), PERCENTILES
    )
    e2e = latency["e2eLatencyMs"]
    assert 0 < e2e["P0"] <= e2e["P50"] <= e2e["P99"]
    assert told[-1]["targetMs"] == 600_000
    assert json.loads(query.recentProgress[-1].json)["headway"]["engine"] == "headway"


def test_compiled_queries_say_so(once: Runner) -> None:
    stream = once.stream(SCHEMA)
    query = once.start(stream.toDF().select((F.col("k") + 1).alias("k")), **{"headway.compile": "first"})
    query.processAllAvailable()
    assert query.lastProgress is not None
    assert query.lastProgress["headway"]["compiled"] is True


class Heard(StreamingQueryListener):  # type: ignore[misc]
    def __init__(self) -> None:
        self.events: list[Any] = []
        self.ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        self.events.append(("started", str(event.id), event.name))

    def onQueryProgress(self, event: Any) -> None:
        self.events.append(("progress", str(event.progress.id), event.progress.numInputRows))

    def onQueryIdle(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None:
        self.events.append(("terminated", str(event.id), event.exception))
        self.ended.set()


def test_listeners_hear_of_every_step(once: Runner, hw: Headway) -> None:
    heard = Heard()
    hw.streams.addListener(heard)
    try:
        stream = once.stream(SCHEMA)
        query = once.start(stream.toDF())
        assert heard.events == [("started", query.id, query.name)]
        scatter(stream, NUMBERS)
        query.processAllAvailable()
        query.stop()
        assert heard.ended.wait(30)
    finally:
        hw.streams.removeListener(heard)
    assert heard.events[-1] == ("terminated", query.id, None)
    assert sum(rows for kind, _, rows in heard.events if kind == "progress") == 100
