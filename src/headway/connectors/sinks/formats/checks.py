"""Types that a file format cannot hold."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.types import Schema
from headway.errors import InvalidOption


def check_types(format: str, fields: Schema, *refused: type[T.DataType]) -> None:
    """Raise if a column, or a field of a struct, has one of the `refused` types."""
    for field in fields:
        bad = _first_bad(field.type, refused)
        if bad is not None:
            raise InvalidOption(
                f"sink {format} cannot hold column {field.name!r} of type {bad.simpleString()}; cast it or drop it"
            )


def has_type(fields: Schema, *wanted: type[T.DataType]) -> bool:
    """Whether a column, or a field of a struct, has one of the types."""
    return any(_first_bad(field.type, wanted) is not None for field in fields)


def _first_bad(spark_type: T.DataType, refused: tuple[type[T.DataType], ...]) -> T.DataType | None:
    if isinstance(spark_type, refused):
        return spark_type
    if isinstance(spark_type, T.StructType):
        return next((b for f in spark_type.fields if (b := _first_bad(f.dataType, refused)) is not None), None)
    if isinstance(spark_type, T.MapType):
        return _first_bad(spark_type.keyType, refused) or _first_bad(spark_type.valueType, refused)
    return _first_bad(spark_type.elementType, refused) if isinstance(spark_type, T.ArrayType) else None
