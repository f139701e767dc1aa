"""Rounding: Round (half up), BRound (half even), Floor and Ceil, to a number of digits or to whole numbers.

A floating point number is rounded as the decimal that its shortest digits write.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.cast_numbers import saturated
from headway.kernels.expressions.decimals import fits, narrow, shortest, wide
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Vector, column, fail_at, numbers, valid

Args = Sequence[pa.Array]
_MODES = {"Round": "half_towards_infinity", "BRound": "half_to_even", "RoundFloor": "down", "RoundCeil": "up"}
_MOST_DIGITS = 18


@evaluates("Floor", "Ceil")
def _whole(call: Call, args: Args) -> pa.Array:
    (array,) = args
    target = arrow_type(call.type)
    if pa.types.is_decimal(array.type):
        return _decimal(array, 0, "down" if call.function == "Floor" else "up", target)
    if pa.types.is_integer(array.type):
        return array
    values = (np.floor if call.function == "Floor" else np.ceil)(numbers(array))
    if call.option("ansi"):
        far = valid(array) & ((values < -(2.0**63)) | (values >= 2.0**63))
        fail_at(far, lambda row: f"[ARITHMETIC_OVERFLOW] {array[row]} is too large for a BIGINT")
    return column(saturated(values), target, valid(array))


@evaluates("Round", "BRound", "RoundFloor", "RoundCeil")
def _round(call: Call, args: Args) -> pa.Array:
    (array,) = args
    places, mode = call.option("scale"), _MODES[call.function]
    if pa.types.is_decimal(array.type):
        return _decimal(array, places, mode, arrow_type(call.type))
    even = call.function == "BRound"
    if pa.types.is_floating(array.type):
        return _fractional(array, places, even)
    return array if places >= 0 else _integral(array, -places, even, call.option("ansi"))


def _decimal(array: pa.Array, places: int, mode: str, target: pa.DataType) -> pa.Array:
    if places < 0:
        values = pc.cast(array, pa.decimal256(76, array.type.scale))
        rounded = wide(pc.round(values, ndigits=places, round_mode=mode), 0)
    else:
        rounded = wide(array, target.scale, mode)
    return narrow(rounded, target, fits(rounded, target.precision))


def _up(quotient: Vector, rest: Vector, unit: Vector | np.uint64, even: bool) -> Vector:
    """`quotient` or one more, by the `rest` out of `unit`; all unsigned."""
    above = unit - rest
    more = (rest > above) | (rest == above) & ((quotient % 2 == 1) if even else True)
    rounded: Vector = quotient + more.astype(quotient.dtype)
    return rounded


def _integral(array: pa.Array, digits: int, even: bool, ansi: bool) -> pa.Array:
    values = numbers(array).astype(np.int64)
    if digits > _MOST_DIGITS + 1:
        return column(np.zeros(len(values), np.int64).astype(array.type.to_pandas_dtype()), array.type, valid(array))
    unit = np.uint64(10**digits)
    sizes = np.where(values < 0, -values, values).view(np.uint64)
    with np.errstate(over="ignore"):
        rounded = _up(sizes // unit, sizes % unit, unit, even) * unit
    bounds = np.iinfo(array.type.to_pandas_dtype())
    too_large = rounded > np.where(values < 0, np.uint64(-int(bounds.min)), np.uint64(bounds.max))
    if ansi:
        fail_at(too_large & valid(array), lambda row: f"[ARITHMETIC_OVERFLOW] {array[row]} overflows when rounded")
    signed = rounded.view(np.int64)
    narrowed = np.where(values < 0, -signed, signed).astype(array.type.to_pandas_dtype())
    return column(narrowed, array.type, valid(array))


def _fractional(array: pa.Array, places: int, even: bool) -> pa.Array:
    """Only numbers with more digits than wanted change."""
    digits = shortest(pc.cast(array, pa.float64()))
    cut = -digits.exponents - places
    values = numbers(array) + array.type.to_pandas_dtype()(0)
    rows = np.flatnonzero((cut > 0) & np.isfinite(values))
    if len(rows):
        signed = pc.cast(pc.fill_null(digits.signed, "0"), pa.int64()).to_numpy()[rows]
        values[rows] = _cut(signed, cut[rows], places, even, array.type)
    return column(values, array.type, valid(array))


def _cut(signed: Vector, cut: Vector, places: int, even: bool, kind: pa.DataType) -> Vector:
    """Numbers written as `signed` digits without their last `cut` digits, of which `places` come after the point."""
    sizes = np.abs(signed).astype(np.uint64)
    units = 10 ** np.minimum(cut, _MOST_DIGITS).astype(np.uint64)
    # What loses more digits than there are is below a half of what remains.
    kept = np.where(cut > _MOST_DIGITS, np.uint64(0), _up(sizes // units, sizes % units, units, even))
    text = pc.binary_join_element_wise(pc.cast(pa.array(kept), pa.string()), f"e{-places}", "")
    numbers_again: Vector = pc.cast(text, kind).to_numpy()
    return np.where((signed < 0) & (numbers_again != 0), -numbers_again, numbers_again)
