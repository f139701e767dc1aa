"""Records that do not fit the schema, and what the options say about them: Spark's parse modes.

PERMISSIVE keeps what could be read and puts the record's text into the column for corrupt records, if the schema has
one; DROPMALFORMED drops the record; FAILFAST fails the query.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headway.connectors.sources.files.content import BadFile
from headway.connectors.sources.options import choice, session_setting
from headway.dataflow.graph import Source
from headway.dataflow.types import Schema

KNOWN = ("mode", "columnNameOfCorruptRecord")
SHOWN_LENGTH = 1000


class ParseMode:
    """The mode, and where in the schema the corrupt record goes."""

    def __init__(self, source: Source) -> None:
        self.mode = choice(source, "mode", "PERMISSIVE", ("PERMISSIVE", "DROPMALFORMED", "FAILFAST"))
        self._name = source.option("columnNameOfCorruptRecord") or session_setting(
            "spark.sql.columnNameOfCorruptRecord", "_corrupt_record"
        )
        self._schema = source.schema

    @property
    def parsed(self) -> Schema:
        """The fields that are read from records."""
        return tuple(field for field in self._schema if field.name != self._name)

    def batch(self, columns: list[Any], bad: Any, texts: list[str], target: pa.Schema, path: str) -> pa.RecordBatch:
        """Columns of `parsed` as a batch of the whole schema, bad records treated as the mode says."""
        found = np.flatnonzero(bad)
        if len(found) and self.mode == "FAILFAST":
            raise BadFile(
                f"file {path} has a record that does not fit the schema: {texts[found[0]][:SHOWN_LENGTH]!r}; mend it, "
                "or read with mode PERMISSIVE or DROPMALFORMED"
            )
        named = dict(zip((field.name for field in self.parsed), columns, strict=True))
        if len(named) < len(self._schema):
            corrupt: list[str | None] = [None] * len(bad)
            for index in found:
                corrupt[index] = texts[index]
            named[self._name] = pa.array(corrupt, pa.string())
        whole = _batch([named[field.name] for field in self._schema], target, len(bad))
        return whole.filter(pa.array(~bad)) if len(found) and self.mode == "DROPMALFORMED" else whole


def _batch(columns: list[Any], target: pa.Schema, rows: int) -> pa.RecordBatch:
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=target)
