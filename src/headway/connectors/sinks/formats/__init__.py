"""File formats of the file sink, by name."""

from __future__ import annotations

from collections.abc import Callable

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import Encoder, Format
from headway.connectors.sinks.formats.csv import csv_format
from headway.connectors.sinks.formats.json import json_format
from headway.connectors.sinks.formats.orc import orc_format
from headway.connectors.sinks.formats.parquet import parquet_format
from headway.connectors.sinks.formats.text import text_format
from headway.dataflow.types import Schema

__all__ = ["Encoder", "Format", "open_format"]

_FORMATS: dict[str, Callable[[SinkContext, Options, Schema], Format]] = {
    "parquet": parquet_format,
    "json": json_format,
    "csv": csv_format,
    "orc": orc_format,
    "text": text_format,
}


def open_format(name: str, context: SinkContext, options: Options, fields: Schema) -> Format:
    """The format called `name` for files with `fields`; checks options and types."""
    return _FORMATS[name](context, options, fields)
