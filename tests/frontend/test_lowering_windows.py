"""Time windows: recognised in the plan, and computed as Spark computes them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.dataflow.expr import Call
from headway.dataflow.graph import Aggregate, Expand, Project, Relation
from headway.dataflow.windows import groups_end
from headway.frontend import lower
from headway.kernels.expressions import evaluate

SCHEMA = "at timestamp, local timestamp_ntz, v long"
TIMES = [
    "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00",
    "2024-03-10 06:59:59.999999",
    "2024-03-10 07:00:00",
    "2024-06-01 12:00:07.5",
    "1905-02-03 04:05:06.000001",
]
WINDOWS: dict[str, Callable[[str], Column]] = {
    "tumbling": lambda c: F.window(c, "10 seconds"),
    "offset": lambda c: F.window(c, "10 seconds", "10 seconds", "3 seconds"),
    "before": lambda c: F.window(c, "1 minute", "1 minute", "-7 seconds"),
    "sliding": lambda c: F.window(c, "10 seconds", "5 seconds"),
    "sliding offset": lambda c: F.window(c, "1 hour", "20 minutes", "90 seconds"),
}


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).json(str(tmp_path)).withWatermark("at", "5 seconds")


def windows_of(root: Relation) -> list[Call]:
    """The windows of the relation at the bottom that makes them."""
    at = root
    while not isinstance(at, Expand):
        if isinstance(at, Project) and any(isinstance(e, Call) and e.function == "TimeWindow" for e in at.exprs):
            return [e for e in at.exprs if isinstance(e, Call)]
        at = at.inputs[0]
    return [row[0] for row in at.projections if isinstance(row[0], Call)]


def options(window: Call) -> tuple[int, ...]:
    return tuple(window.option(name) for name in ("duration", "slide", "offset", "index"))


def test_tumbling(events: DataFrame) -> None:
    root = lower(events.groupBy(F.window("at", "10 seconds")).count()).plan
    assert isinstance(root, Aggregate)
    assert root.event_key == 0
    assert [options(w) for w in windows_of(root)] == [(10_000_000, 10_000_000, 0, 0)]


def test_sliding_with_offset(events: DataFrame) -> None:
    root = lower(events.groupBy(F.window("at", "10 seconds", "5 seconds", "1 second")).count()).plan
    assert [options(w) for w in windows_of(root)] == [
        (10_000_000, 5_000_000, 1_000_000, 0),
        (10_000_000, 5_000_000, 1_000_000, 1),
    ]


def test_a_window_of_another_time_does_not_follow_the_watermark(events: DataFrame) -> None:
    root = lower(events.groupBy(F.window("local", "10 seconds")).count()).plan
    assert isinstance(root, Aggregate)
    assert root.event_key is None


def test_legacy_mode_makes_the_same_windows(spark: SparkSession, events: DataFrame) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        root = lower(events.groupBy(F.window("at", "10 seconds")).count()).plan
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert [options(w) for w in windows_of(root)] == [(10_000_000, 10_000_000, 0, 0)]


def test_window_time_is_event_time(events: DataFrame) -> None:
    counts = events.groupBy(F.window("at", "10 seconds")).count()
    assert [f.event_time for f in lower(counts.select(F.window_time("window"), "count")).schema] == [True, False]


@pytest.mark.parametrize("slide", ["20 seconds", "10 seconds"])
def test_window_time_is_event_time_after_rows_of_arrays(events: DataFrame, slide: str) -> None:
    """There the optimizer keeps nothing of the first window but its end."""
    counts = (
        events.groupBy(F.window("at", "10 seconds")).count().select("window", F.explode(F.sequence(F.lit(0), "count")))
    )
    again = lower(counts.groupBy(F.window(F.window_time("window"), "20 seconds", slide)).count()).plan
    assert isinstance(again, Aggregate)
    assert again.event_key == 0


def test_a_session_window_is_the_last_key(events: DataFrame) -> None:
    query = lower(events.groupBy(F.session_window("at", "5 seconds"), "v").count())
    aggregate = query.plan.inputs[0]
    assert isinstance(aggregate, Aggregate)
    assert (aggregate.session, aggregate.event_key, aggregate.exchange_keys) == (True, 1, (0,))
    assert [f.name for f in query.schema] == ["session_window", "v", "count"]


SESSION = F.session_window
BELOW_SESSIONS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a union": lambda df: df.union(df.where("v > 1")).groupBy(SESSION("at", "5 seconds")).count(),
    "a function": lambda df: df.groupBy(SESSION("at", "5 seconds")).agg(F.sum(F.udf(abs, "long")("v"))),
    "arrays": lambda df: df.select("*", F.explode(F.array("v"))).groupBy(SESSION("at", "5 seconds"), "col").count(),
    "a table": lambda df: df.join(df.sparkSession.range(2), F.expr("v = id")).groupBy(SESSION("at", "1 day")).count(),
    "a window": lambda df: df.select("*", SESSION("at", "5 seconds").alias("w")).select(
        "w", F.explode(F.array("v"))).join(df.sparkSession.range(2), F.expr("col = id")).groupBy("w").count(),
}  # fmt: skip


@pytest.mark.parametrize("below", BELOW_SESSIONS)
def test_a_session_window_is_one_whatever_is_below(events: DataFrame, below: str) -> None:
    relation = lower(BELOW_SESSIONS[below](events)).plan
    while not isinstance(relation, Aggregate):
        relation = relation.inputs[0]
    assert relation.session


@pytest.mark.parametrize("column", ["at", "local"])
@pytest.mark.parametrize("name", WINDOWS)
def test_values_are_sparks(spark: SparkSession, events: DataFrame, name: str, column: str) -> None:
    root = lower(events.groupBy(WINDOWS[name](column), "v").count()).plan
    batch = _rows()
    mine = {
        (start, end, v)
        for window in windows_of(root)
        for v, (start, end) in enumerate(_bounds(evaluate(_over_rows(window, column), batch)))
    }
    rows = spark.createDataFrame(_table(), SCHEMA).select(WINDOWS[name](column).alias("w"), "v").select("w.*", "v")
    assert mine == {(r["start"], r["end"], r["v"]) for r in rows.toArrow().to_pylist()}


def test_bounds_alone(events: DataFrame) -> None:
    """The optimizer takes the struct apart where only one of its fields is used."""
    root = lower(events.select(F.window("at", "10 seconds", "10 seconds", "3 seconds")["end"].alias("end"))).plan
    assert isinstance(root, Project)
    end = root.exprs[0]
    assert isinstance(end, Call)
    window = end.args[0]
    assert isinstance(window, Call)
    assert (end.function, end.option("ordinal")) == ("GetStructField", 1)
    assert options(window) == (10_000_000, 10_000_000, 3_000_000, 0)


def test_null_times_have_null_bounds(events: DataFrame) -> None:
    root = lower(events.groupBy(F.window("at", "10 seconds")).count()).plan
    batch = pa.record_batch({"at": pa.array([None, 12_000_000], pa.timestamp("us", "UTC"))})
    window = evaluate(_over_rows(windows_of(root)[0], "at"), batch)
    seconds = [datetime.fromtimestamp(at, UTC) for at in (10, 20)]
    assert _bounds(window) == [(None, None), tuple(seconds)]


def _over_rows(window: Call, column: str) -> Call:
    """The window over a batch of this file's rows, whatever columns the plan kept."""
    time = replace(window.args[0], index={"at": 0, "local": 1}[column])  # type: ignore[call-arg]
    return replace(window, args=(time,))


def _bounds(window: pa.Array) -> list[tuple[datetime, datetime]]:
    return [(value["start"], value["end"]) for value in window.to_pylist()]


def _table() -> pa.Table:
    naive = [datetime.fromisoformat(time) for time in TIMES]
    return pa.table(
        {
            "at": pa.array([time.replace(tzinfo=UTC) for time in naive], pa.timestamp("us", "UTC")),
            "local": pa.array(naive, pa.timestamp("us")),
            "v": pa.array(range(len(TIMES)), pa.int64()),
        }
    )


def _rows() -> pa.RecordBatch:
    return _table().to_batches()[0]


def test_groups_end_by_their_event_time(events: DataFrame) -> None:
    windows = events.groupBy(F.window("at", "10 seconds"), "v").count()
    assert groups_end(lower(windows).plan)
    assert groups_end(lower(windows.groupBy("window").count()).plan)
    assert not groups_end(lower(events.groupBy("v").count()).plan)
    assert not groups_end(lower(events.groupBy(F.window("local", "10 seconds")).count()).plan)
