"""A Headway for the tests of what a user touches."""

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import headway


@pytest.fixture(scope="module")
def hw(spark: SparkSession) -> Iterator[headway.Headway]:
    with headway.start(spark, nodes=2) as started:
        yield started


@pytest.fixture(scope="module")
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", 20).load()


@pytest.fixture(scope="module")
def unsupported(rate: DataFrame) -> DataFrame:
    """A query that Headway leaves to Structured Streaming."""
    return rate.withWatermark("timestamp", "1 second").dropDuplicatesWithinWatermark(["value"])
