"""Queries start, end, fail and share the nodes without minding each other."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from engine_cases import Runner, scatter
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway import FallbackWarning, Headway, InvalidOption

cloudpickle.register_pickle_by_value(sys.modules[__name__])

NUMBERS = [(n % 7, n) for n in range(100)]
SCHEMA = "k long, v long"


def test_twenty_queries_share_the_nodes(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA, partitions=2)
    df = stream.toDF()
    queries = [once.start(df.where(F.col("k") <= n % 7).groupBy("k").count(), "complete") for n in range(20)]
    assert {query.id for query in queries} <= {query.id for query in hw.streams.active}
    scatter(stream, NUMBERS)
    for n, query in enumerate(queries):
        query.processAllAvailable()
        assert sorted(row[0] for row in once.table(query)) == list(range(n % 7 + 1))
    for query in queries[::2]:
        query.stop()
    late = once.start(df.agg(F.sum("v")), "complete")
    scatter(stream, NUMBERS)
    late.processAllAvailable()
    assert once.table(late) == [(2 * 4950,)]
    for n, query in list(enumerate(queries))[1::2]:
        query.processAllAvailable()
        assert sum(row[1] for row in once.table(query)) == 2 * sum(key <= n % 7 for key, _ in NUMBERS)


def test_stop_is_prompt_and_final(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    query = once.start(stream.toDF())
    query.processAllAvailable()
    assert query.awaitTermination(0) is False
    began = time.monotonic()
    query.stop()
    assert time.monotonic() - began < 5
    assert not query.isActive
    assert query.exception() is None
    assert query.awaitTermination() is None
    assert query.awaitTermination(1) is True
    assert query.status["message"] == "Stopped"
    scatter(stream, NUMBERS)
    assert once.table(query) == []
    query.stop()


def test_a_row_that_cannot_be_computed_fails_its_query_alone(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    bad = run.start(stream.toDF().select((F.lit(100) / F.col("v")).alias("ratio")))
    good = run.start(stream.toDF().groupBy("k").count(), "complete")
    scatter(stream, NUMBERS)
    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        bad.processAllAvailable()
    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        bad.awaitTermination(30)
    assert not bad.isActive
    assert "DIVIDE_BY_ZERO" in bad.status["message"]
    good.processAllAvailable()
    assert good.isActive
    assert sum(row[1] for row in run.table(good)) == 100


def test_the_users_own_traceback(once: Runner, hw: Headway) -> None:
    def refuse(row: Any) -> None:
        raise ValueError(f"no room for {row.v}")

    stream = once.stream(SCHEMA)
    query = once.keep(hw.writeStream(stream.toDF()).foreach(refuse).start(fallback=False))
    stream.addData((1, 17))
    with pytest.raises(StreamingQueryException, match="no room for 17"):
        query.awaitTermination(60)
    told = str(query.exception())
    assert "in refuse" in told
    assert Path(__file__).name in told


def test_a_name_is_taken_while_its_query_runs(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    query = once.start(stream.toDF())
    with pytest.raises(InvalidOption, match=str(query.name)):
        hw.writeStream(stream.toDF()).format("memory").queryName(str(query.name)).start(fallback=False)
    query.stop()
    again = hw.writeStream(stream.toDF()).format("memory").queryName(str(query.name)).start(fallback=False)
    once.keep(again).processAllAvailable()


@pytest.mark.parametrize("trigger", [{"availableNow": True}, {"once": True}], ids=["availableNow", "once"])
def test_triggers_that_end_by_themselves(run: Runner, hw: Headway, trigger: dict[str, bool]) -> None:
    stream = run.stream(SCHEMA)
    scatter(stream, NUMBERS)
    name = f"ends_{next(iter(trigger)).lower()}"
    writer = hw.writeStream(stream.toDF().groupBy("k").count()).format("memory").queryName(name)
    query = run.keep(writer.outputMode("complete").trigger(**trigger).start(fallback=False))
    assert query.awaitTermination(60) is True
    assert query.exception() is None
    assert sum(row[1] for row in run.table(query)) == 100
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == 100


def test_a_processing_time_trigger(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    writer = hw.writeStream(stream.toDF().groupBy("k").count()).format("memory").queryName("every_hour")
    query = once.keep(writer.outputMode("update").trigger(processingTime="1 hour").start(fallback=False))
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    assert dict(once.table(query)) == {k: sum(key == k for key, _ in NUMBERS) for k in range(7)}


def test_what_headway_cannot_do_spark_does(once: Runner, hw: Headway, spark: Any) -> None:
    stream = once.stream(SCHEMA, partitions=1)
    native = once.start(stream.toDF().select("v"))
    chosen: DataFrame = stream.toDF().select("k").where(F.spark_partition_id() >= 0)
    with pytest.warns(FallbackWarning, match="SparkPartitionID") as told:
        query = once.keep(hw.writeStream(chosen).format("memory").queryName("chosen_keys").start())
    assert len(told) == 1
    assert (query.engine, native.engine) == ("spark", "headway")
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    native.processAllAvailable()
    assert sorted(once.table(query)) == sorted((k,) for k, _ in NUMBERS)
    assert sorted(once.table(native)) == [(n,) for n in range(100)]


def load(driver: int) -> str:
    """What a pickled function of a module that only the driver has comes to."""
    if os.getpid() != driver:
        raise ModuleNotFoundError("No module named 'mine'", name="mine")
    return ""


class OnlyOnTheDriver:
    def __call__(self, row: Any) -> None:
        raise AssertionError("it never comes to a node")

    def __reduce__(self) -> Any:
        return load, (os.getpid(),)


def test_what_nodes_cannot_load_fails_its_own_query(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA, partitions=2)
    other = once.start(stream.toDF().groupBy("k").count(), "complete")
    bad = hw.writeStream(stream.toDF()).foreach(OnlyOnTheDriver()).start(fallback=False)
    with pytest.raises(StreamingQueryException, match=r"(?s)No module named 'mine'.*addPyFile"):
        bad.awaitTermination(60)
    scatter(stream, NUMBERS)
    other.processAllAvailable()
    assert len(once.table(other)) == 7
