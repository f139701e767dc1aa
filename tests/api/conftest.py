"""Streams for the tests of what a user touches."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


@pytest.fixture(scope="module")
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", 20).load()


@pytest.fixture(scope="module")
def unsupported(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """A query that Headway leaves to Structured Streaming, over a stream that has an end."""
    files = str(tmp_path_factory.mktemp("stream") / "rows")
    rows = spark.range(20).selectExpr("timestamp_seconds(1000 + id) AS timestamp", "id AS value").coalesce(1)
    rows.write.parquet(files)
    stream = spark.readStream.schema(rows.schema).parquet(files)
    chosen = stream.withWatermark("timestamp", "1 second").where(F.spark_partition_id() >= 0)
    return chosen.dropDuplicatesWithinWatermark(["value"])
