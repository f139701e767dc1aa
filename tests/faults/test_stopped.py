"""A query that was stopped goes on where its last checkpoint was, and refuses a checkpoint that is not its own."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway, InvalidOption
from headway.testing import MemoryStream


def run(hw: Headway, df: DataFrame, name: str, mode: str, checkpoint: Path) -> None:
    writer = hw.writeStream(df).queryName(name).outputMode(mode).format("memory")
    query = writer.option("checkpointLocation", str(checkpoint)).start(fallback=False)
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def test_rows_of_both_runs_are_there_once(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "v bigint")
    for step in range(3):
        stream.addData(*[(value,) for value in range(step * 10, step * 10 + 10)])
        run(hw, stream.toDF(), "stopped_rows", "append", tmp_path)
    assert sorted(row.v for row in spark.table("stopped_rows").collect()) == list(range(30))


def test_aggregates_and_watermarks_go_on(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "second bigint")
    seconds = stream.toDF().select(F.timestamp_seconds("second").alias("ts"))
    counts = seconds.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "10 seconds")).count()
    counts = counts.select(F.unix_seconds("window.start").alias("start"), "count")
    for step in ([1, 2, 3], [4, 11], [1, 2, 25], [3, 41]):
        stream.addData(*[(second,) for second in step])
        run(hw, counts, "stopped_counts", "append", tmp_path)
    assert {row.start: row["count"] for row in spark.table("stopped_counts").collect()} == {0: 4, 10: 1, 20: 1}


def test_a_changed_query_is_refused(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "k bigint, v bigint")
    stream.addData((1, 2))
    run(hw, stream.toDF().groupBy("k").count(), "changed", "complete", tmp_path)
    with pytest.raises(InvalidOption, match="changed since the checkpoint"):
        run(hw, stream.toDF().groupBy("k").agg(F.max("v")), "changed", "complete", tmp_path)
