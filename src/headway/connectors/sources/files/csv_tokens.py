"""Records of CSV text cut into fields, by the rules of the parser that Spark uses.

1. A field that begins with a quote ends at a quote that is followed by blanks, a delimiter, or the record's end. Inside
   it the escape makes a quote a character, and itself; before anything else it stands for itself.
2. A quote inside a quoted field that ends nothing makes the whole field raw: from its first quote to the delimiter.
3. Other fields are taken as they are. Blanks around them go only if the options say so.
4. An empty field is null; a quoted empty one is the empty value; what then equals the null value is null.
5. A quoted field that never ends holds all the rest, without its first quote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from headway.connectors.sources.files.csv_quotes import BLANKS, QuotedField

Token = str | None


class Record(NamedTuple):
    """The fields of one record, and its text."""

    tokens: list[Token]
    text: str


@dataclass(frozen=True)
class Dialect:
    """The options that decide where fields end. NUL as quote or escape means none."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    null_value: str = ""
    empty_value: str = ""
    trim_left: bool = False
    trim_right: bool = False

    def split(self, line: str) -> list[Token]:
        """The fields of one line."""
        if not self.trim_left and not self.trim_right and self.quote not in line:
            null = self.null_value
            return [None if not field or field == null else field for field in line.split(self.separator)]
        return _Scanner(self, line, "").record()

    def records(self, text: str) -> Iterator[Record]:
        """The records of a whole text, in which line ends are \\n and quoted fields may hold them."""
        scanner = _Scanner(self, text, "\n")
        while scanner.at < len(text):
            begin = scanner.at
            if self.comment and text.startswith(self.comment, begin):
                scanner.skip_line()
                continue
            tokens = scanner.record()
            scanner.at += 1
            if tokens:
                yield Record(tokens, strip_line_end(text[begin : scanner.at]))


def strip_line_end(text: str) -> str:
    """A record's text without the line end behind it."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


class _Scanner:
    """Walks through text, field by field; `at` is the next character."""

    def __init__(self, dialect: Dialect, text: str, newline: str) -> None:
        self._dialect = dialect
        self._text = text
        self._newline = newline
        self.at = 0

    def record(self) -> list[Token]:
        """Fields up to the record's end, where `at` then stands; none for an empty line."""
        tokens: list[Token] = []
        if self._dialect.trim_left:
            self._skip_blanks()
        if self._ends_record(self.at) and self._newline:
            return tokens
        while True:
            tokens.append(self._field())
            if self._ends_record(self.at):
                return tokens
            self.at += len(self._dialect.separator)

    def skip_line(self) -> None:
        end = self._text.find(self._newline, self.at)
        self.at = len(self._text) if end < 0 else end + 1

    def _field(self) -> Token:
        dialect = self._dialect
        if dialect.trim_left:
            self._skip_blanks()
        if self._ends_field(self.at):
            return None
        if self._text[self.at] == dialect.quote:
            value = self._quoted() or dialect.empty_value
        else:
            value = self._until_end_of_field(self.at)
        return None if value == dialect.null_value or (not value and not dialect.empty_value) else value

    def _quoted(self) -> str:
        field = QuotedField(self._text, self.at, self._newline, self._dialect)
        value = field.value()
        self.at = field.at
        return value

    def _until_end_of_field(self, begin: int) -> str:
        end = self._text.find(self._dialect.separator, begin)
        line = self._text.find(self._newline, begin) if self._newline else -1
        ends = [position for position in (end, line) if position >= 0]
        self.at = min(ends, default=len(self._text))
        value = self._text[begin : self.at]
        return value.rstrip(BLANKS) if self._dialect.trim_right else value

    def _skip_blanks(self) -> None:
        quote = self._dialect.quote
        while (
            self.at < len(self._text)
            and self._text[self.at] <= " "
            and not self._ends_field(self.at)
            and self._text[self.at] != quote
        ):
            self.at += 1

    def _ends_field(self, at: int) -> bool:
        return self._ends_record(at) or self._text.startswith(self._dialect.separator, at)

    def _ends_record(self, at: int) -> bool:
        return at >= len(self._text) or (self._newline != "" and self._text[at] == self._newline)
