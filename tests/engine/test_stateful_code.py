"""State that functions of the user's keep: Spark's own streaming answers, step by step, and restarts in the middle."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_cases import START, Runner
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from stateful_functions import OUTPUT, InPandas, Remembering, counted

from headway.testing import MemoryStream

SCHEMA = "k string, v long, ts timestamp"
# Seconds after the start; the watermark is five seconds behind the highest. 'c' never ends; 'd' comes late.
STEPS: list[list[tuple[str | None, int, float]]] = [
    [("a", 1, 0), ("b", 2, 1), ("a", 3, 2), (None, 4, 2)],
    [("a", 4, 9), ("c", 9, 40)],
    [("b", 8, 41), ("d", 1, 3), ("a", 5, 42)],
    [("c", 7, 90)],
]
_names = itertools.count()


def rows_of(step: list[tuple[str | None, int, float]]) -> list[tuple[Any, ...]]:
    return [(k, v, START + dt.timedelta(seconds=second)) for k, v, second in step]


def _counted(df: DataFrame) -> DataFrame:
    return df.groupBy("k").applyInPandasWithState(counted, OUTPUT, "n long, last long", "Append", "EventTimeTimeout")


def _rows(df: DataFrame) -> DataFrame:
    return df.groupBy("k").transformWithState(Remembering(), OUTPUT, "Append", "EventTime")


def _initial(df: DataFrame) -> DataFrame:
    first = df.sparkSession.createDataFrame([("a", 10), ("z", 20)], "k string, n long").groupBy("k")
    return df.groupBy("k").transformWithStateInPandas(InPandas(), OUTPUT, "Append", "EventTime", first)


BUILDS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "applyInPandasWithState": _counted,
    "transformWithState": _rows,
    "transformWithStateInPandas": _initial,
}
_answers: dict[str, Counter[tuple[Any, ...]]] = {}


@pytest.fixture
def rocks(spark: SparkSession) -> Iterator[None]:
    """Spark keeps such state in RocksDB alone."""
    provider = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(provider, "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
    yield
    spark.conf.unset(provider)


def sparks(spark: SparkSession, case: str) -> Counter[tuple[Any, ...]]:
    """What Structured Streaming gives for the same steps."""
    pytest.importorskip("google.protobuf", reason="Spark's own workers talk protobuf to their state")
    for tries_left in (2, 1, 0):
        if case in _answers:
            break
        try:
            _answers[case] = _asked(spark, case)
        except StreamingQueryException as error:
            # Spark gives a worker ten seconds to start, which is little on a machine that is busy.
            if not tries_left or "Python worker failed to connect back" not in str(error):
                raise
    return _answers[case]


def _asked(spark: SparkSession, case: str) -> Counter[tuple[Any, ...]]:
    stream = MemoryStream(spark, SCHEMA)
    name = f"sparks_{next(_names)}"
    df = BUILDS[case](stream.toDF().withWatermark("ts", "5 seconds"))
    query = df.writeStream.format("memory").queryName(name).outputMode("append").start()
    try:
        for step in STEPS:
            stream.addData(*rows_of(step))
            query.processAllAvailable()
        return Counter(map(tuple, spark.table(name).collect()))
    finally:
        query.stop()


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("case", BUILDS)
def test_steps_give_what_spark_gives(once: Runner, rocks: None, case: str, nodes: int) -> None:
    stream = once.stream(SCHEMA, partitions=1)
    df = BUILDS[case](stream.toDF().withWatermark("ts", "5 seconds"))
    query = once.start(df, **{"headway.nodes": str(min(nodes, once.hw.nodes))})
    for step in STEPS:
        stream.addData(*rows_of(step))
        query.processAllAvailable()
    assert Counter(once.table(query)) == sparks(once.spark, case)


@pytest.mark.parametrize("case", BUILDS)
def test_a_restart_between_steps_changes_nothing(once: Runner, rocks: None, tmp_path: Path, case: str) -> None:
    stream = once.stream(SCHEMA, partitions=1)
    df = BUILDS[case](stream.toDF().withWatermark("ts", "5 seconds"))
    for number, step in enumerate(STEPS):
        stream.addData(*rows_of(step))
        options = {"checkpointLocation": str(tmp_path), "headway.nodes": str(1 + number % once.hw.nodes)}
        writer = once.hw.writeStream(df).format("memory").queryName(f"restarted_{case}").options(**options)
        query = once.keep(writer.start(fallback=False))
        query.processAllAvailable()
        query.stop()
    assert Counter(once.table(query)) == sparks(once.spark, case)
