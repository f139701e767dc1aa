"""Json files, one object per line, as Spark writes them.

1. Fields that are null are left out, unless option ignoreNullFields is false; entries of maps are not.
2. Timestamps are ISO with milliseconds and, where they are instants, the session's offset; binary is base64.
3. Numbers that json does not have (NaN, Infinity) are strings.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT
from headway.connectors.sinks.formats.lines import LineFormat, line_extension
from headway.connectors.sinks.text_values import Texts, TextValues, java_double, java_float
from headway.dataflow.types import Schema
from headway.kernels.lists import Lists, entries, lists_of

_NATIVE = (*OF_EVERY_FORMAT, "codec", "ignoreNullFields", "lineSep", "timeZone")
_OF_SPARK = (
    "dateFormat",
    "timestampFormat",
    "timestampNTZFormat",
    "encoding",
    "charset",
    "locale",
    "pretty",
    "writeNonAsciiCharacterAsCodePoint",
)


def json_format(context: SinkContext, options: Options, fields: Schema) -> LineFormat:
    options.check("json", _NATIVE, _OF_SPARK)
    ignore = str(context.spark.conf.get("spark.sql.jsonGenerator.ignoreNullFields")).lower() == "true"
    texts = TextValues.of_session(context.spark, options.text("timeZone", default=""))
    encode = JsonRows(tuple((f.name, f.type) for f in fields), texts, options.flag("ignoreNullFields", ignore))
    return LineFormat(encode, line_extension("json", options), options.text("lineSep", default="\n"))


@dataclass(frozen=True)
class JsonRows:
    """Batches as lines of json; columns are turned into text one by one, then zipped."""

    fields: tuple[tuple[str, T.DataType], ...]
    texts: TextValues
    ignore_nulls: bool

    def __call__(self, batch: pa.RecordBatch) -> list[str]:
        return self._objects(self.fields, batch.columns, batch.num_rows)

    def _objects(self, fields: Sequence[tuple[str, T.DataType]], columns: Sequence[pa.Array], rows: int) -> list[str]:
        members = [
            self._members(name, self.values(column, kind)) for (name, kind), column in zip(fields, columns, strict=True)
        ]
        if not members:
            return ["{}"] * rows
        return ["{" + ",".join([m for m in row if m is not None]) + "}" for row in zip(*members, strict=True)]

    def _members(self, name: str, values: Texts) -> Texts:
        key = encode_basestring(name) + ":"
        missing = None if self.ignore_nulls else key + "null"
        return [missing if value is None else key + value for value in values]

    def values(self, column: pa.Array, kind: T.DataType) -> Texts:
        """A column as texts of JSON, None where it is null."""
        if isinstance(kind, T.StructType):
            return self._structs(column, kind)
        if isinstance(kind, T.ArrayType):
            return self._arrays(column, kind)
        if isinstance(kind, T.MapType):
            return self._maps(column, kind)
        if isinstance(kind, T.TimestampType | T.TimestampNTZType):
            column = self.texts.iso(column)
        text = _VALUES.get(type(kind), str)
        return [None if value is None else text(value) for value in column.to_pylist()]

    def _structs(self, column: pa.StructArray, kind: T.StructType) -> Texts:
        fields = [(f.name, f.dataType) for f in kind.fields]
        objects = self._objects(fields, column.flatten(), len(column))
        return [text if valid else None for text, valid in zip(objects, column.is_valid().to_pylist(), strict=True)]

    def _arrays(self, column: pa.Array, kind: T.ArrayType) -> Texts:
        found = lists_of(column)
        items = [text or "null" for text in self.values(found.values, kind.elementType)]
        return _joined(found, items, "[", "]")

    def _maps(self, column: pa.Array, kind: T.MapType) -> Texts:
        found, keys, values = entries(column)
        names = self.texts.cast(keys, kind.keyType)
        pairs = zip(names, self.values(values, kind.valueType), strict=True)
        members = [f"{encode_basestring(name or '')}:{value or 'null'}" for name, value in pairs]
        return _joined(found, members, "{", "}")


def _joined(found: Lists, items: Sequence[str], opening: str, closing: str) -> Texts:
    """The texts of every row's items, between brackets; None where the row is null."""
    bounds = zip(found.starts.tolist(), (found.starts + found.lengths).tolist(), found.valid.tolist(), strict=True)
    return [opening + ",".join(items[start:end]) + closing if there else None for start, end, there in bounds]


def _number(text: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: text(value) if math.isfinite(value) else f'"{text(value)}"'


_VALUES: dict[type[T.DataType], Callable[[Any], str]] = {
    T.BooleanType: lambda value: "true" if value else "false",
    T.DoubleType: _number(java_double),
    T.FloatType: _number(java_float),
    T.StringType: encode_basestring,
    T.BinaryType: lambda value: f'"{base64.b64encode(value).decode()}"',
    T.DateType: lambda value: f'"{value.isoformat()}"',
    T.TimestampType: encode_basestring,
    T.TimestampNTZType: encode_basestring,
}
