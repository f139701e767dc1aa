"""Rows as user code gets them, from columns: what PySpark's own conversion gives, in a fraction of its time.

1. Converters are made once per schema, not per batch: at a window's end every query has a small batch at the same time.
2. Of timestamps, each value is converted once per batch: a window's start is that of all its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.types import Row, _create_row

_Column = Callable[[pa.Array], list[Any]]


class Rows:
    """Turns batches of one schema into rows."""

    def __init__(self, schema: T.StructType) -> None:
        self._names = schema.names
        self._columns = [_column(field.dataType) for field in schema.fields]

    def __call__(self, batch: pa.RecordBatch) -> list[Row]:
        if not self._columns:
            return [_create_row([], ())] * batch.num_rows
        columns = [convert(column) for convert, column in zip(self._columns, batch.columns, strict=True)]
        return [_create_row(self._names, values) for values in zip(*columns, strict=True)]


def _column(kind: T.DataType) -> _Column:
    if isinstance(kind, T.StructType) and kind.fields and len(set(kind.names)) == len(kind.names):
        return _struct(kind)
    convert = ArrowTableToRowsConversion._create_converter(kind, none_on_identity=True)
    values: _Column = ArrowTableToRowsConversion._to_pylist
    if convert is None:
        return values
    if isinstance(kind, T.TimestampType):
        return _each_value_once(convert)
    return lambda array: [convert(value) for value in values(array)]


def _struct(kind: T.StructType) -> _Column:
    names, fields = kind.names, [_column(field.dataType) for field in kind.fields]

    def convert(array: pa.Array) -> list[Any]:
        parts = [field(part) for field, part in zip(fields, array.flatten(), strict=True)]
        rows = [_create_row(names, values) for values in zip(*parts, strict=True)]
        if not array.null_count:
            return rows
        return [row if there else None for row, there in zip(rows, array.is_valid().to_pylist(), strict=True)]

    return convert


def _each_value_once(convert: Callable[[Any], Any]) -> _Column:
    def converted(array: pa.Array) -> list[Any]:
        encoded = array.dictionary_encode()
        values = [convert(value) for value in encoded.dictionary.to_pylist()]
        return [None if at is None else values[at] for at in encoded.indices.to_pylist()]

    return converted
