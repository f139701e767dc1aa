"""Results of Python UDFs that Spark exchanges pickled: the JVM takes what fits the declared type, else it is null.

A whole number is no double, a bool no number, and numbers that do not fit lose their high bits; any value does for a
string. So it is in Spark; where the JVM would print a Java object's own text, an error says to convert the value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.errors import HeadwayError
from headway.kernels.expressions.cast_printing import floats_text

Convert = Callable[[Any], Any]
_WIDE = Context(prec=76)
_BITS: dict[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}
_LONG = range(-(2**63), 2**63)


def converter(data_type: T.DataType) -> Convert:
    """What turns a function's result, in PySpark's internal form, into a value for an Arrow array."""
    make = _CONVERTERS[type(data_type)]
    convert = make(data_type)
    return lambda value: None if value is None else convert(value)


def _integer(data_type: T.DataType) -> Convert:
    bits = _BITS[type(data_type)]
    half = 1 << (bits - 1)

    def convert(value: Any) -> int | None:
        if type(value) is not int or value not in _LONG:
            return None
        return (value + half) % (2 * half) - half

    return convert


def _only(kind: type) -> Callable[[T.DataType], Convert]:
    return lambda _: lambda value: value if type(value) is kind else None


def _whole(_: T.DataType) -> Convert:
    return lambda value: value if type(value) is int and value in _LONG else None


def _decimal(data_type: T.DataType) -> Convert:
    assert isinstance(data_type, T.DecimalType)
    unit = Decimal(1).scaleb(-data_type.scale)
    most = Decimal(10) ** (data_type.precision - data_type.scale)

    def convert(value: Any) -> Decimal | None:
        if not isinstance(value, Decimal):
            return None
        rounded = value.quantize(unit, ROUND_HALF_UP, _WIDE)
        if abs(rounded) >= most:
            raise HeadwayError(f"[NUMERIC_VALUE_OUT_OF_RANGE] {value} does not fit {data_type.simpleString()}")
        return rounded

    return convert


def _string(_: T.DataType) -> Convert:
    def convert(value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | Decimal):
            return str(value)
        if isinstance(value, float):
            return str(floats_text(pa.array([value]))[0])
        raise HeadwayError(f"a Python UDF returned a {type(value).__name__} for a string: return str(…) of it instead")

    return convert


def _binary(_: T.DataType) -> Convert:
    def convert(value: Any) -> bytes | None:
        if isinstance(value, str):
            return value.encode()
        return bytes(value) if isinstance(value, bytes | bytearray) else None

    return convert


def _array(data_type: T.DataType) -> Convert:
    assert isinstance(data_type, T.ArrayType)
    element = converter(data_type.elementType)
    return lambda value: [element(item) for item in value] if isinstance(value, list | tuple) else None


def _map(data_type: T.DataType) -> Convert:
    assert isinstance(data_type, T.MapType)
    key, item = converter(data_type.keyType), converter(data_type.valueType)
    return lambda value: [(key(k), item(v)) for k, v in value.items()] if isinstance(value, dict) else None


def _struct(data_type: T.DataType) -> Convert:
    assert isinstance(data_type, T.StructType)
    names = data_type.names
    fields = [converter(f.dataType) for f in data_type.fields]

    def convert(value: Any) -> dict[str, Any] | None:
        if not isinstance(value, tuple):
            return None
        if len(value) != len(names):
            raise HeadwayError(
                f"[STRUCT_ARRAY_LENGTH_MISMATCH] Input row doesn't have expected number of values required by the "
                f"schema. {len(names)} fields are required while {len(value)} values are provided."
            )
        return {name: field(item) for name, field, item in zip(names, fields, value, strict=True)}

    return convert


_CONVERTERS: dict[type[T.DataType], Callable[[T.DataType], Convert]] = {
    T.NullType: lambda _: lambda value: None,
    T.BooleanType: _only(bool),
    **dict.fromkeys(_BITS, _integer),
    T.FloatType: _only(float),
    T.DoubleType: _only(float),
    T.DecimalType: _decimal,
    T.StringType: _string,
    T.BinaryType: _binary,
    T.DateType: _whole,
    T.TimestampType: _whole,
    T.TimestampNTZType: _whole,
    T.DayTimeIntervalType: _whole,
    T.YearMonthIntervalType: _whole,
    T.ArrayType: _array,
    T.MapType: _map,
    T.StructType: _struct,
}
