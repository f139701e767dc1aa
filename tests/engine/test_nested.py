"""Arrays, maps and structs through the whole engine: from sources, over the exchange, into sinks."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_cases import Runner, same
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway

SCHEMA = "k long, tags array<string>, p struct<x: int, y: array<struct<z: double>>>, m map<string, int>, j string"
ROWS = [
    (
        n,
        None if n % 7 == 0 else [f"t{n % 3}", None][: n % 3],
        None if n % 5 == 0 else (n, [(n / 4,), None]),
        {f"a{n % 4}": n, "b": None} if n % 2 else {},
        f'{{"v": [{n}, {n % 3}], "w": {{"q": "{n}"}}}}' if n % 6 else "broken",
    )
    for n in range(40)
]


def reshaped(df: DataFrame) -> DataFrame:
    """Some of all that is nested: lambdas, JSON, rows made of arrays."""
    read = F.from_json("j", "v array<int>, w struct<q: string>").alias("read")
    made = df.select("k", "tags", "p", "m", read, F.transform("tags", lambda tag: F.upper(tag)).alias("u"))
    return made.select("*", F.explode_outer("read.v").alias("e")).where("e is null or e < 30")


def grouped(df: DataFrame) -> DataFrame:
    """Grouped by an array and a struct."""
    parts = df.select("tags", F.struct(F.col("k") % 2, F.array(F.col("k") % 3)).alias("s"), F.explode("m"))
    return parts.groupBy("tags", "s", "key").agg(F.count("*"), F.sum("value"))


def test_a_stream_of_rows(once: Runner) -> None:
    once.check("nested", reshaped, ROWS, SCHEMA)
    once.check("nested groups", grouped, ROWS, SCHEMA, output="complete")


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_files(once: Runner, hw: Headway, spark: SparkSession, tmp_path: Path, format: str) -> None:
    given, where, checkpoint = (str(tmp_path / name) for name in ("in", "out", "checkpoint"))
    frame = spark.createDataFrame(ROWS, SCHEMA)
    frame.coalesce(1).write.format(format).save(given)
    stream = spark.readStream.schema(SCHEMA).format(format).load(given)
    writer = hw.writeStream(reshaped(stream)).format(format).option("checkpointLocation", checkpoint)
    query = once.keep(writer.start(where, fallback=False))
    query.processAllAvailable()
    expected = reshaped(frame)
    read = spark.read.schema(expected.schema).format(format).load(where)
    assert same(read.collect()) == same(expected.collect())
