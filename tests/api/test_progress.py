"""Progress has PySpark's fields, from what the nodes counted, and Headway's own under one key."""

import json
import pickle

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.streaming.listener import StreamingQueryProgress

from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Result, Spent
from headway.observe.progress import ProgressContext, as_pyspark, build_progress

CONTEXT = ProgressContext(
    id="6a3ff8ac-6bf7-4f23-b0e8-cc47f4ef2c2c",
    run_id="0f6c2b6c-5f0d-4f0e-8a5e-d1f0b1d2c3e4",
    name="counts",
    time=1_700_000_000.25,
    epoch=7,
    seconds=2.0,
    sink="memory",
    facts={"nodes": 2},
    stateful=("2",),
)


def metrics(node: int) -> QueryMetrics:
    made = QueryMetrics(target=0.1, watermark_us=1_700_000_000_000_000 + node, event_max_us=1_700_000_001_000_000)
    source = made.source("0", "rate")
    source.rows, source.backlog = 100, 5
    source.start, source.end = {str(node): 0}, {str(node): 100}
    state = made.state("2")
    state.rows, state.updated, state.bytes = 10, 4, 1000
    made.late("2", 3)
    made.busy = 0.3
    made.read(0.004, 0.001, 100)
    made.show(result(0.05, 0.02, 6), now=100.0)
    made.show(result(0.5, 0.02, 2), now=100.0)
    return made


def result(latency: float, processing: float, rows: int) -> Result:
    """Shown at 100 s."""
    came = 100.0 - latency
    return Result(came, came, 100.0 - processing, rows, 100.0, Spent())


@pytest.fixture
def merged() -> QueryMetrics:
    total = metrics(0)
    total.merge(pickle.loads(pickle.dumps(metrics(1))))
    return total


def test_the_fields(merged: QueryMetrics) -> None:
    progress = build_progress(CONTEXT, merged)
    assert progress["timestamp"] == "2023-11-14T22:13:20.250Z"
    assert progress["batchId"] == 7
    assert progress["batchDuration"] == 2000
    assert progress["numInputRows"] == 200
    assert progress["processedRowsPerSecond"] == 100.0
    assert progress["eventTime"] == {"max": "2023-11-14T22:13:21.000Z", "watermark": "2023-11-14T22:13:20.000Z"}
    (state,) = progress["stateOperators"]
    assert (state["numRowsTotal"], state["numRowsUpdated"], state["numRowsDroppedByWatermark"]) == (20, 8, 6)
    (source,) = progress["sources"]
    assert (source["description"], json.loads(source["endOffset"])) == ("rate", {"0": 100, "1": 100})
    assert progress["sink"] == {"description": "memory", "numOutputRows": 16, "metrics": {}}


def test_our_own_key(merged: QueryMetrics) -> None:
    own = build_progress(CONTEXT, merged)["headway"]
    assert (own["targetMs"], own["met"], own["missed"], own["backlogRows"], own["nodes"]) == (100.0, 12, 4, 10, 2)
    assert own["busyMsPerSecond"] == pytest.approx(300), "0.6 seconds of two workers in two seconds"
    assert set(own["latency"]) == {"processingLatencyMs", "sourceQueuingLatencyMs", "e2eLatencyMs"}
    e2e = own["latency"]["e2eLatencyMs"]
    assert list(e2e) == ["P0", "P50", "P90", "P95", "P99"]
    assert e2e["P50"] == pytest.approx(50, rel=0.02)
    assert e2e["P99"] == pytest.approx(500, rel=0.02)


def test_a_bulk_query_has_no_target() -> None:
    made = QueryMetrics()
    made.show(result(10.0, 10.0, 5), now=100.0)
    own = build_progress(CONTEXT, made)["headway"]
    assert (own["targetMs"], own["met"], own["missed"]) == (None, 0, 0)


def test_rows_that_go_out_together_are_judged_one_by_one() -> None:
    made = QueryMetrics(target=0.1)
    made.show(Result(first_t=99.8, t=100.0, polled=99.99, rows=100, written=100.0, spent=Spent()), now=100.0)
    assert (made.met, made.missed) == (50, 50)


def test_over_time_counts_add_up_and_gauges_are_the_last() -> None:
    total, later = metrics(0), metrics(0)
    later.source("0").backlog, later.state("2").rows = 1, 12
    later.watermark_us = 1_700_000_005_000_000
    total.follow(later)
    assert (total.input_rows, total.backlog, total.output_rows) == (200, 1, 16)
    assert (total.state("2").rows, total.state("2").updated) == (12, 8)
    assert total.watermark_us == 1_700_000_005_000_000
    assert total.e2e.count == 16


def test_it_has_every_field_that_sparks_own_progress_has(unsupported: DataFrame, merged: QueryMetrics) -> None:
    query = unsupported.writeStream.format("noop").start()
    query.processAllAvailable()
    theirs = query.lastProgress
    query.stop()
    assert theirs is not None
    ours = as_pyspark(build_progress(CONTEXT, merged))
    assert isinstance(ours, StreamingQueryProgress)
    assert set(ours) == set(theirs) | {"headway"}
    assert set(ours.sources[0]) == set(theirs.sources[0])
    assert set(ours.sink) == set(theirs.sink)
    assert str(ours.id) == CONTEXT.id
    assert json.loads(ours.json)["headway"]["nodes"] == 2
