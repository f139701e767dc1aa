"""JSON text as a tree of tokens that remembers how each was written.

Python's own scanner, in C, reads what is standard JSON; this one reads the rest that Spark takes by default (single
quotes, INF) and where the text of a value counts (a number or an object read as a string).
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_BLANK = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_NOT_NUMBERS = re.compile(r"NaN|[+-]?Infinity|[+-]INF")
_PLAIN = {'"': re.compile(r'[^"\\\x00-\x1f]*'), "'": re.compile(r"[^'\\\x00-\x1f]*")}
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class Malformed(ValueError):
    """Not JSON; the whole record counts as corrupt."""


class Pairs(list[tuple[str, Any]]):
    """An object: names may repeat, and the last one counts."""


class Float(str):
    """A number that is not written as a whole one."""

    __slots__ = ()


class Written(NamedTuple):
    """A value and how it was written."""

    value: Any
    text: str


_decoder = json.JSONDecoder(object_pairs_hook=Pairs, parse_float=Float, parse_constant=Float)


def first_value(text: str) -> tuple[Any, int]:
    """The first value of standard JSON text and where it ends; what follows is not looked at, as Spark does not.

    Objects are `Pairs`, fractions `Float`. Raises Malformed for everything that Python's scanner does not take.
    """
    try:
        return _decoder.raw_decode(text, _skip(text, 0))
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error


class Scanner:
    """Reads JSON as Spark's parser is set up by default; values come as `Written`."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self.at = at

    def value(self) -> Written:
        begin = self._next()
        char = self._text[begin]
        value: Any
        if char == "{":
            value = self._object()
        elif char == "[":
            value = self._array()
        elif char in _PLAIN:
            value = self._string(char)
        else:
            value = self._word()
        return Written(value, self._text[begin : self.at])

    def _next(self) -> int:
        self.at = _skip(self._text, self.at)
        if self.at >= len(self._text):
            raise Malformed("the text ends too early")
        return self.at

    def _take(self, char: str) -> bool:
        if self._text[self._next()] != char:
            return False
        self.at += 1
        return True

    def _object(self) -> Pairs:
        self.at += 1
        pairs = Pairs()
        if self._take("}"):
            return pairs
        while True:
            quote = self._text[self._next()]
            if quote not in _PLAIN:
                raise Malformed("a name must be quoted")
            name = self._string(quote)
            if not self._take(":"):
                raise Malformed("a colon must follow a name")
            pairs.append((name, self.value()))
            if self._take("}"):
                return pairs
            if not self._take(","):
                raise Malformed("a comma must follow a value")

    def _array(self) -> list[Any]:
        self.at += 1
        values: list[Any] = []
        if self._take("]"):
            return values
        while True:
            values.append(self.value())
            if self._take("]"):
                return values
            if not self._take(","):
                raise Malformed("a comma must follow a value")

    def _string(self, quote: str) -> str:
        out, at = [], self.at + 1
        while True:
            plain = _PLAIN[quote].match(self._text, at)
            assert plain is not None
            out.append(plain[0])
            at = plain.end()
            char = self._text[at : at + 1]
            if char == quote:
                self.at = at + 1
                return _joined(out)
            if char != "\\":
                raise Malformed("a string does not end, or has a control character")
            escaped, at = self._escape(at + 1, quote)
            out.append(escaped)

    def _escape(self, at: int, quote: str) -> tuple[str, int]:
        char = self._text[at : at + 1]
        if char == "u":
            code = _HEX.match(self._text, at + 1)
            if code is None:
                raise Malformed("bad \\u")
            return chr(int(code[0], 16)), at + 5
        if char not in _ESCAPES and char != quote:
            raise Malformed(f"bad escape \\{char}")
        return _ESCAPES.get(char, char), at + 1

    def _word(self) -> Any:
        for word, value in (("true", True), ("false", False), ("null", None)):
            if self._text.startswith(word, self.at):
                self.at += len(word)
                return value
        special = _NOT_NUMBERS.match(self._text, self.at)
        number = special or _NUMBER.match(self._text, self.at)
        if number is None:
            raise Malformed(f"no value at {self._text[self.at : self.at + 10]!r}")
        self.at = number.end()
        return Float(number[0]) if special or number[1] or number[2] else int(number[0])


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    assert blank is not None
    return blank.end()


def _joined(parts: list[str]) -> str:
    """Halves of a character beyond 16 bits, written as two escapes, become one character."""
    text = "".join(parts)
    if any("\ud800" <= char <= "\udfff" for char in text):
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
