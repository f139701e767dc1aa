"""Casts to strings, as Java prints the values.

1. Floats and doubles show the fewest digits that tell them from their neighbours, as Java does from version 19 on.
2. Decimals are plain in ANSI mode; else small ones have an exponent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.expressions.cast_rules import Cast, CastFunction, Casting
from headway.kernels.expressions.decimals import rescaled, shortest
from headway.kernels.expressions.vectors import Vector, numbers, valid
from headway.kernels.zones import zone

_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
# Below these a single digit may be all that is needed, but Java shows two, the nearest.
_TINY = {pa.float32(): 1e-40, pa.float64(): 1e-300}


def dates_text(days: Vector) -> pa.Array:
    """Days since the epoch as text."""
    return _java_years(pa.array(np.datetime_as_string(days.astype("M8[D]")), pa.string()))


def times_text(local: Vector) -> pa.Array:
    """Local microseconds since the epoch as text, with as many digits of the fraction as it needs."""
    text = pa.array(np.datetime_as_string(local.astype("M8[us]")), pa.string())
    text = pc.utf8_rtrim(pc.utf8_rtrim(pc.replace_substring(text, "T", " "), "0"), ".")
    return _java_years(text)


def _java_years(text: pa.Array) -> pa.Array:
    """Java gives a year of more than four digits a sign, and one before year 0 four digits beside it."""
    long = pc.match_substring_regex(text, r"^\d{5}")
    text = pc.if_else(long, pc.binary_join_element_wise("+", text, ""), text)
    return pc.replace_substring_regex(text, r"^-(\d{3})-", r"-0\1-")


def floats_text(array: pa.Array) -> pa.Array:
    """Floats or doubles as Java prints them."""
    values = numbers(array)
    sizes = np.abs(values)
    text = pc.cast(array, pa.string())
    plain = pc.if_else(pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, ".0", ""))
    with np.errstate(invalid="ignore"):
        is_plain = ((sizes >= _PLAIN_FROM) & (sizes < _PLAIN_TO)) | (values == 0)
        tiny = (sizes < _TINY[array.type]) & (sizes > 0)
    if not is_plain.all():
        plain = pc.if_else(pa.array(is_plain), plain, _scientific(array))
    plain = pc.if_else(pa.array(np.isnan(values)), "NaN", plain)
    plain = pc.if_else(pa.array(np.isposinf(values)), "Infinity", plain)
    plain = pc.if_else(pa.array(np.isneginf(values)), "-Infinity", plain)
    return _two_digits(plain, values, tiny) if tiny.any() else plain


def _scientific(array: pa.Array) -> pa.Array:
    digits = shortest(array)
    negative = pc.starts_with(digits.signed, "-")
    unsigned = pc.utf8_ltrim(digits.signed, "-")
    exponents = digits.exponents + pc.fill_null(pc.utf8_length(unsigned), 0).to_numpy() - 1
    rest = pc.utf8_rtrim(pc.utf8_slice_codeunits(unsigned, 1), "0")
    rest = pc.if_else(pc.equal(rest, ""), "0", rest)
    sign = pc.if_else(negative, "-", "")
    first = pc.utf8_slice_codeunits(unsigned, 0, 1)
    mantissa = pc.binary_join_element_wise(sign, first, ".", rest, "E", "")
    return pc.binary_join_element_wise(mantissa, pc.cast(pa.array(exponents), pa.string()), "")


def _two_digits(text: pa.Array, values: Vector, tiny: Vector) -> pa.Array:
    """The smallest of numbers, one by one: rarely is there any."""
    given = text.to_pylist()
    for row in np.flatnonzero(tiny):
        if given[row] is not None and given[row].lstrip("-")[1:4] == ".0E":
            mantissa, exponent = f"{values[row].item():.1e}".split("e")
            given[row] = f"{mantissa}E{int(exponent)}"
    return pa.array(given, pa.string())


def decimals_text(array: pa.Array, plain: bool) -> pa.Array:
    """Decimals as text."""
    if not plain:
        return pc.cast(array, pa.string())
    scale = array.type.scale
    whole = pc.cast(rescaled(array, 0), pa.string())
    if scale == 0:
        return whole
    negative = pc.starts_with(whole, "-")
    digits = pc.utf8_lpad(pc.utf8_ltrim(whole, "-"), scale + 1, "0")
    before, after = pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale)
    unsigned = pc.binary_join_element_wise(before, after, ".")
    return pc.binary_join_element_wise(pc.if_else(negative, "-", ""), unsigned, "")


def _plainly(source: pa.Array, casting: Casting) -> Cast:
    return Cast(pc.cast(source, pa.string()))


def _from_fractional(source: pa.Array, casting: Casting) -> Cast:
    return Cast(floats_text(source))


def _from_decimal(source: pa.Array, casting: Casting) -> Cast:
    return Cast(decimals_text(source, casting.ansi))


def _from_date(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_where_valid(dates_text(numbers(source)), source))


def _from_timestamp(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_where_valid(times_text(zone(casting.time_zone).local(numbers(source))), source))


def _from_timestamp_ntz(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_where_valid(times_text(numbers(source)), source))


def _where_valid(text: pa.Array, source: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(valid(source)), text, None) if source.null_count else text


def _from_binary(source: pa.Array, casting: Casting) -> Cast:
    return Cast(source.view(pa.string()))


FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    ("integral", "string"): _plainly,
    ("boolean", "string"): _plainly,
    ("fractional", "string"): _from_fractional,
    ("decimal", "string"): _from_decimal,
    ("date", "string"): _from_date,
    ("timestamp", "string"): _from_timestamp,
    ("timestamp_ntz", "string"): _from_timestamp_ntz,
    ("binary", "string"): _from_binary,
}
