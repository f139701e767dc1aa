"""JSON files, one object per line or a whole document, with Spark's options and its treatment of what does not fit.

1. A name of the schema is matched exactly; missing ones are null, others are skipped.
2. A value of another kind than the schema says is null, and makes its record corrupt; the rest of the record stays.
3. Text that is no JSON makes the whole record null. What follows the first value of a line is not looked at.
4. A string column takes any value, as it is written. An array at the top is a row per element.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from headway.connectors.sources.files import records
from headway.connectors.sources.files.content import decode, read_bytes, split_lines
from headway.connectors.sources.files.json_tokens import Malformed
from headway.connectors.sources.files.json_values import Row, RowConverter, column_of
from headway.connectors.sources.files.records import ParseMode
from headway.connectors.sources.files.values import rules_of
from headway.connectors.sources.options import boolean
from headway.dataflow.graph import Source
from headway.errors import InvalidOption, UnsupportedPlan

DEFAULTS = {
    "allowComments": False,
    "allowUnquotedFieldNames": False,
    "allowSingleQuotes": True,
    "allowNumericLeadingZeros": False,
    "allowNonNumericNumbers": True,
    "allowBackslashEscapingAnyCharacter": False,
    "allowUnquotedControlChars": False,
}
"""Options that may be given, but only as what they are by default."""

KNOWN = (
    *records.KNOWN,
    *DEFAULTS,
    *("multiLine", "lineSep", "dateFormat", "timestampFormat", "timestampNTZFormat", "encoding", "charset"),
    # These matter where Spark guesses a schema or writes; a stream is given its schema.
    *("primitivesAsString", "prefersDecimal", "samplingRatio", "inferTimestamp", "dropFieldIfAllNull"),
    *("ignoreNullFields", "pretty", "sortKeys"),
)
UNSUPPORTED = (
    *("enableDateTimeParsingFallback", "singleVariantColumn", "explodeEmbeddedArray", "useUnsafeRow", "compression"),
    *("maxNestingDepth", "maxNumLen", "maxStringLen", "timeFormat", "writeNonAsciiCharacterAsCodePoint"),
)
RECORDS_PER_BATCH = 16_384


class JsonReader:
    """Reads JSON files."""

    def __init__(self, source: Source, fields: pa.Schema) -> None:
        self._fields = fields
        self._mode = ParseMode(source)
        self._multi_line = boolean(source, "multiLine", False)
        self._line_separator = source.option("lineSep")
        if self._line_separator == "":
            raise InvalidOption("option lineSep of source json is empty: give at least one character")
        for name, default in DEFAULTS.items():
            if boolean(source, name, default) != default:
                raise UnsupportedPlan(f"option {name} of source json")
        self._rows = RowConverter(tuple((f.name, f.type) for f in self._mode.parsed), rules_of(source))

    def read(self, filesystem: Any, path: str) -> Iterator[pa.RecordBatch]:
        data = read_bytes(filesystem, path)
        lines = [data] if self._multi_line else split_lines(data, self._line_separator)
        found = (record for line in lines for record in self._records(decode(line)))
        while chunk := list(islice(found, RECORDS_PER_BATCH)):
            yield self._batch(chunk, path)

    def _records(self, text: str) -> list[tuple[Row, bool, str]]:
        """Rows of one record, each with whether it is corrupt and the record's text."""
        if not text.strip(" \t\n\r"):
            return []
        try:
            rows, bad = self._rows.of_text(text.removeprefix("\ufeff"))
        except Malformed:
            rows, bad = [[None] * len(self._mode.parsed)], True
        return [(row, bad, text) for row in rows]

    def _batch(self, chunk: list[tuple[Row, bool, str]], path: str) -> pa.RecordBatch:
        bad = np.fromiter((record[1] for record in chunk), dtype=bool, count=len(chunk))
        values = zip(*(record[0] for record in chunk), strict=True)
        columns = [
            column_of(list(column), field.type) for field, column in zip(self._mode.parsed, values, strict=False)
        ]
        return self._mode.batch(columns, bad, [record[2] for record in chunk], self._fields, path)
