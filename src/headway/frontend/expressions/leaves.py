"""Lowering of attributes, literals, structs, and of wrappers that do not change a value.

Calls: `GetStructField(struct)` with option `ordinal`; `CreateNamedStruct(values...)`, the names are in the type;
`NormalizeNaNAndZero(x)`. Literals of interval types are ints too: microseconds, or months.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.dataflow.types import nullable
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


def spark_type(written: Any) -> T.DataType:
    """The type that a plan's JSON writes as `written`; all inside is nullable, as Arrow's fields are here.

    >>> spark_type("decimal(10,2)")
    DecimalType(10,2)
    """
    return nullable(T._parse_datatype_json_string(json.dumps(written)))


@lowers("AttributeReference")
def _attribute(tree: Tree, lowering: Lowering) -> Expr:
    found = lowering.columns.get(tree.fields["exprId"]["id"])
    if found is None:
        raise UnsupportedPlan(f"attribute {tree.fields['name']}", "it is not a column of the operator's input")
    return found


@lowers(
    *("Alias", "KnownNotNull", "KnownNullable", "KnownNotContainsNull", "KnownFloatingPointNormalized", "UnaryPositive")
)
def _same(tree: Tree, lowering: Lowering) -> Expr:
    return lowering(tree.children[0])


@lowers("NormalizeNaNAndZero")
def _normalized(tree: Tree, lowering: Lowering) -> Expr:
    child = lowering(tree.children[0])
    return Call(child.type, tree.name, (child,))


@lowers("GetStructField")
def _field(tree: Tree, lowering: Lowering) -> Expr:
    struct = lowering(tree.children[0])
    ordinal = tree.fields["ordinal"]
    assert isinstance(struct.type, T.StructType)
    if isinstance(struct, Call) and struct.function == "CreateNamedStruct":
        return struct.args[int(ordinal)]
    return Call(struct.type.fields[ordinal].dataType, tree.name, (struct,), (("ordinal", ordinal),))


@lowers("CreateNamedStruct")
def _struct(tree: Tree, lowering: Lowering) -> Expr:
    names = [child.fields["value"] for child in tree.children[::2]]
    values = tuple(lowering(child) for child in tree.children[1::2])
    fields = [T.StructField(name, value.type) for name, value in zip(names, values, strict=True)]
    return Call(T.StructType(fields), tree.name, values)


@lowers("Literal")
def _literal(tree: Tree, lowering: Lowering) -> Expr:
    data_type = spark_type(tree.fields["dataType"])
    written = tree.fields["value"]
    if written is None:
        return Literal(data_type, None)
    if "exact" in tree.fields:
        return Literal(data_type, exact_value(data_type, tree.fields["exact"]))
    return Literal(data_type, parse_value(data_type, written, lowering.time_zone))


def exact_value(data_type: T.DataType, value: Any) -> Any:
    """A value that completion fetched: decimals come as text, arrays, structs and maps (as pairs) as lists."""
    if value is None:
        return None
    if isinstance(data_type, T.DecimalType):
        return Decimal(value)
    if isinstance(data_type, T.ArrayType):
        return tuple(exact_value(data_type.elementType, item) for item in value)
    if isinstance(data_type, T.StructType):
        return tuple(exact_value(f.dataType, item) for f, item in zip(data_type.fields, value, strict=True))
    if isinstance(data_type, T.MapType):
        return tuple((exact_value(data_type.keyType, k), exact_value(data_type.valueType, v)) for k, v in value)
    return value


def parse_value(data_type: T.DataType, written: str, time_zone: str) -> Any:
    """The value of a literal from the text that a plan's JSON has for it.

    >>> parse_value(T.DateType(), "1970-01-03", "UTC")
    2
    """
    parser = _PARSERS.get(type(data_type))
    if parser is None:
        raise UnsupportedPlan(f"literal of type {data_type.simpleString()}")
    return parser(written, time_zone)


def _days(written: str, _: str) -> int:
    return int(np.datetime64(written.lstrip("+"), "D").astype(np.int64))


def _microseconds(written: str, time_zone: str) -> int:
    local = datetime.fromisoformat(written)
    zoned = local.replace(tzinfo=ZoneInfo(time_zone))
    offset = zoned.utcoffset()
    assert offset is not None
    utc = np.datetime64(local - offset, "us")
    return int(utc.astype(np.int64))


def _binary(written: str, _: str) -> bytes:
    raise UnsupportedPlan("literal of type binary", f"the plan says {written!r} for its bytes")


def _integer(written: str, _: str) -> int:
    return int(written)


_PARSERS: dict[type[T.DataType], Callable[[str, str], Any]] = {
    T.BooleanType: lambda written, _: written == "true",
    T.ByteType: _integer,
    T.ShortType: _integer,
    T.IntegerType: _integer,
    T.LongType: _integer,
    T.FloatType: lambda written, _: float(np.float32(written)),
    T.DoubleType: lambda written, _: float(written),
    T.DecimalType: lambda written, _: Decimal(written),
    T.StringType: lambda written, _: written,
    T.BinaryType: _binary,
    T.DateType: _days,
    T.TimestampType: _microseconds,
    T.TimestampNTZType: _integer,
    T.DayTimeIntervalType: _integer,
    T.YearMonthIntervalType: _integer,
}
