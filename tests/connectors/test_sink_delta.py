"""The Delta Lake sink, its tables read back by the library that knows them."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from sink_cases import EVERY_TYPE, EVERY_VALUE, PAIRS, context, make, pairs, rows, run_epoch

from headway import Headway
from headway.connectors.api import Sink
from headway.connectors.sinks import open_sink
from headway.dataflow.types import Field, arrow_schema
from headway.errors import InvalidOption
from headway.testing import MemoryStream

deltalake = pytest.importorskip("deltalake", reason="NO DELTALAKE, THE TESTS OF DELTA LAKE DO NOT RUN")


def table(path: Path) -> pa.Table:
    """What a reader of the table sees now."""
    return pa.table(deltalake.DeltaTable(str(path)).to_pyarrow_table())


def keys(path: Path) -> list[int]:
    return sorted(table(path)["k"].to_pylist())


def sink(spark: SparkSession, path: Path, **changes: Any) -> Sink:
    return make(spark, "delta", options={"path": str(path)}, **changes)


def test_an_epoch_is_added_once(spark: SparkSession, tmp_path: Path) -> None:
    first = sink(spark, tmp_path)
    committer = first.committer()
    assert keys(tmp_path) == []
    zero = run_epoch(first, 0, pairs(1, 2), pairs(3), committer=committer)
    assert keys(tmp_path) == [1, 2, 3]
    again = sink(spark, tmp_path).committer()
    again.restore(0, [])
    again.commit(0, zero)
    assert keys(tmp_path) == [1, 2, 3]
    again.commit(1, [])
    run_epoch(first, 2, pairs(4), committer=again)
    assert keys(tmp_path) == [1, 2, 3, 4]
    assert deltalake.DeltaTable(str(tmp_path)).transaction_version("id") == 2


def test_what_was_not_committed_is_not_seen(spark: SparkSession, tmp_path: Path) -> None:
    made = sink(spark, tmp_path)
    run_epoch(made, 0, pairs(1))
    writer = made.writer("sink-0")
    writer.write(pairs(2), 1)
    writer.prepare(1)
    assert keys(tmp_path) == [1]


def test_two_queries_write_one_table(spark: SparkSession, tmp_path: Path) -> None:
    for query, key in (("one", 1), ("two", 2)):
        run_epoch(sink(spark, tmp_path, query_id=query), 0, pairs(key))
    assert keys(tmp_path) == [1, 2]


def test_every_type(spark: SparkSession, tmp_path: Path) -> None:
    made = make(spark, "delta", EVERY_TYPE, options={"path": str(tmp_path)})
    batch = rows(EVERY_TYPE, EVERY_VALUE)
    run_epoch(made, 0, batch)
    assert table(tmp_path).cast(arrow_schema(EVERY_TYPE)).to_pylist()[3] == batch.to_pylist()[3]
    assert str(table(tmp_path).to_pylist()) == str(batch.to_pylist())


def test_partitions(spark: SparkSession, tmp_path: Path) -> None:
    schema = (Field("day", T.DateType()), Field("s", T.StringType()), Field("n", T.LongType()))
    days = [dt.date(2024, 2, 29), None]
    names = ["plain", "a/b=c %41 ü", None]
    values = [{"day": day, "s": name, "n": n} for n, (day, name) in enumerate((d, s) for d in days for s in names)]
    made = make(spark, "delta", schema, options={"path": str(tmp_path)}, partition_by=("day", "s"))
    run_epoch(made, 0, rows(schema, values))
    found = table(tmp_path).sort_by("n").select(["day", "s", "n"])
    assert found.to_pylist() == values


def test_a_query_with_a_restart(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "k long, s string")
    df = stream.toDF().select("k", F.upper("s").alias("s"))
    for low in (0, 100):
        writer = hw.writeStream(df).format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.start(str(tmp_path / "table"), fallback=False)
        stream.addData(*[(k, "a") for k in range(low, low + 100)])
        query.processAllAvailable()
        query.stop()
    assert keys(tmp_path / "table") == list(range(200))
    assert set(table(tmp_path / "table")["s"].to_pylist()) == {"A"}


def test_a_table_of_other_columns_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    run_epoch(sink(spark, tmp_path), 0, pairs(1))
    options = {"path": str(tmp_path)}
    other = (Field("k", T.StringType()), Field("s", T.StringType()))
    with pytest.raises(InvalidOption, match="has the columns"):
        open_sink("delta", context(spark, other, options=options))
    with pytest.raises(InvalidOption, match="is partitioned by"):
        open_sink("delta", context(spark, PAIRS, options=options, partition_by=("s",)))
    with pytest.raises(InvalidOption, match="needs a path"):
        open_sink("delta", context(spark, PAIRS))
    stamped = (*PAIRS, Field("t", T.TimestampType()))
    with pytest.raises(InvalidOption, match="use a date"):
        open_sink("delta", context(spark, stamped, options={"path": f"{tmp_path}/t"}, partition_by=("t",)))
