"""Decimals as vectors of their unscaled integers: int64 where all values and results fit, else Python's integers.

Python's integers are exact at any size and slower; which kind is used depends on the values, not on their type, so
that wide types with small values stay fast.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headway.kernels.expressions.decimals import unscaled_words
from headway.kernels.expressions.vectors import Mask, Vector, valid

_INT64 = 1 << 63
_WORD = (1 << 64) - 1


def unscaled(array: pa.Array) -> Vector:
    """The unscaled integers of a 128-bit decimal column, zero where it is null."""
    high, low = unscaled_words(array)
    rows = valid(array)
    high, low = np.where(rows, high, 0), np.where(rows, low, 0)
    if bool((high == low >> 63).all()):
        return low
    result: Vector = high.astype(object) * (1 << 64) + low.view(np.uint64).astype(object)
    return result


def decimals(integers: Vector, kind: pa.DataType, rows: Mask) -> pa.Array:
    """The decimal column of these unscaled integers, null outside `rows`, where alone they must fit 128 bits."""
    integers = np.where(rows, integers, 0)
    words = np.empty((len(integers), 2), np.int64)
    if integers.dtype == object:
        words[:, 0] = (integers & _WORD).astype(np.uint64).view(np.int64)
        words[:, 1] = (integers >> 64).astype(np.int64)
    else:
        words[:, 0] = integers
        words[:, 1] = integers >> 63
    # An array of booleans has its bits where Arrow wants them.
    bits = None if bool(rows.all()) else pa.array(rows).buffers()[1]
    return pa.Array.from_buffers(kind, len(integers), [bits, pa.py_buffer(words)])


def largest(integers: Vector) -> int:
    """The largest magnitude."""
    if len(integers) == 0:
        return 0
    return max(int(integers.max()), -int(integers.min()))


def room_for(bound: int, *vectors: Vector) -> list[Vector]:
    """The vectors as they are if magnitudes up to `bound` fit int64, else as Python's integers."""
    if bound < _INT64:
        return list(vectors)
    return [vector.astype(object) for vector in vectors]


def times_power(integers: Vector, digits: int) -> Vector:
    """Multiplied by ten to the power of `digits`."""
    if digits == 0:
        return integers
    (roomy,) = room_for(max(largest(integers), 1) * 10**digits, integers)
    result: Vector = roomy * 10**digits
    return result


def truncated(dividends: Vector, divisors: Vector) -> tuple[Vector, Vector]:
    """Quotients rounded toward zero, and remainders with the sign of the dividend."""
    floor = dividends // divisors
    rest = dividends - floor * divisors
    up = ((rest != 0) & ((dividends < 0) != (divisors < 0))).astype(np.bool_)
    return floor + up, rest - np.where(up, divisors, 0)


def half_up(dividends: Vector, divisors: Vector) -> Vector:
    """Quotients rounded to the nearest integer, halves away from zero."""
    dividends, divisors = room_for(2 * max(largest(dividends), largest(divisors)), dividends, divisors)
    quotients, rest = truncated(dividends, divisors)
    away = (2 * np.abs(rest) >= np.abs(divisors)).astype(np.bool_)
    negative = ((dividends < 0) != (divisors < 0)).astype(np.bool_)
    return quotients + np.where(away, np.where(negative, -1, 1), 0)


def drop_digits(integers: Vector, digits: int) -> Vector:
    """Without the last `digits`, rounded half up."""
    if digits == 0:
        return integers
    power = 10**digits
    return half_up(integers, np.full(len(integers), power, np.int64 if power < _INT64 else object))
