"""Text made by Java's formats, masked, quoted, and chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.sinks.text_values import java_double, java_float
from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.rowwise import per_distinct
from headway.kernels.expressions.vectors import fail_at, numbers, valid

Args = Sequence[pa.Array]
_FRACTION = 6


@evaluates("FormatString", every_argument=True)
def _format(call: Call, args: Args) -> pa.Array:
    kinds = [arg.type for arg in call.args]
    parts = call.option("format")
    rows = zip(*(arg.to_pylist() for arg in args), strict=True)
    texts = ["".join(p if isinstance(p, str) else _piece(row, kinds, *p) for p in parts) for row in rows]
    return pa.array(texts, pa.string())


def _piece(
    row: Sequence[Any], kinds: Sequence[T.DataType], index: int, flags: str, width: int, precision: int | None, how: str
) -> str:
    value, kind = row[index], kinds[index]
    if value is None:
        text = ("false" if how == "b" else "null")[:precision]
        text = text.upper() if how.isupper() else text
    elif how == "s":
        text = _text(value, kind)[:precision]
    elif how == "b":
        text = ("true" if value else "false") if isinstance(value, bool) else "true"
    elif how == "c":
        text = chr(value) if isinstance(value, int) else str(value)
    else:
        text = _hex(value, kind, flags, width, how) if how in "xX" else _number(value, flags, width, precision, how)
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _text(value: Any, kind: T.DataType) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(kind, T.FloatType):
        return java_float(value)
    return java_double(value) if isinstance(value, float) else str(value)


def _number(value: Any, flags: str, width: int, precision: int | None, how: str) -> str:
    if isinstance(value, str | bool) or (how in "fe" and isinstance(value, int)):
        raise RowError(f"[INVALID_FORMAT] %{how} does not format {value!r}")
    if isinstance(value, float) and (value != value or value in (np.inf, -np.inf)):
        return java_double(value)
    size = abs(value)
    if how == "d":
        digits = f"{size:,}" if "," in flags else str(size)
    elif how in "eE":
        digits = f"{size:.{_FRACTION if precision is None else precision}{how}}"
    else:
        places = Decimal(1).scaleb(-(_FRACTION if precision is None else precision))
        rounded = Decimal(repr(size) if isinstance(size, float) else size).quantize(places, ROUND_HALF_UP)
        digits = f"{rounded:,f}" if "," in flags else f"{rounded:f}"
    return _signed(digits, math.copysign(1, value) < 0, flags, width)


def _hex(value: Any, kind: T.DataType, flags: str, width: int, how: str) -> str:
    """Negative numbers as the bits that they are."""
    bits = arrow_type(kind).bit_width if isinstance(kind, T.IntegralType) else 0
    return _signed(format(value % (1 << bits) if bits else value, how), False, flags, width)


def _signed(digits: str, negative: bool, flags: str, width: int) -> str:
    sign = "-" if negative else "+" if "+" in flags else " " if " " in flags else ""
    return sign + (digits.rjust(width - len(sign), "0") if "0" in flags else digits)


@evaluates("Elt", every_argument=True)
def _elt(call: Call, args: Args) -> pa.Array:
    at, count = numbers(args[0]).astype(np.int64), len(args) - 1
    rows = valid(args[0])
    inside = (at >= 1) & (at <= count)
    if call.option("ansi"):
        fail_at(rows & ~inside, lambda row: f"[INVALID_ARRAY_INDEX] elt has no value {at[row]} of {count}")
    places = np.where(inside, (at - 1) * len(at) + np.arange(len(at)), 0)
    return pa.concat_arrays(list(args[1:])).take(pa.array(places, mask=~(rows & inside)))


@evaluates("Mask")
def _mask(call: Call, args: Args) -> pa.Array:
    upper, lower, digit, other = call.option("marks")

    def masked(char: str) -> str:
        mark = upper if char.isupper() else lower if char.islower() else digit if char.isdigit() else other
        return char if mark is None else str(mark)

    return per_distinct(lambda text: "".join(map(masked, text)), args[0], pa.string())


def _luhn(text: str) -> bool:
    if not text or not text.isascii() or not text.isdigit():
        return False
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(text))]
    return sum(n - 9 if n > 9 else n for n in doubled) % 10 == 0


def _quote(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"


_TEXTS: dict[str, Callable[[str], Any]] = {"Luhn": _luhn, "Quote": _quote}


@evaluates(*_TEXTS)
def _of_text(call: Call, args: Args) -> pa.Array:
    return per_distinct(_TEXTS[call.function], args[0], arrow_type(call.type))


@evaluates("ValidUtf8")
def _valid_utf8(call: Call, args: Args) -> pa.Array:
    bad = call.option("bad")

    def checked(raw: bytes) -> Any:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            if bad == "fail":
                raise RowError(f"[INVALID_UTF8_STRING] {raw!r} is not UTF-8; try_validate_utf8 gives NULL") from error
            return {"test": False, "null": None}.get(bad, raw.decode(errors="replace"))
        return True if bad == "test" else text

    return per_distinct(checked, args[0].view(pa.binary()), arrow_type(call.type))
