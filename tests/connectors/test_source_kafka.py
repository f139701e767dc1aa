"""The Kafka source against a real broker: what it reads, where it begins, what it refuses."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headway import Headway
from headway.connectors.kafka.messages import schema
from headway.connectors.sources import open_source
from headway.dataflow.graph import Source
from headway.dataflow.types import Field
from headway.errors import HeadwayError, InvalidOption, StreamingQueryFailed, UnsupportedPlan
from headway.query import StreamingQuery
from kafka_broker import Broker

pytest.importorskip("confluent_kafka", reason="NO CONFLUENT-KAFKA, THE TESTS OF KAFKA DO NOT RUN")
pytestmark = pytest.mark.timeout(300)  # the first time, the broker has to be fetched
Start = Callable[..., StreamingQuery]
_names = itertools.count()


@pytest.fixture
def start(hw: Headway) -> Iterator[Start]:
    """Starts a query into a memory view, and stops it at the end."""
    queries: list[StreamingQuery] = []

    def started(df: DataFrame, output: str = "append", **options: str) -> StreamingQuery:
        writer = hw.writeStream(df).format("memory").queryName(f"kafka_{next(_names)}").outputMode(output)
        queries.append(writer.options(**options).start(fallback=False))
        return queries[-1]

    yield started
    for query in queries:
        query.stop()


def stream(spark: SparkSession, broker: Broker, **options: Any) -> DataFrame:
    reader = spark.readStream.format("headway-kafka").option("kafka.bootstrap.servers", broker.servers)
    return reader.options(**options).load()


def values(spark: SparkSession, query: StreamingQuery) -> list[int]:
    """The values of the stream so far, as numbers."""
    query.processAllAvailable()
    return sorted(int(row.value) for row in spark.table(str(query.name)).collect())


def test_rows_are_those_that_spark_reads(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic, other = broker.topic(3), broker.topic(1)
    for partition in range(3):
        broker.send(topic, 1, None, b"\xff", partition=partition, key="k", timestamp=1_700_000_000_123)
        broker.send(topic, 2, partition=partition, timestamp=1)
    broker.send(other, "x", partition=0)
    options = {"subscribe": f"{topic},{other}", "startingOffsets": "earliest"}
    query = start(stream(spark, broker, **options))
    query.processAllAvailable()
    reader = spark.read.format("headway-kafka").option("kafka.bootstrap.servers", broker.servers)
    expected = reader.options(**options).load()
    rows = spark.table(str(query.name))
    assert rows.schema == expected.schema
    assert sorted(rows.collect(), key=_place) == sorted(expected.collect(), key=_place)
    assert [row.timestampType for row in rows.collect()] == [0] * 13
    assert {row.timestamp.timestamp() for row in rows.where("value is null").collect()} == {1_700_000_000.123}


def test_spark_reads_the_stream_where_a_query_falls_back(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic(2)
    broker.send(topic, 1, 2, partition=0)
    df = stream(spark, broker, subscribe=topic, startingOffsets="earliest").select("value")
    query = df.writeStream.format("memory").queryName(f"kafka_{next(_names)}").start()
    try:
        query.processAllAvailable()
        broker.send(topic, 3, partition=1)
        query.processAllAvailable()
        found = spark.table(str(query.name)).collect()
        assert sorted(bytes(row.value) for row in found) == [b"1", b"2", b"3"]
    finally:
        query.stop()


def _place(row: Row) -> tuple[Any, ...]:
    return row.topic, row.partition, row.offset


def test_progress_has_offsets_as_spark_writes_them(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(2)
    broker.send(topic, 1, 2, partition=1)
    query = start(stream(spark, broker, subscribe=topic, startingOffsets="earliest"))
    query.processAllAvailable()
    [source] = query.lastProgress["sources"]
    assert json.loads(source["endOffset"]) == {topic: {"0": 0, "1": 2}}
    assert query.lastProgress["numInputRows"] == 2


def test_where_a_query_begins(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(2)
    for at in range(10):
        broker.send(topic, at, partition=at % 2, timestamp=1000 + at)
    begins: list[tuple[dict[str, Any], list[int]]] = [
        ({"startingOffsets": "latest"}, []),
        ({}, []),
        ({"startingOffsets": json.dumps({topic: {"0": 4, "1": -2}})}, [1, 3, 5, 7, 8, 9]),
        ({"startingOffsets": json.dumps({topic: {"0": -1, "1": 3}})}, [7, 9]),
        ({"startingTimestamp": 1006}, [6, 7, 8, 9]),
        ({"startingOffsetsByTimestamp": json.dumps({topic: {"0": 1004, "1": 1009}})}, [4, 6, 8, 9]),
        ({"startingTimestamp": 1009, "startingOffsetsByTimestampStrategy": "latest"}, [9]),
        ({"startingTimestamp": 1008, "startingOffsets": "earliest"}, [8, 9]),
    ]
    queries = [start(stream(spark, broker, subscribe=topic, **options).select("value")) for options, _ in begins]
    broker.send(topic, 100, partition=0)
    for query, (options, expected) in zip(queries, begins, strict=True):
        assert values(spark, query) == [*expected, 100], options


def test_what_is_read(spark: SparkSession, broker: Broker, start: Start) -> None:
    for name in ("north-1", "north-2", "south"):
        broker.topic(2, name)
        broker.send(name, len(name), partition=0)
        broker.send(name, len(name) * 10, partition=1)
    reads: list[tuple[dict[str, str], list[int]]] = [
        ({"subscribePattern": "north-.*"}, [7, 7, 70, 70]),
        ({"subscribePattern": "south|nort"}, [5, 50]),
        ({"assign": '{"north-1": [1], "south": [0]}'}, [5, 70]),
        ({"subscribe": " south , north-2"}, [5, 7, 50, 70]),
    ]
    queries = [start(stream(spark, broker, startingOffsets="earliest", **how).select("value")) for how, _ in reads]
    for query, (how, expected) in zip(queries, reads, strict=True):
        assert values(spark, query) == expected, how


def test_partitions_and_topics_that_turn_up(spark: SparkSession, broker: Broker, start: Start) -> None:
    broker.topic(1, "grows-1")
    query = start(stream(spark, broker, subscribePattern="grows-.*").select("value"))
    broker.topic(2, "grows-2")
    broker.grow("grows-1", 3)
    for partition in range(3):
        broker.send("grows-1", partition, partition=partition)
    broker.send("grows-2", 10, partition=1)
    assert values(spark, query) == [0, 1, 2, 10]


def test_windows_follow_event_time_of_each_partition(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(3)
    df = stream(spark, broker, subscribe=topic, startingOffsets="earliest")
    counts = df.withWatermark("timestamp", "0 seconds").groupBy(F.window("timestamp", "1 second")).count()
    query = start(counts.select("window.start", "count"))
    for second in range(5):
        for partition in range(3):
            broker.send(topic, "x", "y", partition=partition, timestamp=1_700_000_000_000 + second * 1000)
    query.processAllAvailable()
    found = sorted((row.start.timestamp(), row["count"]) for row in spark.table(str(query.name)).collect())
    assert found == [(1_700_000_000.0 + second, 6) for second in range(4)]


def test_a_partition_that_moves_on_without_rows_holds_nothing_back(
    spark: SparkSession, broker: Broker, start: Start
) -> None:
    topic = broker.topic(2)
    broker.abort(topic, "x", "y", partition=0)
    committed = {"kafka.isolation.level": "read_committed", "startingOffsets": "earliest"}
    df = stream(spark, broker, subscribe=topic, **committed).withWatermark("timestamp", "0 seconds")
    counts = df.groupBy(F.window("timestamp", "1 second")).count()
    query = start(counts.select("count"), **{"headway.idleTimeout": "0.3 seconds", "headway.nodes": "1"})
    for second in range(4):
        broker.send(topic, "x", partition=1, timestamp=1_700_000_000_000 + second * 1000)
    deadline = time.monotonic() + 60
    while spark.table(str(query.name)).count() < 3:
        assert time.monotonic() < deadline, "windows do not end"
        assert query.exception() is None
        broker.abort(topic, "z", partition=0)
    assert [row["count"] for row in spark.table(str(query.name)).collect()] == [1, 1, 1]


def test_a_rate_limit_loses_no_row(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(1)
    broker.send(topic, *range(40))
    df = stream(spark, broker, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=20)
    assert values(spark, start(df.select("value"), **{"headway.nodes": "1"})) == list(range(40))


def test_what_was_aged_out(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(1)
    broker.send(topic, *range(10))
    broker.age_out(topic, 0, before=6)
    begin = json.dumps({topic: {"0": 2}})
    strict = start(stream(spark, broker, subscribe=topic, startingOffsets=begin).select("value"))
    df = stream(spark, broker, subscribe=topic, startingOffsets=begin, failOnDataLoss="false")
    assert values(spark, start(df.select("value"))) == [6, 7, 8, 9]
    with pytest.raises(StreamingQueryFailed, match="failOnDataLoss"):
        strict.processAllAvailable()


REFUSED = {
    "no strategy": ({"subscribe": None}, "one of the options assign, subscribe, subscribePattern; it has none"),
    "two strategies": ({"assign": '{"t":[0]}'}, "assign and subscribe"),
    "no topic": ({"subscribe": " ,"}, "names no topic"),
    "bad assign": ({"subscribe": None, "assign": "t"}, "option assign"),
    "bad pattern": ({"subscribe": None, "subscribepattern": "("}, "option subscribePattern"),
    "no servers": ({"kafka.bootstrap.servers": None}, "kafka.bootstrap.servers"),
    "an end": ({"endingoffsets": "latest"}, "a stream has no end"),
    "an end in time": ({"endingtimestamp": "1"}, "a stream has no end"),
    "bad offsets": ({"startingoffsets": "first"}, "option startingOffsets"),
    "bad timestamp": ({"startingtimestamp": "now"}, "option startingTimestamp"),
    "bad strategy": ({"startingoffsetsbytimestampstrategy": "none"}, "error or latest"),
    "reset": ({"kafka.auto.offset.reset": "latest"}, "set startingOffsets instead"),
    "deserializer": ({"kafka.value.deserializer": "x"}, "kafka.value.deserializer"),
    "auto commit": ({"kafka.enable.auto.commit": "true"}, "kafka.enable.auto.commit"),
    "interceptors": ({"kafka.interceptor.classes": "x"}, "kafka.interceptor.classes"),
    "bad limit": ({"maxoffsetspertrigger": "0"}, "option maxOffsetsPerTrigger"),
    "bad partitions": ({"minpartitions": "-1"}, "option minPartitions"),
    "unknown": ({"startingofsets": "latest"}, "did you mean startingOffsets"),
    "bad value": ({"kafka.fetch.min.bytes": "many"}, "fetch.min.bytes"),
}


def _opened(changes: dict[str, str | None]) -> Any:
    fields = tuple(Field(f.name, f.dataType, f.nullable) for f in schema(headers=False).fields)
    options = {"kafka.bootstrap.servers": "localhost:1", "subscribe": "t"} | changes
    given = tuple(sorted((name, value) for name, value in options.items() if value is not None))
    return open_source(Source(fields, "kafka", given))


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    changes, told = REFUSED[case]
    with pytest.raises(InvalidOption, match=told):
        _opened(changes)  # type: ignore[arg-type]


def test_what_only_the_java_client_has_falls_back() -> None:
    with pytest.raises(UnsupportedPlan, match=r"kafka\.metrics\.recording\.level"):
        _opened({"kafka.metrics.recording.level": "INFO"})
    with pytest.raises(UnsupportedPlan, match="minoffsetspertrigger"):
        _opened({"minoffsetspertrigger": "5"})


def test_settings_by_their_java_names() -> None:
    login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";'
    opened = _opened(
        {
            "kafka.fetch.max.wait.ms": "7",
            "kafka.max.poll.records": "1",
            "kafka.sasl.jaas.config": login,
            "kafka.group.id": "mine",
        }
    )
    found = opened.reading.settings
    assert (found["fetch.wait.max.ms"], found["sasl.username"], found["sasl.password"]) == ("7", "u", "p")
    assert found["group.id"] == "mine"


def test_what_is_not_there_is_told_at_start(spark: SparkSession, broker: Broker, start: Start) -> None:
    topic = broker.topic(2)
    broker.send(topic, 1, timestamp=5)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"subscribe": "nowhere"}, "there is no topic nowhere"),
        ({"assign": json.dumps({topic: [7]})}, "there is no partition 7"),
        ({"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 1}})}, "name all of them"),
        ({"subscribe": topic, "startingTimestamp": 9}, "no record at or after 9"),
    ]
    for options, told in wrong:
        with pytest.raises(HeadwayError, match=told):
            start(stream(spark, broker, **options))
