"""Casts of strings to numbers and booleans."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.types import arrow_type
from headway.kernels.expressions.cast_decimals import fitted
from headway.kernels.expressions.cast_rules import (
    INVALID_INPUT,
    OUT_OF_RANGE,
    OUT_OF_SUPPORTED_RANGE,
    Cast,
    CastFunction,
    Casting,
)
from headway.kernels.expressions.decimals import Digits
from headway.kernels.expressions.vectors import Mask, Vector, column, flags, valid

# What Spark trims (white space and control characters), and what Java's String.trim does.
SPARK_SPACE = "".join(map(chr, range(0x21))) + "\x7f"
JAVA_SPACE = "".join(map(chr, range(0x21)))
_TRUE = pa.array(["t", "true", "y", "yes", "1"])
_FALSE = pa.array(["f", "false", "n", "no", "0"])
_INTEGER = r"^(?P<sign>[+-]?)(?P<digits>[0-9]+)$"
_INTEGER_OR_DECIMAL = r"^(?P<sign>[+-]?)(?P<digits>[0-9]*)(?:\.[0-9]*)?$"
_NUMBER = r"^(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?:[eE](?P<exponent>[+-]?[0-9]+))?$"
_FLOAT = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?$"
_HEX_FLOAT = r"^[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?$"
_SPECIAL = r"^(?:[+-]?(?:inf|infinity)|nan)$"
_SIGNED_NAN = r"^[+-]NaN$"
_MOST_DIGITS = 19
_SUPPORTED_DIGITS = 38


def _to_boolean(source: pa.Array, casting: Casting) -> Cast:
    text = pc.utf8_lower(pc.utf8_trim(source, SPARK_SPACE))
    true, false = pc.is_in(text, _TRUE), pc.is_in(text, _FALSE)
    return Cast(column(flags(true), pa.bool_(), valid(source)), ~flags(true) & ~flags(false), INVALID_INPUT)


def _to_integral(source: pa.Array, casting: Casting) -> Cast:
    """Outside ANSI mode a fraction is cut off, even an empty one."""
    trimmed = pc.utf8_trim(source, SPARK_SPACE)
    parts = pc.extract_regex(trimmed, _INTEGER if casting.ansi else _INTEGER_OR_DECIMAL)
    sign, digits = pc.struct_field(parts, 0), pc.struct_field(parts, 1)
    empty = pc.or_(pc.equal(trimmed, ""), pc.is_in(trimmed, pa.array(["+", "-"])))
    digits = pc.fill_null(pc.utf8_ltrim(digits, "0"), "")
    long = flags(pc.greater(pc.utf8_length(digits), _MOST_DIGITS))
    readable = pc.if_else(pc.or_(pc.equal(digits, ""), pa.array(long)), "0", digits)
    values, overflow = _signed(pc.cast(readable, pa.uint64()).to_numpy(), flags(pc.equal(sign, "-")))
    kind = np.dtype(arrow_type(casting.target).to_pandas_dtype())
    narrow = values.astype(kind)
    bad = flags(pc.is_null(parts)) | flags(empty) | long | overflow | (narrow != values)
    return Cast(column(narrow, arrow_type(casting.target), valid(source)), bad, INVALID_INPUT)


def _signed(magnitudes: Vector, negative: Mask) -> tuple[Vector, Mask]:
    """Magnitudes below 10^19 with their sign, and which do not fit in 64 bits."""
    overflow = magnitudes > np.where(negative, np.uint64(2**63), np.uint64(2**63 - 1))
    values = magnitudes.view(np.int64)
    with np.errstate(over="ignore"):
        return np.where(negative, -values, values), overflow


def _to_fractional(source: pa.Array, casting: Casting) -> Cast:
    text = pc.utf8_trim(source, JAVA_SPACE)
    plain = flags(pc.match_substring_regex(text, _FLOAT))
    special = flags(pc.match_substring_regex(pc.utf8_lower(text), _SPECIAL))
    special |= flags(pc.match_substring_regex(text, _SIGNED_NAN))
    bad = ~plain & ~special
    number = pc.utf8_ltrim(pc.utf8_rtrim(pc.if_else(pa.array(plain), text, "0"), "fFdD"), "+")
    number = pc.if_else(pa.array(special), pc.utf8_ltrim(pc.utf8_lower(text), "+"), number)
    number = pc.if_else(pc.is_in(number, pa.array(["-nan"])), "nan", number)
    values = pc.cast(number, arrow_type(casting.target))
    bad, values = _hexadecimal(text, bad, values)
    return Cast(pc.if_else(pa.array(valid(source)), values, None), bad, INVALID_INPUT)


def _hexadecimal(text: pa.Array, bad: Mask, values: pa.Array) -> tuple[Mask, pa.Array]:
    """Java reads hexadecimal floating point too; rare enough for a loop."""
    found = np.flatnonzero(bad & flags(pc.match_substring_regex(text, _HEX_FLOAT)))
    if not len(found):
        return bad, values
    numbers = values.to_numpy(zero_copy_only=False).copy()
    for row in found:
        numbers[row] = float.fromhex(text[row].as_py().rstrip("fFdD"))
    bad = bad.copy()
    bad[found] = False
    return bad, pa.array(numbers, values.type)


def _to_decimal(source: pa.Array, casting: Casting) -> Cast:
    parts = pc.extract_regex(_latin_digits(pc.utf8_trim(source, JAVA_SPACE)), _NUMBER)
    sign, whole, fraction, exponent = (pc.struct_field(parts, i) for i in range(4))
    digits = pc.binary_join_element_wise(whole, fraction, "")
    malformed = flags(pc.is_null(parts)) | flags(pc.equal(digits, ""))
    digits = pc.utf8_ltrim(digits, "0")
    digits = pc.fill_null(pc.if_else(pc.equal(digits, ""), "0", digits), "0")
    exponents = _exponents(exponent) - pc.fill_null(pc.utf8_length(fraction), 0).to_numpy()
    integral = pc.utf8_length(digits).to_numpy() + exponents
    far = ~malformed & (integral > _SUPPORTED_DIGITS) & ~flags(pc.equal(digits, "0"))
    signed = pc.binary_join_element_wise(pc.if_else(pc.equal(sign, "-"), "-", ""), digits, "")
    usable = pc.if_else(pa.array(malformed | far), "0", pc.fill_null(signed, "0"))
    exponents = np.where(flags(pc.equal(usable, "0")), 0, exponents)
    values, _ = Digits(usable, exponents).decimals(arrow_type(casting.target).scale)
    result = fitted(values, casting, malformed | far)
    assert result.bad is not None
    there = valid(source)
    error = OUT_OF_RANGE
    if bool((malformed & there).any()):
        error = INVALID_INPUT
    elif bool((far & there).any()):
        error = OUT_OF_SUPPORTED_RANGE
    return Cast(pc.if_else(pa.array(there), result.values, None), result.bad, error)


def _latin_digits(text: pa.Array) -> pa.Array:
    """Java's decimals may be written in any script's digits; rare enough for a loop."""
    if not pc.any(pc.match_substring_regex(text, r"[^\x00-\x7f]")).as_py():
        return text
    return pa.array([None if t is None else re.sub(r"\d", lambda d: str(int(d[0])), t) for t in text.to_pylist()])


def _exponents(written: pa.Array) -> Vector:
    """Exponents as numbers, the absurd ones cut down to what is absurd enough."""
    short = pc.fill_null(pc.less_equal(pc.utf8_length(written), 9), False)
    there = pc.fill_null(pc.not_equal(written, ""), False)
    text = pc.if_else(pc.and_(short, there), pc.utf8_ltrim(written, "+"), "0")
    values: Vector = pc.cast(text, pa.int64()).to_numpy()
    far = np.where(flags(pc.starts_with(pc.fill_null(written, ""), "-")), -999_999_999, 999_999_999)
    return np.where(flags(there) & ~flags(short), far, values)


def _to_binary(source: pa.Array, casting: Casting) -> Cast:
    return Cast(source.view(pa.binary()))


FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    ("string", "boolean"): _to_boolean,
    ("string", "integral"): _to_integral,
    ("string", "fractional"): _to_fractional,
    ("string", "decimal"): _to_decimal,
    ("string", "binary"): _to_binary,
}
