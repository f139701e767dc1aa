"""Text files: one column of strings, a line each."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT
from headway.connectors.sinks.formats.lines import LineFormat, line_extension
from headway.dataflow.types import Schema
from headway.errors import InvalidOption


@dataclass(frozen=True)
class TextRows:
    """The only column as lines; null is an empty line."""

    def __call__(self, batch: pa.RecordBatch) -> list[str]:
        return [value or "" for value in batch.column(0).to_pylist()]


def text_format(context: SinkContext, options: Options, fields: Schema) -> LineFormat:
    options.check("text", [*OF_EVERY_FORMAT, "lineSep"], ["encoding", "charset", "wholetext"])
    if len(fields) != 1 or not isinstance(fields[0].type, T.StringType):
        names = ", ".join(f"{f.name} {f.type.simpleString()}" for f in fields)
        raise InvalidOption(f"sink text takes one column of strings, not ({names}); select one, or use json or csv")
    return LineFormat(TextRows(), line_extension("text", options), options.text("lineSep", default="\n"))
