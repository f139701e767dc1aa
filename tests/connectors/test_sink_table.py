"""toTable: a table is created as Spark does, or checked, and the file sink writes into it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from sink_cases import EVERY_TYPE, EVERY_VALUE, PAIRS, frame, make, pairs, rows, run_epoch

from headway.connectors.sinks import table_sink
from headway.connectors.sinks.base import spark_schema
from headway.dataflow.types import Field
from headway.errors import InvalidOption, UnsupportedPlan


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A database of its own, so that nothing is left behind."""
    spark.sql(f"CREATE DATABASE sink_tables LOCATION '{tmp_path}'")
    yield "sink_tables"
    spark.sql("DROP DATABASE sink_tables CASCADE")


def write(spark: SparkSession, name: str, batch: Any, epoch: int = 0, **changes: Any) -> None:
    schema = changes.pop("schema", PAIRS)
    partition_by = changes.pop("partition_by", ())
    format, options = table_sink(spark, name, changes.pop("format", "parquet"), partition_by, {}, schema)
    run_epoch(make(spark, format, schema, options=options, partition_by=partition_by), epoch, batch)


def test_a_new_table_is_made_and_filled(spark: SparkSession, tables: str) -> None:
    name = f"{tables}.fresh"
    write(spark, name, pairs(1, 2))
    write(spark, name, pairs(3), epoch=1)
    assert sorted(r.k for r in spark.table(name).collect()) == [1, 2, 3]


def test_readers_see_whole_epochs_while_more_is_written(spark: SparkSession, tables: str) -> None:
    name = f"{tables}.read"
    write(spark, name, pairs(1, 2))
    assert keys(spark, name) == [1, 2]
    format, options = table_sink(spark, name, "parquet", (), {}, PAIRS)
    sink = make(spark, format, PAIRS, options=options)
    committer = sink.committer()
    writers = [sink.writer(f"sink-{number}") for number in range(2)]
    for number, writer in enumerate(writers):
        writer.write(pairs(10 + number), 1)
    assert keys(spark, name) == [1, 2]
    receipts = [writer.prepare(1) for writer in writers]
    assert keys(spark, name) == [1, 2]
    committer.commit(1, receipts)
    assert keys(spark, name) == [1, 2, 10, 11]


def keys(spark: SparkSession, name: str) -> list[int]:
    return sorted(row.k for row in spark.table(name).collect())


def test_a_table_with_partitions_and_every_type(spark: SparkSession, tables: str) -> None:
    name = f"{tables}.typed"
    batch = rows(EVERY_TYPE, EVERY_VALUE)
    write(spark, name, batch, schema=EVERY_TYPE, partition_by=("int",))
    expected = frame(spark, EVERY_TYPE, batch)
    read = spark.table(name).select(*expected.columns)
    assert read.schema == expected.schema
    assert sorted(map(str, read.collect())) == sorted(map(str, expected.collect()))
    described = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    assert ("# Partition Information", "", "") in [tuple(r) for r in described]


def test_option_path_is_the_location(spark: SparkSession, tables: str, tmp_path: Path) -> None:
    where = tmp_path / "else'where"
    format, options = table_sink(
        spark, f"{tables}.placed", "json", (), {"Path": str(where), "compression": "gzip"}, PAIRS
    )
    assert format == "json"
    assert options["path"].endswith("else'where")
    assert options["compression"] == "gzip"
    assert "Path" not in options


def test_an_existing_table_must_fit(spark: SparkSession, tables: str) -> None:
    name = f"{tables}.there"
    spark.sql(f"CREATE TABLE {name} (k BIGINT, s INT, t STRING) USING parquet")
    with pytest.raises(
        InvalidOption, match=r"s is int in the table and string in the query; t is string .* and missing"
    ):
        write(spark, name, pairs(1))
    with pytest.raises(InvalidOption, match=r"call .format\('parquet'\)"):
        write(spark, name, pairs(1), format="json")
    with pytest.raises(InvalidOption, match="partitioned by"):
        write(spark, name, pairs(1), partition_by=("k",))


def test_views_and_other_catalogs_are_refused(spark: SparkSession, tables: str) -> None:
    frame(spark, PAIRS, pairs(1)).createOrReplaceTempView("just_a_view")
    with pytest.raises(InvalidOption, match="temporary view"):
        write(spark, "just_a_view", pairs(1))
    spark.sql(f"CREATE VIEW {tables}.a_view AS SELECT 1 AS k")
    with pytest.raises(InvalidOption, match="is a view"):
        write(spark, f"{tables}.a_view", pairs(1))
    with pytest.raises(UnsupportedPlan, match="catalog lake"):
        write(spark, "lake.db.table", pairs(1))
    with pytest.raises(UnsupportedPlan, match="format delta"):
        write(spark, f"{tables}.d", pairs(1), format="delta")


def test_strange_column_names(spark: SparkSession, tables: str) -> None:
    schema = (Field("a`b c", T.LongType()), Field("w", T.StructType.fromDDL("`x-y` timestamp, n decimal(5,1)")))
    table_sink(spark, f"{tables}.odd", "parquet", (), {}, schema)
    assert spark.table(f"{tables}.odd").schema == spark_schema(schema)
