"""Counts per second of a stream in PostgreSQL, exactly once, through `foreachBatch` and Spark's JDBC writer.

    python examples/postgres.py "jdbc:postgresql://localhost:5432/postgres?user=postgres" --seconds 20

Spark fetches PostgreSQL's JDBC driver by itself. Stop the program, kill it, start it again: with the same --checkpoint
no second is missing and none is there twice.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headway
from headway.java import ensure_java

DRIVER = "org.postgresql.Driver"
ARTIFACT = "org.postgresql:postgresql:42.7.14"
COLUMNS = "epoch bigint, start timestamp, events bigint, highest bigint"


def write_once(spark: SparkSession, url: str, table: str) -> Callable[[DataFrame, int], None]:
    """A function for foreachBatch that appends every epoch to `table` once.

    The epoch is a column of the table. Spark's JDBC writer writes a partition in one transaction: an epoch in one
    partition is there as a whole or not at all, so one that comes again after a failure is found and left out.
    """
    options = {"url": url, "driver": DRIVER}
    # Without rows this makes the table, so that it can be asked from the first epoch on.
    spark.createDataFrame([], COLUMNS).write.format("jdbc").options(**options, dbtable=table).mode("append").save()

    def write(rows: DataFrame, epoch: int) -> None:
        known = spark.read.format("jdbc").options(
            **options, query=f"select 1 from {table} where epoch = {epoch} limit 1"
        )
        if known.load().isEmpty():
            rows = rows.select(F.lit(epoch).cast("bigint").alias("epoch"), "start", "events", "highest")
            rows.coalesce(1).write.format("jdbc").options(**options, dbtable=table).mode("append").save()

    return write


def counts(events: DataFrame) -> DataFrame:
    """Events per second, of a stream (timestamp, value)."""
    windows = events.withWatermark("timestamp", "0 seconds").groupBy(F.window("timestamp", "1 second"))
    return windows.agg(F.count("*").alias("events"), F.max("value").alias("highest")).select(
        "window.start", "events", "highest"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("url", help="a JDBC URL, user and password included")
    arguments.add_argument("--table", default="counts")
    arguments.add_argument("--checkpoint", default="postgres-checkpoint")
    arguments.add_argument("--seconds", type=float, default=20.0)
    given = arguments.parse_args()
    ensure_java()
    builder = SparkSession.builder.master("local[4]").config("spark.jars.packages", ARTIFACT)
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    with headway.start(spark, nodes=2) as hw:
        events = spark.readStream.format("rate").option("rowsPerSecond", 1000).load()
        writer = hw.writeStream(counts(events)).foreachBatch(write_once(spark, given.url, given.table))
        query = writer.option("checkpointLocation", given.checkpoint).latency("2 seconds").start(fallback=False)
        query.awaitTermination(given.seconds)
        query.stop()
    spark.read.format("jdbc").options(url=given.url, driver=DRIVER, dbtable=given.table).load().orderBy("start").show()
    spark.stop()


if __name__ == "__main__":
    main()
