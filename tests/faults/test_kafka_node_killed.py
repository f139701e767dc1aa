"""Kafka to files and to Kafka, exactly once, while a node's process is killed with SIGKILL."""

from pathlib import Path

import pytest
from node_processes import kill, pids
from pyspark.sql import SparkSession

from headway import Headway
from kafka_broker import Broker

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]  # the first time, the broker has to be fetched
ROWS = 300


def test_no_row_is_lost_or_doubled(spark: SparkSession, hw: Headway, broker: Broker, tmp_path: Path) -> None:
    source, target = broker.topic(3), broker.topic(2)
    reader = spark.readStream.format("headway-kafka").option("kafka.bootstrap.servers", broker.servers)
    df = reader.option("subscribe", source).load().select("value")
    files = hw.writeStream(df).format("parquet").option("path", str(tmp_path / "out"))
    kafka = hw.writeStream(df).format("kafka").option("topic", target)
    kafka.option("kafka.bootstrap.servers", broker.servers)
    queries = [
        writer.option("checkpointLocation", str(tmp_path / str(number)))
        .option("headway.checkpointInterval", "200 ms")
        .start(fallback=False)
        for number, writer in enumerate((files, kafka))
    ]
    try:
        before = pids(hw)
        # The first kill comes before the first checkpoint: what "latest" means was settled when the queries started.
        for step in range(6):
            broker.send(source, *range(step * ROWS, (step + 1) * ROWS), partition=step % 3)
            if step in (0, 3, 4):
                kill(hw, step)
            if step == 2:
                queries[1].processAllAvailable()
        for query in queries:
            query.processAllAvailable()
            assert query.exception() is None
        assert pids(hw) != before
        expected = sorted(str(value).encode() for value in range(6 * ROWS))
        assert sorted(broker.read(target)) == expected
        found = spark.read.parquet(str(tmp_path / "out")).collect()
        assert sorted(bytes(row.value) for row in found) == expected
    finally:
        for query in queries:
            query.stop()
