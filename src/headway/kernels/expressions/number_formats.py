"""Numbers read by a format, as `to_number` reads them, and written by one, as `to_char` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.rowwise import per_distinct

# What Python takes for white space, and Java does not.
_NO_SPACE = "\x85\u00a0\u2007\u202f"


@evaluates("ToNumber")
def _to_number(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    kind = arrow_type(call.type)

    def read(text: str) -> Decimal | None:
        number = _Reading(text).number(call.option("tokens"), kind.scale)
        if number is None and call.option("fails"):
            raise RowError(f"[INVALID_FORMAT.MISMATCH_INPUT] the text {text!r} is no number of the format")
        if number is not None and len(number.as_tuple().digits) > max(kind.precision, 1) and number:
            # A format of a fraction alone, and a text without a point.
            raise RowError(f"[NUMERIC_VALUE_OUT_OF_RANGE] {number} is no decimal of {kind.precision} digits")
        return number

    return per_distinct(read, args[0], kind)


class _Reading:
    """A text that is read from left to right, and what of a number has been found."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._whole = ""
        self._fraction = ""
        self._point = False

    def number(self, tokens: Sequence[str | tuple[int, ...]], scale: int) -> Decimal | None:
        """None if the text does not match the tokens."""
        negative = opened = closed = False
        for token in tokens:
            if isinstance(token, tuple):
                if not self._digits(token):
                    return None
            elif token == "$":
                if self._at < len(self._text) and not self._takes("$"):
                    return None
            elif token == ".":
                self._point = self._takes(".")
            elif token == "<":
                opened = self._takes("<")
            elif token == ">":
                closed = self._takes(">")
            elif not (token == "S" and self._takes("+")):
                negative = negative or self._takes("-")
        if self._at < len(self._text) or opened != closed or not self._whole + self._fraction:
            return None
        sign = "-" if negative or closed else ""
        return Decimal(f"{sign}{self._whole or 0}.{self._fraction.ljust(scale, '0')}")

    def _takes(self, wanted: str) -> bool:
        found = self._text[self._at : self._at + 1] == wanted
        self._at += found
        return found

    def _digits(self, expected: tuple[int, ...]) -> bool:
        """Digits, commas between groups of them, and white space anywhere, as far as they go."""
        sizes = [0]
        while self._at < len(self._text):
            char = self._text[self._at]
            if char.isdecimal():
                sizes[-1] += 1
                self._add(char)
            elif char == ",":
                sizes.append(0)
            elif not char.isspace() or char in _NO_SPACE:
                break
            self._at += 1
        if len(sizes) > len(expected):
            return False
        found = sizes[::-1] + [0] * (len(expected) - len(sizes))
        return all(
            size == wanted if wanted > 0 else size <= -wanted for size, wanted in zip(found, expected, strict=True)
        )

    def _add(self, digit: str) -> None:
        if self._point:
            self._fraction += digit
        else:
            self._whole += digit


@evaluates("ToCharacter")
def _to_character(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return per_distinct(lambda number: _Writing(number, call.option("tokens")).text(), args[0], pa.string())


class _Writing:
    """A number that is written from left to right, as wide as its format: signs go before spaces, zeros do not."""

    def __init__(self, number: Decimal, tokens: Sequence[str | tuple[int, ...]]) -> None:
        self._negative = number < 0
        self._tokens = tokens
        self._out: list[str] = []
        whole, _, fraction = f"{abs(number):f}".partition(".")
        before, after = _room(tokens)
        self._whole, self._fraction = whole.lstrip("0"), fraction.rstrip("0")
        if len(self._whole) > before or len(self._fraction) > after:
            self._whole, self._fraction = "#" * before, "#" * after
        self._whole = self._whole.rjust(before)
        self._fraction = self._fraction.ljust(after, "0")

    def text(self) -> str:
        for token in self._tokens:
            if isinstance(token, tuple):
                self._digits(token)
            else:
                self._sign(token)
        self._without_lone_point()
        text = "".join(self._out)
        return "0" if text in ("", "+", "-") else text

    def _digits(self, groups: tuple[int, ...]) -> None:
        if "." in self._out:
            self._out.extend(self._fraction)
            return
        for at, group in enumerate(reversed(groups)):
            if at and self._out and self._out[-1].isdecimal():
                self._out.append(",")
            elif at:
                self._space()
            digits, self._whole = self._whole[: abs(group)], self._whole[abs(group) :]
            for digit in digits:
                if digit != " ":
                    self._out.append(digit)
                elif group > 0:
                    self._out.append("0")
                else:
                    self._space()

    def _sign(self, token: str) -> None:
        if token == ".":
            if self._out[-1:] == [" "]:
                self._out[-1] = "0"
            self._out.append(".")
        elif token == "$":
            self._out.append("$")
        elif token == "<":
            self._out.extend("<" if self._negative else "")
        elif token == "S" or self._negative:
            self._without_lone_point()
            self._before_spaces(">" if token == ">" else "-" if self._negative else "+")
        else:
            if token == ">":
                self._without_lone_point()
            self._out.extend(" " if token == "M" else "  ")

    def _space(self) -> None:
        """Behind digits, but before a sign."""
        at = len(self._out)
        while at and self._out[at - 1] in ("+", "-", "<"):
            at -= 1
        self._out.insert(at, " ")

    def _before_spaces(self, sign: str) -> None:
        at = len(self._out)
        while at and self._out[at - 1] == " ":
            at -= 1
        self._out.insert(at, sign)

    def _without_lone_point(self) -> None:
        at = self._out.index(".") if "." in self._out else -1
        if at >= 0 and self._out[at + 1 : at + 2] in ([], [" "]):
            self._out[at] = " "


def _room(tokens: Sequence[str | tuple[int, ...]]) -> tuple[int, int]:
    """How many digits a format has before and after the point."""
    point = tokens.index(".") if "." in tokens else len(tokens)
    parts = tokens[:point], tokens[point:]
    before, after = (sum(abs(size) for token in part if isinstance(token, tuple) for size in token) for part in parts)
    return before, after
