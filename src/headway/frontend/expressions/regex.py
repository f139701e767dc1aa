"""Java's regular expressions, rewritten for Python's `re` and for RE2 where they mean the same.

1. What cannot be rewritten faithfully is refused with `UnsupportedPlan`.
2. In Java `.` stops at every line terminator, `$` also matches before a last one, `\\d`, `\\w` and `\\s` are ASCII.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import count

import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import UnsupportedPlan

_TERMINATORS = "\\n\\r\\u0085\\u2028\\u2029"
_PYTHON_DOT = f"[^{_TERMINATORS}]"
_RE2_DOT = r"[^\n\r\x{85}\x{2028}\x{2029}]"
_PYTHON_END = f"(?=(?:\\r\\n|[{_TERMINATORS}])?\\Z)"
_SPACE = r"\t\n\x0B\f\r "
_SAME_ESCAPES = frozenset("dDwtnrf\\.[](){}*+?^$|-/\"'#%&,:;<=>@_!~ `") | {"W"}
_GROUPS = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>")
_RE2_GROUPS = ("(?:",)
_REPEATED = re.compile(r"\)[*+?{]")
_PARTS = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\(\?:|\(", re.DOTALL)
"""Escapes, classes, and what opens groups."""


@dataclass(frozen=True)
class Regex:
    """One pattern in two dialects; `re2` is None where only a backtracking matcher can do it."""

    python: str
    re2: str | None

    @property
    def captures(self) -> str | None:
        """For RE2, with the groups called g1, g2, … and all of the match g0. None where RE2 may capture something else,
        which is where a group is repeated, or does not know the pattern: it repeats nothing a thousand times."""
        if self.re2 is None or _REPEATED.search(self.re2):
            return None
        numbers = count(1)
        named = _PARTS.sub(lambda part: f"(?P<g{next(numbers)}>" if part[0] == "(" else part[0], self.re2)
        try:
            pc.extract_regex(pa.nulls(0, pa.string()), f"(?P<g0>{named})")
        except pa.ArrowInvalid:
            return None
        return f"(?P<g0>{named})"


class _Rewriter:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.python: list[str] = []
        self.re2: list[str] | None = []

    def refuse(self, what: str) -> UnsupportedPlan:
        return UnsupportedPlan(f"regular expression {self.pattern!r}", f"{what} means something else outside Java")

    def add(self, python: str, re2: str | None) -> None:
        self.python.append(python)
        if re2 is None:
            self.re2 = None
        elif self.re2 is not None:
            self.re2.append(re2)

    def rewrite(self) -> Regex:
        while self.at < len(self.pattern):
            self._token()
        python = "".join(self.python)
        try:
            re.compile(python, re.ASCII)
        except re.error as error:
            raise self.refuse(str(error)) from None
        return Regex(python, None if self.re2 is None else "".join(self.re2))

    def _token(self) -> None:
        char = self.pattern[self.at]
        if char == "\\":
            self._escape(in_class=False)
        elif char == "[":
            self._class()
        elif char == "(" and self.pattern.startswith("(?", self.at):
            self._group()
        else:
            self.at += 1
            self._plain(char)

    def _plain(self, char: str) -> None:
        if char == ".":
            self.add(_PYTHON_DOT, _RE2_DOT)
        elif char == "$":
            self.add(_PYTHON_END, None)
        elif char == "+" and self.at >= 2 and self.pattern[self.at - 2] in "*+?}":
            self.add(char, None)  # possessive
        else:
            self.add(char, char)

    def _escape(self, in_class: bool) -> None:
        char = self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if char in _SAME_ESCAPES:
            self.add("\\" + char, "\\" + char)
        elif char == "s":
            self.add(_SPACE if in_class else f"[{_SPACE}]", _SPACE if in_class else f"[{_SPACE}]")
        elif char == "S" and not in_class:
            self.add(f"[^{_SPACE}]", f"[^{_SPACE}]")
        elif (char in ("b", "B") and not in_class) or (char.isdigit() and char != "0" and not in_class):
            self.add("\\" + char, None)
        elif char == "A" and not in_class:
            self.add("\\A", "\\A")
        elif char == "z" and not in_class:
            self.add("\\Z", "\\z")
        else:
            raise self.refuse(f"\\{char}")

    def _group(self) -> None:
        for opening in _GROUPS:
            if self.pattern.startswith(opening, self.at):
                self.at += len(opening)
                self.add(opening, opening if opening in _RE2_GROUPS else None)
                return
        if self.pattern.startswith("(?i)", self.at) and self.at == 0:
            self.at += len("(?i)")
            self.add("(?i)", None)
            return
        raise self.refuse(self.pattern[self.at : self.at + 4])

    def _class(self) -> None:
        """A character class, in which Java knows unions and intersections that others do not."""
        opening = "[^" if self.pattern.startswith("[^", self.at) else "["
        self.at += len(opening)
        self.add(opening, opening)
        if self.pattern[self.at : self.at + 1] == "]":
            raise self.refuse("[]")
        while self.at < len(self.pattern) and self.pattern[self.at] != "]":
            char = self.pattern[self.at]
            if char == "\\":
                self._escape(in_class=True)
                continue
            if char == "[" or self.pattern.startswith(("&&", "--", "||", "~~"), self.at):
                raise self.refuse(f"{char} in a character class")
            self.at += 1
            self.add(char, char)
        self.at += 1
        self.add("]", "]")


def rewrite(pattern: str) -> Regex:
    """The pattern in both dialects.

    >>> rewrite("a.c").re2
    'a[^\\\\n\\\\r\\\\x{85}\\\\x{2028}\\\\x{2029}]c'
    """
    return _Rewriter(pattern).rewrite()


def like(pattern: str, escape: str) -> str:
    """SQL's LIKE as a regular expression for RE2; it must match all of the text.

    >>> like("a_b%", "\\\\")
    '(?s)^a.b.*$'
    """
    parts: list[str] = []
    chars = iter(pattern)
    for char in chars:
        if char == escape:
            following = next(chars, None)
            if following is None or following not in ("_", "%", escape):
                raise UnsupportedPlan(f"pattern {pattern!r}", f"{escape!r} must come before _, % or itself")
            parts.append(_quoted(following))
        else:
            parts.append({"_": ".", "%": ".*"}.get(char) or _quoted(char))
    return f"(?s)^{''.join(parts)}$"


def _quoted(char: str) -> str:
    return "\\" + char if char in r"\.+*?()|[]{}^$" else char


def replacement(text: str, groups: int) -> tuple[str | int, ...]:
    """A replacement of Java's as its pieces: text, and numbers of groups.

    >>> replacement("<$1>", 1)
    ('<', 1, '>')
    """
    pieces: list[str | int] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\":
            pieces.append(text[at : at + 1])
            at += 1
        elif char == "$":
            number = re.match(r"\d+", text[at:])
            if number is None:
                raise UnsupportedPlan(f"replacement {text!r}", "$ must be followed by the number of a group")
            digits = number[0]
            while len(digits) > 1 and int(digits) > groups:
                digits = digits[:-1]
            if int(digits) > groups:
                raise UnsupportedPlan(f"replacement {text!r}", f"the pattern has no group {digits}")
            pieces.append(int(digits))
            at += len(digits)
        else:
            pieces.append(char)
    return _joined(pieces)


def _joined(pieces: list[str | int]) -> tuple[str | int, ...]:
    """Neighbouring characters as one text."""
    joined: list[str | int] = []
    for piece in pieces:
        if joined and isinstance(piece, str) and isinstance(joined[-1], str):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)
