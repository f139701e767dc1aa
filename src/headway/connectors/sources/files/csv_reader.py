"""CSV files with Spark's options: lines first, then fields, then values by the schema's types, by position."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from headway.connectors.sources.files import records
from headway.connectors.sources.files.content import decode, read_bytes, split_lines
from headway.connectors.sources.files.csv_quotes import BLANKS, NONE
from headway.connectors.sources.files.csv_tokens import Dialect, Record, strip_line_end
from headway.connectors.sources.files.records import ParseMode
from headway.connectors.sources.files.values import convert, parser_of, rules_of
from headway.connectors.sources.options import boolean
from headway.dataflow.graph import Source
from headway.errors import InvalidOption, UnsupportedPlan

KNOWN = (
    *records.KNOWN,
    *("sep", "delimiter", "quote", "escape", "comment", "header", "nullValue", "emptyValue", "nanValue"),
    *("positiveInf", "negativeInf", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "multiLine", "lineSep"),
    *("dateFormat", "timestampFormat", "timestampNTZFormat", "encoding", "charset"),
    # These matter where Spark guesses a schema or writes; a stream is given its schema.
    *("inferSchema", "samplingRatio", "preferDate", "escapeQuotes", "quoteAll"),
)
UNSUPPORTED = (
    *("enforceSchema", "maxColumns", "maxCharsPerColumn", "charToEscapeQuoteEscaping", "unescapedQuoteHandling"),
    *("enableDateTimeParsingFallback", "columnPruning", "inputBufferSize", "singleVariantColumn", "compression"),
    *("timeFormat", "extension", "codec"),
)

RECORDS_PER_BATCH = 16_384

_ESCAPED = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


class CsvReader:
    """Reads CSV files."""

    def __init__(self, source: Source, fields: pa.Schema) -> None:
        self._fields = fields
        self._mode = ParseMode(source)
        self._rules = rules_of(source)
        self._dialect = _dialect(source)
        self._header = boolean(source, "header", False)
        self._multi_line = boolean(source, "multiLine", False)
        self._line_separator = _line_separator(source)
        for field in self._mode.parsed:
            parser_of(field.type, self._rules)

    def read(self, filesystem: Any, path: str) -> Iterator[pa.RecordBatch]:
        data = read_bytes(filesystem, path)
        found = self._whole_records(data) if self._multi_line else self._line_records(data)
        if self._header:
            next(found, None)
        while chunk := list(islice(found, RECORDS_PER_BATCH)):
            yield self._batch(chunk, path)

    def parse(self, texts: list[str]) -> pa.RecordBatch:
        """One row for each text, which is a record of its own."""
        return self._batch([Record(self._dialect.split(text), text) for text in texts], "text")

    def _line_records(self, data: bytes) -> Iterator[Record]:
        comment = self._dialect.comment
        for raw in split_lines(data, self._line_separator):
            line = decode(raw)
            if line.strip(BLANKS) and not (comment and line.startswith(comment)):
                yield Record(self._dialect.split(line), strip_line_end(line))

    def _whole_records(self, data: bytes) -> Iterator[Record]:
        text = decode(data).removeprefix("\ufeff")
        separator = self._line_separator or _first_line_end(text)
        return self._dialect.records(text.replace(separator, "\n"))

    def _batch(self, chunk: list[Record], path: str) -> pa.RecordBatch:
        parsed = self._mode.parsed
        width = len(parsed)
        bad = np.fromiter((len(record.tokens) != width for record in chunk), dtype=bool, count=len(chunk))
        rows = [_padded(record.tokens, width) for record in chunk] if bad.any() else [r.tokens for r in chunk]
        columns = []
        for field, tokens in zip(parsed, zip(*rows, strict=True), strict=True):
            column, wrong = convert(pa.array(tokens, pa.string()), field.type, self._rules)
            columns.append(column)
            bad |= wrong
        return self._mode.batch(columns, bad, [record.text for record in chunk], self._fields, path)


def _padded(tokens: list[str | None], width: int) -> list[str | None]:
    return tokens[:width] + [None] * (width - len(tokens))


def _first_line_end(text: str) -> str:
    """The kind of line end that the text uses, which is what its first one is."""
    newline, carriage = text.find("\n"), text.find("\r")
    if carriage < 0 or 0 <= newline < carriage:
        return "\n"
    return "\r\n" if newline == carriage + 1 else "\r"


def _dialect(source: Source) -> Dialect:
    return Dialect(
        separator=_separator(source),
        quote=_character(source, "quote", '"'),
        escape=_character(source, "escape", "\\"),
        comment=_character(source, "comment", "", none=""),
        null_value=source.option("nullValue") or "",
        empty_value=source.option("emptyValue") or "",
        trim_left=boolean(source, "ignoreLeadingWhiteSpace", False),
        trim_right=boolean(source, "ignoreTrailingWhiteSpace", False),
    )


def _separator(source: Source) -> str:
    text = source.option("sep") or source.option("delimiter") or ","
    out, at = "", 0
    while at < len(text):
        if text[at] != "\\":
            out += text[at]
        elif text[at + 1 : at + 2] in _ESCAPED:
            at += 1
            out += _ESCAPED[text[at]]
        else:
            raise InvalidOption(
                f"option sep of source csv is {text!r}: behind a backslash comes one of {list(_ESCAPED)}"
            )
        at += 1
    if len(out) > 1:
        raise UnsupportedPlan(f"option sep {text!r} of source csv", "only one character is read natively")
    return out


def _character(source: Source, name: str, default: str, none: str = NONE) -> str:
    text = source.option(name)
    if text is None:
        return default
    if len(text) > 1:
        raise InvalidOption(f"option {name} of source csv is {text!r}: give one character, or none")
    return text or none


def _line_separator(source: Source) -> str | None:
    text = source.option("lineSep")
    if text is not None and not 1 <= len(text) <= 2:
        raise InvalidOption(f"option lineSep of source csv is {text!r}: give one or two characters")
    return text
