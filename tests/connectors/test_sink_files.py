"""The file sink: exactly once over crashes and restarts, and Spark reads the directory at any time."""

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from sink_cases import EVERY_TYPE, EVERY_VALUE, PAIRS, frame, make, pairs, rows, run_epoch, sent

from headway.connectors.sinks.base import spark_schema
from headway.dataflow.types import Field, Schema
from headway.errors import InvalidOption, UnsupportedPlan


def keys(spark: SparkSession, path: Path) -> list[int]:
    return sorted(row.k for row in spark.read.schema("k long, s string").parquet(str(path)).collect())


def sink_at(spark: SparkSession, path: Path, format: str = "parquet", **changes: Any) -> Any:
    options = {"path": str(path), **changes.pop("options", {})}
    return make(spark, format, options=options, **changes)


def data_files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("part-*") if p.is_file())


def test_rows_appear_when_their_epoch_commits(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(spark, tmp_path / "out")
    committer = sink.committer()
    writer = sent(sink).writer("sink-0")
    writer.write(pairs(1), 0)
    receipt = writer.prepare(0)
    writer.write(pairs(2), 1)
    assert keys(spark, tmp_path / "out") == []
    committer.commit(0, [receipt])
    assert keys(spark, tmp_path / "out") == [1]
    committer.commit(1, [writer.prepare(1)])
    assert keys(spark, tmp_path / "out") == [1, 2]


def test_many_epochs_compact_the_log(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(spark, tmp_path)
    committer = sink.committer()
    for epoch in range(22):
        run_epoch(sink, epoch, pairs(epoch), pairs(100 + epoch), committer=committer)
    names = os.listdir(tmp_path / "_spark_metadata")
    assert {"9.compact", "19.compact", "21"} <= set(names)
    assert keys(spark, tmp_path) == [*range(22), *range(100, 122)]


def test_an_epoch_without_rows_leaves_no_trace(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(spark, tmp_path)
    committer = sink.committer()
    run_epoch(sink, 0, pairs(1), committer=committer)
    committer.commit(1, [[], []])
    run_epoch(sink, 2, pairs(2), committer=committer)
    assert {"0", "1"} <= set(os.listdir(tmp_path / "_spark_metadata"))
    assert keys(spark, tmp_path) == [1, 2]


def test_a_crash_and_a_restart_lose_nothing_and_double_nothing(spark: SparkSession, tmp_path: Path) -> None:
    first = sink_at(spark, tmp_path)
    run_epoch(first, 0, pairs(0))
    receipts = run_epoch(first, 1, pairs(1))
    lost = sent(first).writer("sink-0")
    lost.write(pairs(2), 2)
    lost.prepare(2)
    assert len(data_files(tmp_path)) == 3

    second = sink_at(spark, tmp_path)
    committer = second.committer()
    committer.restore(1, [])
    committer.commit(1, receipts)
    assert keys(spark, tmp_path) == [0, 1]
    run_epoch(second, 2, pairs(2), committer=committer)
    assert keys(spark, tmp_path) == [0, 1, 2]


def test_a_commit_that_was_lost_is_made_good(spark: SparkSession, tmp_path: Path) -> None:
    first = sink_at(spark, tmp_path)
    run_epoch(first, 0, pairs(0))
    writer = sent(first).writer("sink-0")
    writer.write(pairs(1), 1)
    receipts = [writer.prepare(1)]
    sink_at(spark, tmp_path).committer().commit(1, receipts)
    sink_at(spark, tmp_path).committer().commit(1, receipts)
    assert keys(spark, tmp_path) == [0, 1]


def test_closing_deletes_what_was_not_prepared(spark: SparkSession, tmp_path: Path) -> None:
    writer = sent(sink_at(spark, tmp_path)).writer("sink-0")
    writer.write(pairs(1), 0)
    kept = writer.prepare(0)
    writer.write(pairs(2), 1)
    assert len(data_files(tmp_path)) == 2
    writer.close(failed=True)
    assert [str(p.relative_to(tmp_path)) for p in data_files(tmp_path)] == [kept[0].path]


def test_a_new_query_appends_to_what_spark_wrote(spark: SparkSession, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    frame(spark, PAIRS, pairs(1, 2)).coalesce(1).write.parquet(str(source))
    query = (
        spark.readStream.schema("k long, s string")
        .parquet(str(source))
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "ck"))
        .trigger(availableNow=True)
        .start(str(out))
    )
    query.awaitTermination()
    run_epoch(sink_at(spark, out), 0, pairs(3))
    assert keys(spark, out) == [1, 2, 3]


def test_spark_streams_from_the_directory(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sink = sink_at(spark, out)
    committer = sink.committer()
    run_epoch(sink, 0, pairs(1), pairs(2), committer=committer)
    sent(sink).writer("sink-9").write(pairs(9), 1)
    query = (
        spark.readStream.schema("k long, s string")
        .parquet(str(out))
        .writeStream.format("memory")
        .queryName("read_back")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert sorted(r.k for r in spark.table("read_back").collect()) == [1, 2]


IN_ORC = (
    *(f for f in EVERY_TYPE if f.name not in ("date", "time", "window")),
    Field("st", T.StructType([T.StructField("l", T.TimestampNTZType())])),
)
IN_ORC_VALUES = [{**row, "st": row["local"] and {"l": row["local"]}} for row in EVERY_VALUE]


@pytest.mark.parametrize(
    ("format", "schema", "values"), [("parquet", EVERY_TYPE, EVERY_VALUE), ("orc", IN_ORC, IN_ORC_VALUES)]
)
def test_every_type_is_as_spark_writes_it(
    spark: SparkSession, tmp_path: Path, format: str, schema: Schema, values: list[dict[str, Any]]
) -> None:
    batch = rows(schema, values)
    run_epoch(sink_at(spark, tmp_path / "ours", format, schema=schema), 0, batch)
    frame(spark, schema, batch).coalesce(1).write.format(format).save(str(tmp_path / "theirs"))
    ours = spark.read.format(format).load(str(tmp_path / "ours"))
    theirs = spark.read.format(format).load(str(tmp_path / "theirs"))
    assert ours.schema == theirs.schema
    assert [str(r) for r in ours.collect()] == [str(r) for r in theirs.collect()]


PARTITION_COLUMNS = ["bool", "double", "float", "small", "large", "string", "date", "time", "local"]


@pytest.mark.parametrize("column", PARTITION_COLUMNS)
def test_partitions_are_named_as_spark_names_them(spark: SparkSession, tmp_path: Path, column: str) -> None:
    batch = rows(EVERY_TYPE, EVERY_VALUE)
    run_epoch(sink_at(spark, tmp_path / "ours", schema=EVERY_TYPE, partition_by=(column,)), 0, batch)
    frame(spark, EVERY_TYPE, batch).write.partitionBy(column).parquet(str(tmp_path / "theirs"))
    folders = [
        sorted(p.name for p in (tmp_path / side).iterdir() if p.is_dir() and p.name != "_spark_metadata")
        for side in ("ours", "theirs")
    ]
    assert folders[0] == folders[1]
    ours = spark.read.parquet(str(tmp_path / "ours")).select(column).orderBy(column)
    theirs = spark.read.parquet(str(tmp_path / "theirs")).select(column).orderBy(column)
    assert [str(r) for r in ours.collect()] == [str(r) for r in theirs.collect()]


def test_two_partition_columns_with_strange_values(spark: SparkSession, tmp_path: Path) -> None:
    values = ["a=b", "50%", "x/y", "ü ñ", "q?#[1]", None, "", "it's"]
    batch = rows(PAIRS, [{"k": k % 2, "s": s} for k, s in enumerate(values)])
    schema = (*PAIRS, PAIRS[0]._replace(name="v"))
    batch = batch.append_column("v", batch.column("k"))
    run_epoch(sink_at(spark, tmp_path, schema=schema, partition_by=("s", "K")), 0, batch)
    read = spark.read.parquet(str(tmp_path))
    assert read.columns == ["v", "s", "k"]
    assert sorted((r.s or "", r.k, r.v) for r in read.collect()) == sorted(
        (s or "", k % 2, k % 2) for k, s in enumerate(values)
    )


def test_many_partition_values_keep_few_files_open(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(spark, tmp_path, partition_by=("s",))
    run_epoch(sink, 0, pairs(*range(200)))
    assert len(data_files(tmp_path)) == 200
    assert spark.read.parquet(str(tmp_path)).agg(F.sum("k")).first()[0] == sum(range(200))


def test_max_records_per_file(spark: SparkSession, tmp_path: Path) -> None:
    sink = sink_at(spark, tmp_path, options={"maxRecordsPerFile": "3"})
    run_epoch(sink, 0, pairs(*range(8)))
    assert len(data_files(tmp_path)) == 3
    assert keys(spark, tmp_path) == list(range(8))


def test_paths_with_strange_characters(spark: SparkSession, tmp_path: Path) -> None:
    out = tmp_path / "a b%c+d"
    run_epoch(sink_at(spark, out), 0, pairs(1))
    assert keys(spark, out) == [1]


@pytest.mark.parametrize(("name", "suffix"), [("snappy", ".snappy"), ("none", ""), ("zstd", ".zstd"), ("gzip", ".gz")])
def test_parquet_codecs(spark: SparkSession, tmp_path: Path, name: str, suffix: str) -> None:
    run_epoch(sink_at(spark, tmp_path, options={"compression": name}), 0, pairs(1))
    assert data_files(tmp_path)[0].name.endswith(f"{suffix}.parquet")
    assert keys(spark, tmp_path) == [1]


def test_what_it_refuses(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="path"):
        make(spark, "parquet")
    with pytest.raises(InvalidOption, match="output mode complete"):
        sink_at(spark, tmp_path, output_mode="complete")
    with pytest.raises(InvalidOption, match="no column 'nope'"):
        sink_at(spark, tmp_path, partition_by=("nope",))
    with pytest.raises(InvalidOption, match="all columns"):
        sink_at(spark, tmp_path, partition_by=("k", "s"))
    with pytest.raises(InvalidOption, match="twice"):
        sink_at(spark, tmp_path, schema=(*PAIRS, PAIRS[0]._replace(name="K")))
    with pytest.raises(InvalidOption, match="'rocket'"):
        sink_at(spark, tmp_path, options={"compression": "rocket"})
    with pytest.raises(InvalidOption, match="did you mean 'compression'"):
        sink_at(spark, tmp_path, options={"compresion": "gzip"})
    with pytest.raises(UnsupportedPlan, match="timestamps in sink orc"):
        sink_at(spark, tmp_path, "orc", schema=EVERY_TYPE)
    with pytest.raises(UnsupportedPlan, match="dateFormat"):
        sink_at(spark, tmp_path, "json", options={"dateFormat": "yy"})
    with pytest.raises(UnsupportedPlan, match=r"parquet\.block\.size"):
        sink_at(spark, tmp_path, options={"parquet.block.size": "1"})


def test_the_schema_in_the_footer_keeps_nullability(spark: SparkSession, tmp_path: Path) -> None:
    schema = (PAIRS[0]._replace(nullable=False), PAIRS[1])
    run_epoch(sink_at(spark, tmp_path, schema=schema), 0, pairs(1))
    assert [f.dataType for f in spark.read.parquet(str(tmp_path)).schema] == [f.dataType for f in spark_schema(schema)]
