"""Random rows, cut at random into batches and partitions, give Spark's batch answer; the queries run all the while."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from engine_cases import Build, Runner, same
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway import Headway
from headway.query import StreamingQuery
from headway.testing import MemoryStream

SCHEMA = "k int, d double, m decimal(10,2), s string, ts timestamp"
QUERIES: dict[str, tuple[str, Build]] = {
    "projection": ("append", lambda df: df.select("k", (F.col("d") * 2).alias("twice"), F.upper("s"), "m", "ts")),
    "filter": ("append", lambda df: df.where("k > 0 AND (d IS NULL OR d < 10)").select("k", "d")),
    "by key": (
        "complete",
        lambda df: df.groupBy("k").agg(
            F.count("*"), F.sum("m"), F.max(F.col("d") + 0.0), F.min("s"), F.approx_count_distinct("s")
        ),
    ),
    "by double": ("complete", lambda df: df.groupBy("d").agg(F.count("*"), F.max("ts"))),
    "windows": ("complete", lambda df: df.groupBy(F.window("ts", "1 hour", "20 minutes"), "s").agg(F.count("k"))),
}

ROW = st.tuples(
    st.none() | st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(width=64) | st.sampled_from([0.0, -0.0]),
    st.none() | st.decimals(-9999999, 9999999, places=2).map(lambda d: Decimal(d)),
    st.none() | st.text(max_size=4, alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    st.none() | st.datetimes(dt.datetime(2024, 3, 9), dt.datetime(2024, 3, 11)),
)
PIECES = st.lists(st.tuples(st.integers(0, 2), st.lists(ROW, max_size=12)), max_size=6)


class Running(NamedTuple):
    stream: MemoryStream
    queries: dict[str, StreamingQuery]
    given: list[tuple[Any, ...]]
    """All rows so far: the streams have no end."""


@pytest.fixture(scope="module", params=["never", "first"])
def running(request: pytest.FixtureRequest, spark: SparkSession, hw: Headway) -> Iterator[Running]:
    runner = Runner(spark, hw, {"headway.compile": request.param})
    stream = runner.stream(SCHEMA)
    df = stream.toDF()
    yield Running(stream, {name: runner.start(build(df), output) for name, (output, build) in QUERIES.items()}, [])
    runner.stop()


# The queries keep all rows they were given, so a smaller example would not stand alone.
@settings(max_examples=4, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(pieces=PIECES)
def test_any_rows_in_any_pieces(running: Running, spark: SparkSession, pieces: list[tuple[int, list[Any]]]) -> None:
    for partition, rows in pieces:
        running.stream.addData(*rows, partition=partition)
        running.given.extend(rows)
    batch = spark.createDataFrame(running.given, running.stream.schema)
    for name, query in running.queries.items():
        query.processAllAvailable()
        assert same(spark.table(str(query.name)).collect()) == same(QUERIES[name][1](batch).collect()), name
