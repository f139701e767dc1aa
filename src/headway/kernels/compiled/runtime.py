"""What generated kernels call: numbers as Java has them, hashing, look-ups.

All of it is inlined into the kernel by LLVM; nothing here is compiled when a kernel comes from the cache.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

import numba
import numpy as np

from headway.kernels.compiled.machine import (
    add_overflows,
    below,
    bits_f32,
    bits_f64,
    fmod,
    load_f32,
    load_f64,
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_u8,
    mul_overflows,
    sdiv,
    srem,
    store_f32,
    store_f64,
    store_i8,
    store_i16,
    store_i32,
    store_i64,
    sub_overflows,
    to_int64,
    unsigned_shift,
)

__all__ = [
    "INT64_MAX",
    "INT64_MIN",
    "add_overflows",
    "below",
    "bit",
    "bits_f32",
    "bits_f64",
    "contains",
    "div",
    "equal_floats",
    "f32",
    "f64",
    "fill",
    "floor_div",
    "floor_mod",
    "fmod",
    "hash_cells",
    "i64",
    "java_int",
    "java_long",
    "less_floats",
    "load_f32",
    "load_f64",
    "load_i8",
    "load_i16",
    "load_i32",
    "load_i64",
    "load_u8",
    "look_up",
    "mix",
    "mul_overflows",
    "normal",
    "probe",
    "rehash",
    "rem",
    "sdiv",
    "set_bit",
    "signum",
    "srem",
    "store_f32",
    "store_f64",
    "store_i8",
    "store_i16",
    "store_i32",
    "store_i64",
    "sub_overflows",
    "to_int64",
    "unsigned_shift",
    "wrap8",
    "wrap16",
    "wrap32",
]

i64 = numba.int64
f32 = numba.float32
f64 = numba.float64

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


@numba.njit
def java_long(value):  # type: ignore[no-untyped-def]
    return to_int64(f64(value))


@numba.njit
def java_int(value):  # type: ignore[no-untyped-def]
    return min(max(to_int64(f64(value)), i64(-2147483648)), i64(2147483647))


@numba.njit
def wrap8(value):  # type: ignore[no-untyped-def]
    return (value << 56) >> 56


@numba.njit
def wrap16(value):  # type: ignore[no-untyped-def]
    return (value << 48) >> 48


@numba.njit
def wrap32(value):  # type: ignore[no-untyped-def]
    return (value << 32) >> 32


@numba.njit
def div(left, right):  # type: ignore[no-untyped-def]
    """Java's division, which wraps for the one quotient out of range; a zero divisor gives 0."""
    if right == -1:
        return i64(-left)
    return sdiv(left, right) if right != 0 else i64(0)


@numba.njit
def rem(left, right):  # type: ignore[no-untyped-def]
    """Java's remainder, with the sign of the dividend; 0 for a zero divisor."""
    return srem(left, right) if right != 0 and right != -1 else i64(0)


@numba.njit
def floor_div(left, right):  # type: ignore[no-untyped-def]
    """Rounded down; the divisor is positive."""
    quotient = sdiv(left, right)
    return quotient - 1 if left - quotient * right < 0 else quotient


@numba.njit
def floor_mod(left, right):  # type: ignore[no-untyped-def]
    """From 0 to the divisor, which is positive."""
    rest = srem(left, right)
    return rest + right if rest < 0 else rest


@numba.njit
def bit(address, index):  # type: ignore[no-untyped-def]
    """Bit `index` of a bitmap."""
    return ((load_u8(address, index >> 3) >> (index & 7)) & 1) != 0


@numba.njit
def set_bit(address, index):  # type: ignore[no-untyped-def]
    store_i8(address, index >> 3, load_u8(address, index >> 3) | (i64(1) << (index & 7)))


@numba.njit
def mix(value):  # type: ignore[no-untyped-def]
    """Spreads the bits of a key over the whole word."""
    value = (value ^ unsigned_shift(value, i64(32))) * i64(-7046029254386353131)
    return value ^ unsigned_shift(value, i64(29))


@numba.njit
def equal_floats(left, right):  # type: ignore[no-untyped-def]
    """Spark's equality: NaN equals NaN."""
    return (left == right) | ((left != left) & (right != right))


@numba.njit
def less_floats(left, right):  # type: ignore[no-untyped-def]
    """Spark's order: NaN is the greatest."""
    return (left < right) | ((left == left) & (right != right))


@numba.njit
def probe(keys, mask, key):  # type: ignore[no-untyped-def]
    """The row of `key` in a hash table of (key, row) pairs, -1 if it is not there; rows below 0 mark free places."""
    at = mix(key) & mask
    while True:
        row = load_i64(keys, 2 * at + 1)
        if row < 0 or load_i64(keys, 2 * at) == key:
            return row
        at = (at + 1) & mask


@numba.njit
def look_up(key, low, span, present, keys, mask):  # type: ignore[no-untyped-def]
    """The row of `key` in a static table, -1 if it is not there: by position if `span` is not 0, else by hash."""
    if span == 0:
        return probe(keys, mask, key)
    at = key - low
    return at if below(at, span) and load_u8(present, at) != 0 else i64(-1)


@numba.njit
def contains(values, count, value):  # type: ignore[no-untyped-def]
    """Whether the sorted int64 array has `value`."""
    low, high = i64(0), count
    while low < high:
        middle = (low + high) >> 1
        if load_i64(values, middle) < value:
            low = middle + 1
        else:
            high = middle
    return low < count and load_i64(values, low) == value


@numba.njit
def fill(table, count):  # type: ignore[no-untyped-def]
    """Marks every place of a table of int32 as free."""
    for at in range(count):
        store_i32(table, at, i64(-1))


@numba.njit
def hash_cells(cells, at, keys):  # type: ignore[no-untyped-def]
    """The hash of the key cells that begin at `at`; generated code computes the same from values."""
    code = i64(0)
    for key in range(keys):
        code = mix(code ^ load_i64(cells, at + key))
    return code


@numba.njit
def rehash(table, mask, cells, width, keys, groups):  # type: ignore[no-untyped-def]
    """Builds the hash table of all groups anew."""
    fill(table, mask + 1)
    for group in range(groups):
        at = hash_cells(cells, group * width, keys) & mask
        while load_i32(table, at) >= 0:
            at = (at + 1) & mask
        store_i32(table, at, i64(group))


@numba.njit
def normal(value):  # type: ignore[no-untyped-def]
    """A float as a key: one zero, one NaN."""
    if value != value:
        return type(value)(np.nan)
    return value + type(value)(0.0)


@numba.njit
def signum(value):  # type: ignore[no-untyped-def]
    """-1.0, 1.0, or the value itself where that is a zero or NaN."""
    if value > 0.0:
        return f64(1.0)
    return f64(-1.0) if value < 0.0 else f64(value)
