"""What generated kernels call: numbers as Java has them, hashing, look-ups.

All of it is kernel source (translate.py), written out where a kernel calls it. What numba's functions call too says so.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
from __future__ import annotations

import numba
import numpy as np
from numba.extending import register_jitable

from headway.kernels.native.machine import (
    below,
    load_i32,
    load_i64,
    load_u8,
    sdiv,
    srem,
    store_i8,
    store_i32,
    to_int64,
    unsigned_shift,
)

i64 = numba.int64
f32 = numba.float32
f64 = numba.float64

INT64_MIN = -0x8000000000000000
INT64_MAX = 0x7FFFFFFFFFFFFFFF


def seldom(condition):
    """The condition of an `if` that seldom holds: registers are for the other way."""
    return condition


def java_long(value):
    return to_int64(f64(value))


def java_int(value):
    return min(max(to_int64(f64(value)), i64(-2147483648)), i64(2147483647))


def wrap8(value):
    return (value << 56) >> 56


def wrap16(value):
    return (value << 48) >> 48


def wrap32(value):
    return (value << 32) >> 32


def div(left, right):
    """Java's division, which wraps for the one quotient out of range; a zero divisor gives 0."""
    if right == -1:
        return i64(-left)
    return sdiv(left, right) if right != 0 else i64(0)


def rem(left, right):
    """Java's remainder, with the sign of the dividend; 0 for a zero divisor."""
    return srem(left, right) if right != 0 and right != -1 else i64(0)


def floor_div(left, right):
    """Rounded down; the divisor is positive."""
    quotient = sdiv(left, right)
    return quotient - 1 if left - quotient * right < 0 else quotient


def floor_mod(left, right):
    """From 0 to the divisor, which is positive."""
    rest = srem(left, right)
    return rest + right if rest < 0 else rest


def bit(address, index):
    """Bit `index` of a bitmap."""
    return ((load_u8(address, index >> 3) >> (index & 7)) & 1) != 0


def set_bit(address, index):
    store_i8(address, index >> 3, load_u8(address, index >> 3) | (i64(1) << (index & 7)))


@register_jitable
def mix(value):
    """Spreads the bits of a key over the whole word."""
    value = (value ^ unsigned_shift(value, i64(32))) * i64(-7046029254386353131)
    return value ^ unsigned_shift(value, i64(29))


def equal_floats(left, right):
    """Spark's equality: NaN equals NaN."""
    return (left == right) | ((left != left) & (right != right))


@register_jitable
def less_floats(left, right):
    """Spark's order: NaN is the greatest."""
    return (left < right) | ((left == left) & (right != right))


def probe(keys, mask, key):
    """The row of `key` in a hash table of (key, row) pairs, -1 if it is not there; rows below 0 mark free places."""
    at = mix(key) & mask
    while True:
        row = load_i64(keys, 2 * at + 1)
        if row < 0 or load_i64(keys, 2 * at) == key:
            return row
        at = (at + 1) & mask


def look_up(key, low, span, present, keys, mask):
    """The row of `key` in a static table, -1 if it is not there: by position if `span` is not 0, else by hash."""
    if seldom(span == 0):
        return probe(keys, mask, key)
    at = key - low
    return at if below(at, span) and load_u8(present, at) != 0 else i64(-1)


def contains(values, count, value):
    """Whether the sorted int64 array has `value`."""
    low, high = i64(0), count
    while low < high:
        middle = (low + high) >> 1
        if load_i64(values, middle) < value:
            low = middle + 1
        else:
            high = middle
    return low < count and load_i64(values, low) == value


def fill(table, count):
    """Marks every place of a table of int32 as free."""
    for at in range(count):
        store_i32(table, at, i64(-1))


def hash_cells(cells, at, keys):
    """The hash of the key cells that begin at `at`; generated code computes the same from values."""
    code = i64(0)
    for key in range(keys):
        code = mix(code ^ load_i64(cells, at + key))
    return code


def rehash(table, mask, cells, width, keys, groups):
    """Builds the hash table of all groups anew."""
    fill(table, mask + 1)
    for group in range(groups):
        at = hash_cells(cells, group * width, keys) & mask
        while load_i32(table, at) >= 0:
            at = (at + 1) & mask
        store_i32(table, at, i64(group))


@register_jitable
def normal(value):
    """A float as a key: one zero, one NaN."""
    if value != value:
        return type(value)(np.nan)
    return value + type(value)(0.0)


def signum(value):
    """-1.0, 1.0, or the value itself where that is a zero or NaN."""
    if value > 0.0:
        return f64(1.0)
    return f64(-1.0) if value < 0.0 else f64(value)
