"""Orc files as Spark reads its own; timestamps without a zone are integers that carry Spark's name of their type."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import orc
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT, Encoder
from headway.connectors.sinks.formats.checks import check_types, has_type
from headway.connectors.sinks.formats.columnar import Gathered
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption, UnsupportedPlan

_CODECS = {
    "none": ("uncompressed", ""),
    "uncompressed": ("uncompressed", ""),
    "snappy": ("snappy", ".snappy"),
    "zlib": ("zlib", ".zlib"),
    "lz4": ("lz4", ".lz4"),
    "zstd": ("zstd", ".zstd"),
}


@dataclass(frozen=True)
class OrcFormat:
    """Orc with one codec."""

    schema: pa.Schema
    codec: str
    extension: str

    def encoder(self, stream: pa.NativeFile) -> Encoder:
        return Gathered(_OrcWriter(orc.ORCWriter(stream, compression=self.codec)), self.schema)


class _OrcWriter:
    """Arrow's writer for columns as Spark has them in orc."""

    def __init__(self, writer: orc.ORCWriter) -> None:
        self._writer = writer

    def write_table(self, table: pa.Table) -> None:
        columns = [_column(column.combine_chunks()) for column in table.columns]
        self._writer.write(pa.Table.from_arrays(columns, schema=pa.schema([_field(f) for f in table.schema])))

    def close(self) -> None:
        self._writer.close()


def _is_local(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None


def _field(field: pa.Field) -> pa.Field:
    if _is_local(field.type):
        return pa.field(field.name, pa.int64(), metadata={"spark.sql.catalyst.type": "timestamp_ntz"})
    if pa.types.is_struct(field.type):
        return field.with_type(pa.struct([_field(child) for child in field.type]))
    return field


def _column(column: pa.Array) -> pa.Array:
    if _is_local(column.type):
        return column.view(pa.int64())
    if pa.types.is_struct(column.type):
        children = [_column(child) for child in column.flatten()]
        fields = [_field(child) for child in column.type]
        return pa.StructArray.from_arrays(children, fields=fields, mask=column.is_null())
    return column


def orc_format(context: SinkContext, options: Options, fields: Schema) -> OrcFormat:
    options.check("orc", [*OF_EVERY_FORMAT, "orc.compress"], ["mergeSchema"])
    check_types("orc", fields, T.NullType)
    if has_type(fields, T.TimestampType, T.DateType):
        raise UnsupportedPlan("dates and timestamps in sink orc", "Spark reads old ones that Arrow wrote as others")
    if has_type(fields, T.ArrayType) and has_type(fields, T.TimestampNTZType):
        raise UnsupportedPlan("arrays beside timestamps without zone in sink orc")
    default = context.spark.conf.get("spark.sql.orc.compression.codec")
    name = options.text("compression", "orc.compress", default=default).lower()
    if name not in _CODECS:
        raise InvalidOption(f"compression {name!r} of sink orc is unknown; use one of {', '.join(_CODECS)}")
    codec, suffix = _CODECS[name]
    return OrcFormat(arrow_schema(fields), codec, f"{suffix}.orc")
