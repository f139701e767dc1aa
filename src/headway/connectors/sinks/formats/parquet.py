"""Parquet files as Spark reads its own: instants in microseconds, Spark's schema and version in the footer."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options, spark_schema
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT, Encoder
from headway.connectors.sinks.formats.checks import check_types
from headway.connectors.sinks.formats.columnar import Gathered
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption

_CODECS = {
    "none": ("NONE", ""),
    "uncompressed": ("NONE", ""),
    "snappy": ("SNAPPY", ".snappy"),
    "gzip": ("GZIP", ".gz"),
    "brotli": ("BROTLI", ".br"),
    "zstd": ("ZSTD", ".zstd"),
    "lz4_raw": ("LZ4", ".lz4raw"),
}


@dataclass(frozen=True)
class ParquetFormat:
    """Parquet with one codec; the footer tells Spark the types and that dates need no rebasing."""

    schema: pa.Schema
    codec: str
    extension: str

    def encoder(self, stream: pa.NativeFile) -> Encoder:
        writer = pq.ParquetWriter(stream, self.schema, compression=self.codec, store_decimal_as_integer=True)
        return Gathered(writer, self.schema)


def parquet_format(context: SinkContext, options: Options, fields: Schema) -> ParquetFormat:
    options.check("parquet", [*OF_EVERY_FORMAT, "parquet.compression"], ["mergeSchema", "datetimeRebaseMode"])
    check_types("parquet", fields, T.NullType)
    default = context.spark.conf.get("spark.sql.parquet.compression.codec")
    name = options.text("compression", "parquet.compression", default=default).lower()
    if name not in _CODECS:
        raise InvalidOption(f"compression {name!r} of sink parquet is unknown; use one of {', '.join(_CODECS)}")
    codec, suffix = _CODECS[name]
    footer = {
        "org.apache.spark.version": context.spark.version,
        "org.apache.spark.sql.parquet.row.metadata": spark_schema(fields).json(),
    }
    return ParquetFormat(arrow_schema(fields).with_metadata(footer), codec, f"{suffix}.parquet")
