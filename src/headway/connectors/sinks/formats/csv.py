"""Csv files as Spark writes them: its defaults, its quoting, its options.

1. A field is quoted if it has the separator, a line break or a quote in it, or if quoteAll is set; so is a first
   field that begins with #, which readers could take for a comment.
2. Null is nullValue (nothing), an empty string is emptyValue (two quotes); neither is quoted again.
3. Inside quotes, a quote and the escape character have the escape character before them.
4. White space around a value is dropped, unless ignoreLeadingWhiteSpace and ignoreTrailingWhiteSpace say false.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.base import Options
from headway.connectors.sinks.formats.api import OF_EVERY_FORMAT
from headway.connectors.sinks.formats.checks import check_types
from headway.connectors.sinks.formats.lines import LineFormat, line_extension
from headway.connectors.sinks.text_values import TextValues
from headway.dataflow.types import Schema
from headway.errors import UnsupportedPlan

_COMMENT = "#"
_SPACE = "".join(map(chr, range(33)))
_NATIVE = (
    *OF_EVERY_FORMAT,
    *("codec", "sep", "delimiter", "header", "quote", "escape", "nullValue", "emptyValue", "quoteAll", "escapeQuotes"),
    *("ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "timeZone"),
)
_OF_SPARK = (
    *("dateFormat", "timestampFormat", "timestampNTZFormat", "encoding", "charset", "locale", "lineSep", "comment"),
    "charToEscapeQuoteEscaping",
)


@dataclass(frozen=True)
class Dialect:
    """The options that shape a field."""

    separator: str
    quote: str
    escape: str
    null: str
    empty: str
    quote_all: bool
    escape_quotes: bool
    strip_left: bool
    strip_right: bool

    @staticmethod
    def of(options: Options) -> Dialect:
        return Dialect(
            separator=options.char("sep", "delimiter", default=","),
            quote=options.char("quote", default='"') or "\0",
            escape=options.char("escape", default="\\") or "\0",
            null=options.text("nullValue", default=""),
            empty=options.text("emptyValue", default='""'),
            quote_all=options.flag("quoteAll", False),
            escape_quotes=options.flag("escapeQuotes", True),
            strip_left=options.flag("ignoreLeadingWhiteSpace", True),
            strip_right=options.flag("ignoreTrailingWhiteSpace", True),
        )

    def field(self, text: str | None, first: bool) -> str:
        """One field of a line, `first` or not."""
        if text is None:
            return self._replacement(self.null)
        comment = first and text.startswith(_COMMENT)
        text = text.lstrip(_SPACE) if self.strip_left else text
        quoted = self.quote_all or comment or self._needs_quotes(text)
        text = text.rstrip(_SPACE) if self.strip_right else text
        if not text:
            return self._replacement(self.empty)
        return self._quoted(text) if quoted else text

    def _replacement(self, text: str) -> str:
        quoted_already = len(text) >= 2 and text[0] == text[-1] == self.quote
        return self._quoted(text) if self.quote_all and not quoted_already else text

    def _needs_quotes(self, text: str) -> bool:
        if self.separator in text or "\n" in text or "\r" in text or text.startswith(self.quote):
            return True
        return self.escape_quotes and self.quote in text

    def _quoted(self, text: str) -> str:
        if self.escape != self.quote:
            text = text.replace(self.escape, self.escape * 2)
        return self.quote + text.replace(self.quote, self.escape + self.quote) + self.quote


@dataclass(frozen=True)
class CsvRows:
    """Batches as lines of csv."""

    types: tuple[T.DataType, ...]
    texts: TextValues
    dialect: Dialect

    def __call__(self, batch: pa.RecordBatch) -> list[str]:
        field = self.dialect.field
        columns = [
            [field(text, index == 0) for text in self.texts.file_text(column, self.types[index])]
            for index, column in enumerate(batch.columns)
        ]
        return [self.dialect.separator.join(row) for row in zip(*columns, strict=True)]


def csv_format(context: SinkContext, options: Options, fields: Schema) -> LineFormat:
    options.check("csv", _NATIVE, _OF_SPARK)
    check_types("csv", fields, T.StructType, T.ArrayType, T.MapType, T.NullType)
    dialect = Dialect.of(options)
    if dialect.strip_right and not dialect.strip_left:
        raise UnsupportedPlan("option ignoreLeadingWhiteSpace of sink csv without ignoreTrailingWhiteSpace")
    texts = TextValues.of_session(context.spark, options.text("timeZone", default=""))
    names = dialect.separator.join(dialect.field(f.name, i == 0) for i, f in enumerate(fields))
    header = names if options.flag("header", False) else None
    rows = CsvRows(tuple(f.type for f in fields), texts, dialect)
    return LineFormat(rows, line_extension("csv", options), header=header)
