"""Orc files as Spark reads its own."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyarrow import orc
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT, Encoder
from headway.connectors.sinks.formats.checks import check_types
from headway.connectors.sinks.formats.columnar import Gathered
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption

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
    """Arrow's writer, under the name that other formats give its method."""

    def __init__(self, writer: orc.ORCWriter) -> None:
        self.write_table = writer.write
        self.close = writer.close


def orc_format(context: SinkContext, options: Options, fields: Schema) -> OrcFormat:
    options.check("orc", [*OF_EVERY_FORMAT, "orc.compress"], ["mergeSchema"])
    check_types("orc", fields, T.NullType)
    default = context.spark.conf.get("spark.sql.orc.compression.codec")
    name = options.text("compression", "orc.compress", default=default).lower()
    if name not in _CODECS:
        raise InvalidOption(f"compression {name!r} of sink orc is unknown; use one of {', '.join(_CODECS)}")
    codec, suffix = _CODECS[name]
    return OrcFormat(arrow_schema(fields), codec, f"{suffix}.orc")
