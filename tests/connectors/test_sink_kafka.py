"""The Kafka sink against a real broker: what it writes, and that an epoch is written once whatever happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from sink_cases import context, make, rows, sent

from headway import Headway
from headway.connectors.api import SinkCommitter
from headway.connectors.kafka.messages import HEADERS
from headway.connectors.sinks import open_sink
from headway.dataflow.types import Field, Schema
from headway.errors import HeadwayError, InvalidOption, UnsupportedPlan
from headway.testing import MemoryStream
from kafka_broker import Broker

pytest.importorskip("confluent_kafka", reason="NO CONFLUENT-KAFKA, THE TESTS OF KAFKA DO NOT RUN")
pytestmark = pytest.mark.timeout(300)  # the first time, the broker has to be fetched
VALUES: Schema = (Field("value", T.StringType()),)
SERVERS = {"kafka.bootstrap.servers": "localhost:1"}


def committer(spark: SparkSession, broker: Broker, topic: str, query: str) -> SinkCommitter:
    options = {"kafka.bootstrap.servers": broker.servers, "topic": topic}
    return make(spark, "kafka", VALUES, options=options, query_id=query).committer()


def prepared(sink: SinkCommitter, epoch: int, *values: str) -> Any:
    sink.rows(rows(VALUES, [{"value": value} for value in values]), epoch)
    return sink.prepare(epoch)


def test_an_epoch_is_written_once(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    first = committer(spark, broker, topic, "once")
    first.restore(-1, [])
    zero = prepared(first, 0, "a", "b")
    assert broker.read(topic) == []
    first.commit(0, [zero])
    assert broker.read(topic) == [b"a", b"b"]
    second = committer(spark, broker, topic, "once")
    second.restore(0, [zero])
    second.commit(0, [zero])
    assert broker.read(topic) == [b"a", b"b"]
    second.commit(1, [second.prepare(1)])
    second.commit(2, [prepared(second, 2, "c")])
    assert broker.read(topic) == [b"a", b"b", b"c"]
    for one in (first, second):
        one.close(failed=False)


def test_a_run_that_was_thought_dead_writes_nothing(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    dead = committer(spark, broker, topic, "fenced")
    dead.commit(0, [prepared(dead, 0, "a")])
    alive = committer(spark, broker, topic, "fenced")
    one = prepared(alive, 1, "b")
    alive.commit(1, [one])
    with pytest.raises(HeadwayError, match="sink kafka"):
        dead.commit(1, [one])
    assert broker.read(topic) == [b"a", b"b"]
    for either in (dead, alive):
        either.close(failed=True)


def test_an_epoch_whose_transaction_did_not_commit_is_written(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    killed: Any = committer(spark, broker, topic, "killed")
    killed.commit(0, [prepared(killed, 0, "a")])
    one = prepared(killed, 1, "b", "c")
    killed._producer.client.begin_transaction()
    killed._producer.send(killed._sink.records, rows(VALUES, [{"value": "b"}]))
    killed._producer.flush()
    assert broker.read(topic, committed=False) == [b"a", b"b"]
    after = committer(spark, broker, topic, "killed")
    after.commit(1, [one])
    assert broker.read(topic) == [b"a", b"b", b"c"]
    for either in (killed, after):
        either.close(failed=True)


def test_at_least_once_shows_rows_before_their_epoch_ends(spark: SparkSession, broker: Broker) -> None:
    topic = broker.topic()
    options = {"kafka.bootstrap.servers": broker.servers, "topic": topic, "headway.delivery": "at-least-once"}
    sink = make(spark, "kafka", VALUES, options=options)
    assert not sink.to_driver
    assert not sink.visible_at_commit
    writer = sent(sink).writer("sink-0")
    writer.write(rows(VALUES, [{"value": "a"}, {"value": None}]), 0)
    writer.prepare(0)
    assert broker.read(topic) == [b"a", None]
    writer.close(failed=False)


def test_every_column_of_a_query(spark: SparkSession, hw: Headway, broker: Broker, tmp_path: Path) -> None:
    one, two = broker.topic(3), broker.topic(1)
    stream = MemoryStream(spark, "id long")
    key = F.when(F.col("id") % 2 == 0, F.concat(F.lit("k"), F.col("id").cast("string")))
    df = stream.toDF().select(
        key.alias("key"),
        F.col("id").cast("string").cast("binary").alias("value"),
        F.when(F.col("id") < 5, one).otherwise(two).alias("topic"),
        F.when(F.col("id") < 5, (F.col("id") % 3).cast("int")).alias("partition"),
        F.col("id").alias("left_out"),
    )
    writer = hw.writeStream(df).format("kafka").option("kafka.bootstrap.servers", broker.servers)
    query = writer.option("checkpointLocation", str(tmp_path)).start(fallback=False)
    try:
        stream.addData(*range(7))
        query.processAllAvailable()
        found = broker.read(one, lambda m: (m.partition(), m.key(), m.value()))
        by_value = [(0, b"k0", b"0"), (1, None, b"1"), (2, b"k2", b"2"), (0, None, b"3"), (1, b"k4", b"4")]
        assert sorted(found, key=lambda message: message[2]) == by_value
        assert sorted(broker.read(two)) == [b"5", b"6"]
    finally:
        query.stop()


def test_keys_go_where_java_sends_them(spark: SparkSession, broker: Broker) -> None:
    """Partitions of murmur2 over the key, as the Java client of the same version computes them."""
    topic = broker.topic(7)
    keyed: Schema = (Field("key", T.StringType()), Field("value", T.StringType()))
    options = {"kafka.bootstrap.servers": broker.servers, "topic": topic, "headway.delivery": "at-least-once"}
    writer = make(spark, "kafka", keyed, options=options).writer("sink-0")
    writer.write(rows(keyed, [{"key": key, "value": "v"} for key in ("", "a", "b", "clicks", "Zürich")]), 0)
    writer.prepare(0)
    found = {m[0]: m[1] for m in broker.read(topic, lambda m: (m.key().decode(), m.partition()))}
    assert found == {key: _murmur2(key.encode()) % 7 for key in found}
    assert len(found) == 5
    writer.close(failed=False)


def _murmur2(data: bytes) -> int:
    """The hash that Kafka's protocol guide names for the default partitioner, its sign bit cleared."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ k >> 24) * m & mask)
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


REFUSED: dict[str, tuple[Schema, dict[str, str], str]] = {
    "no value": ((Field("key", T.StringType()),), {"topic": "t"}, "a column value"),
    "no topic": (VALUES, {}, "option topic, or a column topic"),
    "a value of numbers": ((Field("value", T.LongType()),), {"topic": "t"}, "column value is bigint"),
    "a partition of longs": ((*VALUES, Field("partition", T.LongType())), {"topic": "t"}, "column partition is bigint"),
    "headers of strings": ((*VALUES, Field("headers", T.StringType())), {"topic": "t"}, "column headers is string"),
    "a serializer": (VALUES, {"topic": "t", "kafka.key.serializer": "x"}, r"kafka\.key\.serializer"),
    "a transactional id": (VALUES, {"topic": "t", "kafka.transactional.id": "x"}, r"kafka\.transactional\.id"),
    "a delivery": (VALUES, {"topic": "t", "headway.delivery": "never"}, "exactly-once or at-least-once"),
    "unknown": (VALUES, {"topc": "t"}, "did you mean 'topic'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(spark: SparkSession, case: str) -> None:
    schema, options, told = REFUSED[case]
    with pytest.raises(InvalidOption, match=told):
        open_sink("kafka", context(spark, schema, options=SERVERS | options))


def test_what_is_taken(spark: SparkSession) -> None:
    schema = (*VALUES, Field("headers", HEADERS), Field("other", T.LongType()))
    options = SERVERS | {"topic": "t", "kafka.acks": "all", "kafka.max.request.size": "5000000"}
    for mode in ("append", "update", "complete"):
        assert open_sink("kafka", context(spark, schema, options=options, output_mode=mode)).to_driver
    with pytest.raises(UnsupportedPlan, match=r"kafka\.metrics\.num\.samples"):
        open_sink("kafka", context(spark, VALUES, options=options | {"kafka.metrics.num.samples": "1"}))


def test_headers_go_out_and_come_in(spark: SparkSession, hw: Headway, broker: Broker, tmp_path: Path) -> None:
    source, target = broker.topic(), broker.topic()
    broker.send(source, "x", headers=[("a", b"1"), ("a", None)])
    broker.send(source, "y")
    reader = spark.readStream.format("headway-kafka").option("kafka.bootstrap.servers", broker.servers)
    df = reader.options(subscribe=source, startingOffsets="earliest", includeHeaders="true").load()
    writer = hw.writeStream(df.select("value", "headers")).format("kafka").option("topic", target)
    writer.option("kafka.bootstrap.servers", broker.servers).option("checkpointLocation", str(tmp_path))
    query = writer.start(fallback=False)
    try:
        query.processAllAvailable()
        found = broker.read(target, lambda m: (m.value(), m.headers()))
        assert found == [(b"x", [("a", b"1"), ("a", None)]), (b"y", None)]
    finally:
        query.stop()
