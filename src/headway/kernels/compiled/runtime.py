"""What generated kernels call: memory by address, arithmetic as Java does it, hashing, look-ups.

1. In a kernel every integral, date or timestamp value is an int64; narrower types keep to their range.
2. Memory is read and written by address and element index; nothing is checked, the generator vouches for it.
3. All of it is inlined into the kernel by LLVM; nothing here is compiled when a kernel comes from the cache.
"""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

i64 = numba.int64
u64 = numba.uint64
f32 = numba.float32
f64 = numba.float64

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


def _loader(memory: ir.Type, value: types.Type, extend: str | None) -> Callable[[int, int], Any]:
    """Reads element `index` of an array at `address`, widened to the type kernels compute with."""

    @intrinsic
    def load(typingctx: Any, address: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], memory.as_pointer())
            found = builder.load(builder.gep(pointer, [args[1]]))
            return getattr(builder, extend)(found, context.get_value_type(value)) if extend else found

        return value(types.int64, types.int64), codegen

    return load  # type: ignore[no-any-return]


def _storer(memory: ir.Type, value: types.Type, truncate: bool) -> Callable[[int, int, Any], None]:
    """Writes element `index` of an array at `address`."""

    @intrinsic
    def store(typingctx: Any, address: Any, index: Any, item: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], memory.as_pointer())
            item = builder.trunc(args[2], memory) if truncate else args[2]
            builder.store(item, builder.gep(pointer, [args[1]]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, value), codegen

    return store  # type: ignore[no-any-return]


load_u8 = _loader(ir.IntType(8), types.int64, "zext")
load_i8 = _loader(ir.IntType(8), types.int64, "sext")
load_i16 = _loader(ir.IntType(16), types.int64, "sext")
load_i32 = _loader(ir.IntType(32), types.int64, "sext")
load_i64 = _loader(ir.IntType(64), types.int64, None)
load_f32 = _loader(ir.FloatType(), types.float32, None)
load_f64 = _loader(ir.DoubleType(), types.float64, None)
store_i8 = _storer(ir.IntType(8), types.int64, True)
store_i16 = _storer(ir.IntType(16), types.int64, True)
store_i32 = _storer(ir.IntType(32), types.int64, True)
store_i64 = _storer(ir.IntType(64), types.int64, False)
store_f32 = _storer(ir.FloatType(), types.float32, False)
store_f64 = _storer(ir.DoubleType(), types.float64, False)


def _overflow(operation: str) -> Callable[[int, int], bool]:
    """Whether a 64-bit operation leaves the range: the processor's own flag."""

    @intrinsic
    def overflows(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.extract_value(getattr(builder, operation)(args[0], args[1]), 1)

        return types.boolean(types.int64, types.int64), codegen

    return overflows  # type: ignore[no-any-return]


add_overflows = _overflow("sadd_with_overflow")
sub_overflows = _overflow("ssub_with_overflow")
mul_overflows = _overflow("smul_with_overflow")


def _integer(operation: str) -> Callable[[int, int], int]:
    """A 64-bit operation as the processor does it; Python's rules for signs would cost a branch."""

    @intrinsic
    def compute(typingctx: Any, left: Any, right: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(args[0], args[1])

        return types.int64(types.int64, types.int64), codegen

    return compute  # type: ignore[no-any-return]


_sdiv = _integer("sdiv")
_srem = _integer("srem")
_udiv = _integer("udiv")
unsigned_shift = _integer("lshr")


@intrinsic
def fmod(typingctx: Any, left: Any, right: Any) -> Any:
    """The remainder of doubles, with the sign of the dividend."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.frem(args[0], args[1])

    return types.float64(types.float64, types.float64), codegen


@intrinsic
def below(typingctx: Any, value: Any, limit: Any) -> Any:
    """0 <= value < limit, in one unsigned comparison."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.icmp_unsigned("<", args[0], args[1])

    return types.boolean(types.int64, types.int64), codegen


def _bits(source: types.Type, memory: ir.Type, target: types.Type) -> Callable[[Any], Any]:
    @intrinsic
    def bits(typingctx: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], memory)

        return target(source), codegen

    return bits  # type: ignore[no-any-return]


bits_f64 = _bits(types.float64, ir.IntType(64), types.int64)
f64_bits = _bits(types.int64, ir.DoubleType(), types.float64)


@intrinsic
def bits_f32(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.sext(builder.bitcast(args[0], ir.IntType(32)), ir.IntType(64))

    return types.int64(types.float32), codegen


@intrinsic
def _to_int64(typingctx: Any, value: Any) -> Any:
    """Truncation towards zero by LLVM's saturating conversion: NaN gives 0, as in Java."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [ir.DoubleType()])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fptosi.sat.i64.f64")
        return builder.call(function, args)

    return types.int64(types.float64), codegen


@numba.njit
def java_long(value):  # type: ignore[no-untyped-def]
    return _to_int64(f64(value))


@numba.njit
def java_int(value):  # type: ignore[no-untyped-def]
    return min(max(_to_int64(f64(value)), i64(-2147483648)), i64(2147483647))


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
    """Java's division, which wraps for the one quotient out of range; 0 for a zero divisor, which the caller handles."""
    if right == -1:
        return i64(-left)
    return _sdiv(left, right) if right != 0 else i64(0)


@numba.njit
def rem(left, right):  # type: ignore[no-untyped-def]
    """Java's remainder, with the sign of the dividend; 0 for a zero divisor."""
    return _srem(left, right) if right != 0 and right != -1 else i64(0)


@numba.njit
def floor_div(left, right):  # type: ignore[no-untyped-def]
    """Rounded down; the divisor is positive."""
    quotient = _sdiv(left, right)
    return quotient - 1 if left - quotient * right < 0 else quotient


@numba.njit
def floor_mod(left, right):  # type: ignore[no-untyped-def]
    """From 0 to the divisor, which is positive."""
    rest = _srem(left, right)
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
