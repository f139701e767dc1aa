"""What a query may ask of the file that a row came from: the hidden column `_metadata`, and `input_file_name()`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from source_helpers import Driver, arrow_rows, multiset

from headway.dataflow.graph import Relation
from headway.errors import UnsupportedPlan
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain

NAMES = ["a.json", "b c%20&[x]{y}#z.json", "Zürich+1=2.json"]
QUERIES = {
    "everything": lambda df: df.select("a", "_metadata"),
    "some of it": lambda df: df.select("_metadata.file_name", "_metadata.file_size", "a"),
    "times and blocks": lambda df: df.selectExpr(
        "a", "_metadata.file_modification_time", "_metadata.file_block_start", "_metadata.file_block_length"
    ),
    "in a filter": lambda df: df.where("_metadata.file_name like 'a%'").select("a", "_metadata.file_path"),
    "input_file_name": lambda df: df.withColumn("file", F.input_file_name()),
    "behind steps": lambda df: (
        df.where("a > 1").withWatermark("t", "1 second").selectExpr("a + 1 as x").select("x", F.input_file_name())
    ),
    "in a condition": lambda df: df.where(F.input_file_name().endswith("a.json")).select("a"),
    "both": lambda df: df.select(F.input_file_name(), "_metadata.file_path", "a"),
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for at, name in enumerate(NAMES):
        (tmp_path / "in").mkdir(exist_ok=True)
        path = tmp_path / "in" / name
        path.write_text("".join(f'{{"a": {at * 10 + n}, "t": "2024-01-01T00:00:00Z"}}\n' for n in range(at + 2)))
        os.utime(path, ns=(10**18, 1_700_000_000_123_456_789 + at * 10**9))
    return tmp_path / "in"


@pytest.mark.parametrize("name", QUERIES)
def test_as_spark_tells_it(spark: SparkSession, directory: Path, name: str) -> None:
    make = QUERIES[name]
    stream = make(spark.readStream.schema("a int, t timestamp").json(str(directory)))
    batch = make(spark.read.schema("a int, t timestamp").json(str(directory)))
    assert multiset(_answer(stream)) == multiset(arrow_rows(batch.toArrow()))


def test_rows_are_counted_in_parquet(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5000).coalesce(1).write.parquet(str(tmp_path / "in"))
    query = "id", "_metadata.row_index", "_metadata.file_name"
    stream = spark.readStream.schema("id long").parquet(str(tmp_path / "in")).select(*query)
    batch = spark.read.parquet(str(tmp_path / "in")).select(*query)
    assert multiset(_answer(stream)) == multiset(arrow_rows(batch.toArrow()))


def test_a_column_of_the_files_may_have_that_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"_metadata": {"file_name": "mine"}}')
    files = spark.readStream.schema("_metadata struct<file_name: string>").json(str(tmp_path))
    assert _answer(files.select("_metadata.file_name")) == [("mine",)]


def test_behind_other_nodes_it_is_not_known(spark: SparkSession, directory: Path) -> None:
    files = spark.readStream.schema("a int").json(str(directory))
    with pytest.raises(UnsupportedPlan, match="InputFileName: it is known only behind a source of files"):
        lower(files.repartition(2).select(F.input_file_name()))


def _answer(df: DataFrame) -> list[tuple[object, ...]]:
    query = lower(df)
    steps: list[Relation] = []
    at = query.plan
    while at.inputs:
        steps.insert(0, at)
        at = at.inputs[0]
    table = Driver(query.sources[0]).tables()
    if not steps:
        return arrow_rows(table)
    kernel = InterpretedChain(Chain(at, tuple(steps)))
    rows = [kernel.process(batch)[0] for batch in table.to_batches()]
    return [row for batch in rows if batch is not None for row in arrow_rows(batch)]
