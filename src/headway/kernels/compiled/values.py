"""The values of generated code: a piece of Python source and one that tells whether the value is null.

1. Both are names or constants, so they may be used any number of times. "False" and "True" are known when
   generating, and are folded away: a kernel for batches without nulls has no trace of them.
2. A struct is the list of its fields' values; it is never in memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import types as T

WIDTHS: dict[type[T.DataType], int] = {T.ByteType: 8, T.ShortType: 16, T.IntegerType: 32, T.LongType: 64}
_STORAGE: dict[type[T.DataType], str] = {
    T.BooleanType: "bit",
    T.ByteType: "i8",
    T.ShortType: "i16",
    T.IntegerType: "i32",
    T.DateType: "i32",
    T.LongType: "i64",
    T.TimestampType: "i64",
    T.TimestampNTZType: "i64",
    T.FloatType: "f32",
    T.DoubleType: "f64",
}


class NotCompilable(Exception):
    """The reason, in words, why a chain cannot be compiled."""


@dataclass(frozen=True)
class Value:
    """A scalar: its source, and the source of "it is null"; where that is true, the value is anything. `place`, if it
    is known, is the source of a number that the value depends on alone, from 0 to below `places`."""

    code: str
    null: str = "False"
    place: str | None = None
    places: int = 0


@dataclass(frozen=True)
class Struct:
    """A struct. For a time window `ordinal` is the source of a number that is one more for the next window, and
    `duration` its length in microseconds."""

    fields: tuple[Value, ...]
    null: str = "False"
    ordinal: str | None = None
    duration: int = 0


AnyValue = Value | Struct


def storage(spark_type: T.DataType) -> str:
    """How a column of the type lies in memory: bit, i8, i16, i32, i64, f32 or f64."""
    found = _STORAGE.get(type(spark_type))
    if found is None:
        raise NotCompilable(f"type {spark_type.simpleString()} is not of fixed width or not supported")
    return found


def is_fixed(spark_type: T.DataType) -> bool:
    """Whether kernels can compute with values of the type."""
    return type(spark_type) in _STORAGE


def is_float(spark_type: T.DataType) -> bool:
    return isinstance(spark_type, T.FloatType | T.DoubleType)


def zero(spark_type: T.DataType) -> str:
    """Source of some value of the type, with the machine type that its values have."""
    if isinstance(spark_type, T.NullType):
        return "i64(0)"
    return {"bit": "False", "f32": "f32(0.0)", "f64": "f64(0.0)"}.get(storage(spark_type), "i64(0)")


def both(left: str, right: str) -> str:
    """Source of "left and right", both evaluated."""
    if "False" in (left, right):
        return "False"
    if "True" in (left, right):
        return right if left == "True" else left
    return f"({left} & {right})"


def either(left: str, right: str) -> str:
    """Source of "left or right", both evaluated."""
    if "True" in (left, right):
        return "True"
    if "False" in (left, right):
        return right if left == "False" else left
    return left if left == right else f"({left} | {right})"


def negate(condition: str) -> str:
    """Source of "not condition"."""
    return {"True": "False", "False": "True"}.get(condition, f"(not {condition})")
