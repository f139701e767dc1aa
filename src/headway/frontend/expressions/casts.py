"""Lowering of casts.

Calls: `Cast(x)` with options `time_zone` and `ansi`; `TryCast(x)` with option `time_zone`: null where ANSI would fail.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree

_SIMPLE = (
    *(T.BooleanType, T.NumericType, T.StringType, T.BinaryType, T.DateType, T.TimestampType, T.TimestampNTZType),
    T.NullType,
)
_INTERVALS = (T.DayTimeIntervalType, T.YearMonthIntervalType)


@lowers("Cast")
def _cast(tree: Tree, lowering: Lowering) -> Expr:
    child = lowering(tree.child("child"))
    target = spark_type(tree.fields["dataType"])
    arrow_type(target)
    if child.type == target:
        return child
    _require_cast(child.type, target)
    zone = ("time_zone", tree.fields.get("timeZoneId") or lowering.time_zone)
    mode = tree.fields.get("evalMode") or ("ANSI" if lowering.ansi else "LEGACY")
    if mode == "TRY":
        return Call(target, "TryCast", (child,), (zone,))
    return Call(target, "Cast", (child,), (zone, ("ansi", mode == "ANSI")))


def _require_cast(source: T.DataType, target: T.DataType) -> None:
    """Arrays, maps and structs are cast part by part, or to strings."""
    if isinstance(source, T.ArrayType) and isinstance(target, T.ArrayType):
        return _require_cast(source.elementType, target.elementType)
    if isinstance(source, T.MapType) and isinstance(target, T.MapType):
        _require_cast(source.keyType, target.keyType)
        return _require_cast(source.valueType, target.valueType)
    if isinstance(source, T.StructType) and isinstance(target, T.StructType):
        for left, right in zip(source.fields, target.fields, strict=True):
            _require_cast(left.dataType, right.dataType)
        return None
    if isinstance(target, T.StringType) and isinstance(source, T.ArrayType | T.MapType | T.StructType):
        return _require_text(source, target)
    same = source == target or (isinstance(source, _INTERVALS) and type(source) is type(target))
    if not same and not (isinstance(source, _SIMPLE) and isinstance(target, _SIMPLE)):
        raise UnsupportedPlan(f"cast of {source.simpleString()} to {target.simpleString()}")
    return None


def _require_text(source: T.DataType, target: T.DataType) -> None:
    parts: list[T.DataType] = []
    if isinstance(source, T.StructType):
        parts = [f.dataType for f in source.fields]
    elif isinstance(source, T.MapType):
        parts = [source.keyType, source.valueType]
    elif isinstance(source, T.ArrayType):
        parts = [source.elementType]
    for part in parts:
        _require_cast(part, target)
