"""Spark's types, and how Headway holds their values in Arrow columns.

Headway keeps Spark's own `DataType` objects; this is the only place that maps them to Arrow:
timestamps are microseconds with zone UTC, timestamp_ntz microseconds without one, dates are date32; an interval of days
and times is a duration in microseconds, one of years and months the number of months.
"""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import types as T

from headway.errors import UnsupportedPlan

_ARROW: dict[type[T.DataType], pa.DataType] = {
    T.BooleanType: pa.bool_(),
    T.ByteType: pa.int8(),
    T.ShortType: pa.int16(),
    T.IntegerType: pa.int32(),
    T.LongType: pa.int64(),
    T.FloatType: pa.float32(),
    T.DoubleType: pa.float64(),
    T.StringType: pa.string(),
    T.BinaryType: pa.binary(),
    T.DateType: pa.date32(),
    T.TimestampType: pa.timestamp("us", "UTC"),
    T.TimestampNTZType: pa.timestamp("us"),
    T.NullType: pa.null(),
    T.DayTimeIntervalType: pa.duration("us"),
    T.YearMonthIntervalType: pa.int32(),
}


def arrow_type(spark_type: T.DataType) -> pa.DataType:
    """The Arrow type of columns that hold `spark_type`.

    >>> arrow_type(T.LongType())
    DataType(int64)
    """
    if isinstance(spark_type, T.DecimalType):
        return pa.decimal128(spark_type.precision, spark_type.scale)
    if isinstance(spark_type, T.StructType):
        return pa.struct([pa.field(f.name, arrow_type(f.dataType), f.nullable) for f in spark_type.fields])
    if isinstance(spark_type, T.ArrayType):
        return pa.list_(pa.field("element", arrow_type(spark_type.elementType)))
    if isinstance(spark_type, T.MapType):
        return pa.map_(arrow_type(spark_type.keyType), arrow_type(spark_type.valueType))
    if isinstance(spark_type, T.StringType) and spark_type != T.StringType():
        raise UnsupportedPlan(f"type {spark_type.simpleString()}", "collations are not supported")
    found = _ARROW.get(type(spark_type))
    if found is None:
        raise UnsupportedPlan(f"type {spark_type.simpleString()}")
    return found


def nullable(spark_type: T.DataType) -> T.DataType:
    """`spark_type` with nulls allowed everywhere inside, as they are in Arrow columns here.

    >>> nullable(T.ArrayType(T.LongType(), containsNull=False))
    ArrayType(LongType(), True)
    """
    if isinstance(spark_type, T.StructType):
        return T.StructType([T.StructField(f.name, nullable(f.dataType), True) for f in spark_type.fields])
    if isinstance(spark_type, T.ArrayType):
        return T.ArrayType(nullable(spark_type.elementType))
    if isinstance(spark_type, T.MapType):
        return T.MapType(nullable(spark_type.keyType), nullable(spark_type.valueType))
    return spark_type


class Field(NamedTuple):
    """A column of a relation. `event_time` is true where a watermark follows it (a timestamp, or a window of it),
    `window_end` where it is no more than the end of such a window."""

    name: str
    type: T.DataType
    nullable: bool = True
    event_time: bool = False
    window_end: bool = False


Schema = tuple[Field, ...]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of batches of `schema`; fields are nullable as in Arrow, names may repeat."""
    return pa.schema([pa.field(f.name, arrow_type(f.type)) for f in schema])
