"""Rows, contexts and whole epochs for the tests of sinks."""

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headway.connectors.api import Sink, SinkContext
from headway.connectors.sinks import open_sink
from headway.connectors.sinks.base import spark_schema
from headway.dataflow.types import Field, Schema, arrow_schema

UTC = dt.UTC

PAIRS: Schema = (Field("k", T.LongType()), Field("s", T.StringType()))

EVERY_TYPE: Schema = (
    Field("bool", T.BooleanType()),
    Field("byte", T.ByteType()),
    Field("short", T.ShortType()),
    Field("int", T.IntegerType()),
    Field("long", T.LongType()),
    Field("float", T.FloatType()),
    Field("double", T.DoubleType()),
    Field("small", T.DecimalType(7, 2)),
    Field("large", T.DecimalType(38, 10)),
    Field("string", T.StringType()),
    Field("binary", T.BinaryType()),
    Field("date", T.DateType()),
    Field("time", T.TimestampType()),
    Field("local", T.TimestampNTZType()),
    Field("window", T.StructType([T.StructField("start", T.TimestampType()), T.StructField("n", T.IntegerType())])),
)

EVERY_VALUE: list[dict[str, Any]] = [
    {
        "bool": True,
        "byte": -128,
        "short": 32767,
        "int": -5,
        "long": 2**62,
        "float": 0.1,
        "double": 1e300,
        "small": Decimal("12345.67"),
        "large": Decimal("0.0000000001"),
        "string": 'a "quoted", \\ line\nand émoji 🚀',
        "binary": b"bytes",
        "date": dt.date(2024, 2, 29),
        "time": dt.datetime(2024, 3, 10, 7, 30, 0, 123000, tzinfo=UTC),
        "local": dt.datetime(2024, 3, 10, 2, 30, 0, 5000),
        "window": {"start": dt.datetime(1965, 1, 1, 5, 0, tzinfo=UTC), "n": 3},
    },
    {
        "bool": False,
        "byte": 0,
        "short": -1,
        "int": 2**31 - 1,
        "long": 0,
        "float": float("inf"),
        "double": float("nan"),
        "small": Decimal("-0.01"),
        "large": Decimal("-123456789012345678901234567.0000000001"),
        "string": "  spaces  ",
        "binary": b"more",
        "date": dt.date(1582, 10, 4),
        "time": dt.datetime(1900, 1, 1, 0, 0, 0, 1000, tzinfo=UTC),
        "local": dt.datetime(1969, 12, 31, 23, 59, 59, 999000),
        "window": {"start": None, "n": None},
    },
    {field.name: None for field in EVERY_TYPE},
    {
        "bool": True,
        "byte": 1,
        "short": 1,
        "int": 1,
        "long": 1,
        "float": -1.5e-10,
        "double": 123456789.5,
        "small": Decimal("0.00"),
        "large": Decimal("0E-10"),
        "string": "",
        "binary": b"x",
        "date": dt.date(9999, 12, 31),
        "time": dt.datetime(2024, 7, 1, 12, 0, tzinfo=UTC),
        "local": dt.datetime(2024, 7, 1, 12, 0),
        "window": {"start": dt.datetime(2024, 7, 1, 12, 0, tzinfo=UTC), "n": 0},
    },
]


def rows(schema: Schema, values: list[dict[str, Any]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(values, schema=arrow_schema(schema))


def pairs(*keys: int) -> pa.RecordBatch:
    return rows(PAIRS, [{"k": k, "s": f"s{k}"} for k in keys])


def context(spark: SparkSession, schema: Schema = PAIRS, **changes: Any) -> SinkContext:
    made = SinkContext(spark, "test_query", "id", schema, "append", {}, (), None)
    return made._replace(**changes)


def frame(spark: SparkSession, schema: Schema, batch: pa.RecordBatch) -> Any:
    """The same rows as Spark's own DataFrame."""
    return spark.createDataFrame(pa.Table.from_batches([batch]), spark_schema(schema))


def sent(sink: Sink) -> Sink:
    """The sink as a node gets it."""
    copy: Sink = pickle.loads(pickle.dumps(sink))
    return copy


def make(spark: SparkSession, format: str, schema: Schema = PAIRS, **changes: Any) -> Sink:
    return open_sink(format, context(spark, schema, **changes))


def run_epoch(sink: Sink, epoch: int, *batches: pa.RecordBatch, committer: Any = None) -> list[Any]:
    """One epoch of one operator per batch, through to the commit."""
    receipts = []
    for number, batch in enumerate(batches):
        writer = sent(sink).writer(f"sink-{number}")
        writer.write(batch, epoch)
        receipts.append(writer.prepare(epoch))
        writer.close(failed=False)
    (committer or sink.committer()).commit(epoch, receipts)
    return receipts
