"""Quoted fields of CSV text, letter by letter as the parser that Spark uses reads them, its oddities included.

The state is the letter before (`prev`), where NUL stands for none, and for a quote or escape that was dealt with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.connectors.sources.files.csv_tokens import Dialect

NONE = "\0"
BLANKS = "".join(map(chr, range(33)))


class QuotedField:
    """Reads one quoted field; `at` stands behind it afterwards."""

    def __init__(self, text: str, at: int, newline: str, dialect: Dialect) -> None:
        self._text = text
        self._stops = (dialect.separator, newline) if newline else (dialect.separator,)
        self._quote = dialect.quote
        self._escape = dialect.escape
        self._escape_escape = NONE if dialect.quote == dialect.escape else dialect.escape
        self._trim_right = dialect.trim_right
        self._out: list[str] = []
        self._prev = NONE
        self.at = at + 1

    def value(self) -> str:
        """The field, `at` standing on its opening quote."""
        if self.at >= len(self._text):
            return self._quote
        plain = self._plain()
        return self._general() if plain is None else plain

    def _plain(self) -> str | None:
        """The field, if nothing in it needs care."""
        end = self._text.find(self._quote, self.at)
        if end < 0 or not self._stopped(end + 1):
            return None
        content = self._text[self.at : end]
        if self._escape in content or (not content and end + 1 >= len(self._text)):
            return None
        self.at = end + 1
        return content

    def _general(self) -> str:
        text, quote = self._text, self._quote
        while self.at < len(text):
            char = text[self.at]
            if self._prev == quote and (char <= " " or self._stopped(self.at)):
                return self._closed()
            if char in (quote, self._escape):
                char = self._special(char)
                self._prev = char
                self.at += 1
            elif self._prev == quote:
                return self._raw(quote + char, self.at + 1)
            else:
                self._run()
        return "".join(self._out)

    def _run(self) -> None:
        """Letters up to the next quote or escape, and that one as the letter before the next."""
        if self._prev == self._escape != NONE:
            self._out.append(self._escape)
        begin = self.at
        while self.at < len(self._text) and self._text[self.at] not in (self._quote, self._escape):
            self.at += 1
        self._out.append(self._text[begin : self.at])
        if self.at < len(self._text):
            self._prev = self._text[self.at]
            self.at += 1

    def _special(self, char: str) -> str:
        """A quote or an escape; what it counts as for the letter behind it."""
        if char == self._escape and self._prev == self._escape_escape != NONE:
            self._out.append(self._escape)
            return NONE
        if self._prev == self._escape:
            if char != self._quote:
                self._out.append(self._prev)
                return char
            self._out.append(self._quote)
            return NONE
        if char == self._quote == self._prev:
            self._out.append(self._quote)
        elif self._prev == self._quote:
            return self._unquoted(char)
        return char

    def _unquoted(self, char: str) -> str:
        """A quote, then an escape: read on as if not quoted up to a delimiter, which is lost; then quoted again."""
        self._out.append(self._quote)
        self._prev = char
        while True:
            if char in (self._quote, self._escape):
                char = self._special(char)
            elif self._prev == self._quote:
                self._out.append(self._quote)
                self._prev = char
                continue
            else:
                self._out.append(char)
            self._prev = char
            if self.at + 1 >= len(self._text):
                return char
            self.at += 1
            char = self._text[self.at]
            if self._stopped(self.at):
                return char

    def _closed(self) -> str:
        """Behind a closing quote: blanks go; anything else makes the field raw."""
        begin = self.at
        while self.at < len(self._text) and self._text[self.at] <= " " and not self._stopped(self.at):
            self.at += 1
        if self._stopped(self.at):
            return "".join(self._out)
        last, following = self._text[self.at], self._text[self.at + 1 : self.at + 2]
        value = self._raw(self._quote + self._text[begin : self.at + 1], self.at + 1)
        # Where the text ends before the field does, the parser takes this one quote for unread.
        unread = self.at >= len(self._text) and following == self._quote != last
        return value + self._quote if unread else value

    def _raw(self, so_far: str, begin: int) -> str:
        """The field with its quotes, up to the delimiter."""
        self._out.append(so_far)
        ends = [end for stop in self._stops if (end := self._text.find(stop, begin)) >= 0]
        self.at = min(ends, default=len(self._text))
        value = self._quote + "".join(self._out) + self._text[begin : self.at]
        return value.rstrip(BLANKS) if self._trim_right else value

    def _stopped(self, at: int) -> bool:
        return at >= len(self._text) or self._text.startswith(self._stops, at)
