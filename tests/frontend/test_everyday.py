"""What people write every day is native, and its answer is Spark's."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from everyday_frames import COLUMNS, GROUPS, JOINS, KEYED, ROWS
from lowered_rows import run
from pyspark.sql import DataFrame, SparkSession

from headway.connectors.sources import open_source
from headway.dataflow.graph import Keyed, Relation
from headway.dataflow.user_code import EvalPython
from headway.frontend import lower
from headway.frontend.lower import LoweredQuery

SCHEMA = (
    "id long, k string, i int, l long, m decimal(10, 2), d double, b boolean, s string, js string, arr array<int>, "
    "mp map<string, int>, st struct<x: int, y: string>, day date, t timestamp"
)
START = dt.datetime(2024, 3, 10, 6, 59, 50, tzinfo=dt.UTC)
WORDS = ["a1,b", "abc", "  x9 y", "http://a.b/c?d=1", "Zürich 12", "", "12", "B"]
NAMES = [(1, "one"), (2, "two"), (2, "zwei"), (None, "none"), (9, "nine")]
JSON = '{"a": 0, "b": "x0", "c": [1, {"d": null}]}'
LIMITS = [("k0", 0, 10), ("k1", 5, 30), ("k2", 20, 40)]
SQL = dict(re.findall(r"^-- (.*)\n((?:(?!--).+\n?)+)", Path(__file__).with_name("everyday.sql").read_text(), re.M))
FRAMES = COLUMNS | ROWS | JOINS | GROUPS | KEYED


def _row(n: int) -> tuple[Any, ...]:
    """Every column is null now and then."""

    def maybe(every: int, value: Any) -> Any:
        return None if n % every == 0 else value

    return (
        *(n, maybe(11, f"k{n % 3}"), maybe(7, n), maybe(13, n % 5), Decimal(n * 731) / 100, maybe(9, n / 8)),
        *(maybe(6, n % 2 == 0), maybe(8, WORDS[n % 8]), maybe(10, JSON.replace("0", str(n)))),
        *(maybe(5, [n % 4, 3, None][: n % 4]), maybe(4, {"a": n, "b": None}), maybe(12, (n, f"y{n}"))),
        *(dt.date(2024, 1, 31) + dt.timedelta(days=n), START + dt.timedelta(milliseconds=437 * n)),
    )


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([_row(n) for n in range(60)], SCHEMA).localCheckpoint()


@pytest.fixture(scope="module")
def rows(batch: DataFrame) -> pa.Table:
    return batch.toArrow()


@pytest.fixture(scope="module")
def names(spark: SparkSession) -> DataFrame:
    found = spark.createDataFrame(NAMES, "id long, name string")
    found.createOrReplaceTempView("names")
    spark.createDataFrame(LIMITS, "kk string, low int, high int").createOrReplaceTempView("limits")
    return found


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    files = spark.readStream.schema(SCHEMA).json(str(tmp_path_factory.mktemp("everyday")))
    return files.withWatermark("t", "1 second")


@pytest.mark.parametrize("name", SQL)
def test_sql(
    spark: SparkSession, stream: DataFrame, batch: DataFrame, rows: pa.Table, names: DataFrame, name: str
) -> None:
    stream.createOrReplaceTempView("events")
    frame = spark.sql(SQL[name])
    query = _native(frame)
    assert [field.name for field in query.schema] == frame.columns
    if name.endswith("*"):
        return
    batch.createOrReplaceTempView("events")
    _same(query, rows, spark.sql(SQL[name]))


@pytest.mark.parametrize("name", FRAMES)
def test_frames(stream: DataFrame, batch: DataFrame, rows: pa.Table, names: DataFrame, name: str) -> None:
    frame = FRAMES[name](stream, names)
    query = _native(frame)
    assert [field.name for field in query.schema] == frame.columns
    if name not in KEYED:
        _same(query, rows, FRAMES[name](batch, names))


def _native(df: DataFrame) -> LoweredQuery:
    query = lower(df)
    for source in query.sources:
        open_source(source)
    return query


def _same(query: LoweredQuery, rows: pa.Table, batch: DataFrame) -> None:
    if any(isinstance(relation, Keyed | EvalPython) for relation in _below(query.plan)):
        return
    assert _sorted(run(query.plan, rows)) == _sorted(batch.toArrow())


def _below(relation: Relation) -> Iterator[Relation]:
    yield relation
    for below in relation.inputs:
        yield from _below(below)


def _sorted(table: pa.Table) -> list[str]:
    return sorted(map(repr, zip(*(_plain(column.combine_chunks()) for column in table.columns), strict=True)))


def _plain(column: pa.Array) -> list[Any]:
    """Instants are instants in whichever zone they are shown, doubles count to twelve digits."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_struct(column.type):
        missing = column.is_null().to_pylist()
        values = zip(*map(_plain, column.flatten()), strict=True)
        return [None if gone else value for gone, value in zip(missing, values, strict=True)]
    if pa.types.is_map(column.type):
        return [None if value is None else sorted(value) for value in column.to_pylist()]
    return [_number(value) for value in column.to_pylist()]


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(item) for item in value]
    return f"{value:.12g}" if isinstance(value, float) else value
