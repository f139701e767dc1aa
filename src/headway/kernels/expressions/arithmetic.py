"""Evaluation of arithmetic on integers and floating-point numbers; decimals go to their own module.

1. Integers overflow to an error in ANSI mode, else wrap around, or are null for the Try functions.
2. A division by zero, of floating-point numbers too, is an error in ANSI mode, else null.
3. A quotient of integers is rounded toward zero, and a remainder has the sign of the dividend, as in Java.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions import decimal_arithmetic
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.vectors import Mask, Vector, column, fail_at, numbers, only, valid

_CHECKED: dict[str, Callable[..., pa.Array]] = {
    "Add": pc.add_checked,
    "Subtract": pc.subtract_checked,
    "Multiply": pc.multiply_checked,
    "UnaryMinus": pc.negate_checked,
    "Abs": pc.abs_checked,
}
_WRAPPING: dict[str, Callable[..., pa.Array]] = {
    "Add": pc.add,
    "Subtract": pc.subtract,
    "Multiply": pc.multiply,
    "UnaryMinus": pc.negate,
    "Abs": pc.abs,
}


@evaluates(*_CHECKED)
def _plain(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    kind = args[0].type
    if pa.types.is_decimal(kind):
        return decimal_arithmetic.evaluate(call, args)
    if pa.types.is_floating(kind) or not call.option("ansi"):
        return _WRAPPING[call.function](*args)
    try:
        return _CHECKED[call.function](*args)
    except pa.ArrowInvalid as error:
        raise RowError(_overflow(call, kind)) from error


def _overflow(call: Call, kind: pa.DataType) -> str:
    narrow = kind.bit_width < 32 and call.function in ("Add", "Subtract", "Multiply")
    name = "BINARY_ARITHMETIC_OVERFLOW" if narrow else "ARITHMETIC_OVERFLOW"
    return f"[{name}] {call} does not fit {call.type.simpleString()}; try_add and its like give null instead"


@evaluates("TryAdd", "TrySubtract", "TryMultiply")
def _try(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    # 64-bit results need more than 64 bits to see an overflow, so they are Python integers.
    wide = object if args[0].type.bit_width == 64 else np.int64
    left, right = (numbers(arg).astype(wide) for arg in args)
    result = {"TryAdd": np.add, "TrySubtract": np.subtract, "TryMultiply": np.multiply}[call.function](left, right)
    bounds = np.iinfo(args[0].type.to_pandas_dtype())
    fits = ((result >= bounds.min) & (result <= bounds.max)).astype(np.bool_)
    values = np.where(fits, result, 0).astype(bounds.dtype)
    return column(values, args[0].type, fits & valid(*args))


@evaluates("Divide", "IntegralDivide", "Remainder", "Pmod", right_first=True)
def _divided(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    rows = valid(*args)
    zero = decimal_arithmetic.zeros(args[1]) if pa.types.is_decimal(args[1].type) else numbers(args[1]) == 0
    if call.option("ansi"):
        fail_at(zero & rows, lambda _: _zero_divisor(call))
    rows &= ~zero
    if pa.types.is_decimal(args[0].type):
        return decimal_arithmetic.evaluate(call, [only(arg, rows) for arg in args])
    left, right = numbers(args[0]), numbers(args[1])
    right = np.where(rows, right, right.dtype.type(1))
    with np.errstate(all="ignore"):
        values = _DIVISIONS[call.function](left, right, call, rows)
    return column(values, args[0].type, rows)


def _zero_divisor(call: Call) -> str:
    if call.function in ("Remainder", "Pmod"):
        return f"[REMAINDER_BY_ZERO] {call} divides by zero; try_mod gives null instead"
    return f"[DIVIDE_BY_ZERO] {call} divides by zero; try_divide gives null instead"


def _divide(left: Vector, right: Vector, call: Call, rows: Mask) -> Vector:
    result: Vector = left / right
    return result


def _integral_divide(left: Vector, right: Vector, call: Call, rows: Mask) -> Vector:
    overflow = (left == np.iinfo(left.dtype).min) & (right == -1)
    if call.option("ansi"):
        fail_at(overflow & rows, lambda _: f"[ARITHMETIC_OVERFLOW] {call} does not fit {call.type.simpleString()}")
    safe = np.where(overflow, left.dtype.type(1), right)
    floor = left // safe
    result: Vector = floor + ((left % safe != 0) & ((left < 0) != (safe < 0)))
    return result


def _remainder(left: Vector, right: Vector, call: Call, rows: Mask) -> Vector:
    result: Vector = np.fmod(left, right)
    return result


def _pmod(left: Vector, right: Vector, call: Call, rows: Mask) -> Vector:
    if left.itemsize < 4:
        # Java adds bytes and shorts as ints.
        return _pmod(left.astype(np.int32), right.astype(np.int32), call, rows).astype(left.dtype)
    remainder = np.fmod(left, right)
    return np.where(remainder < 0, np.fmod(remainder + right, right), remainder)


_DIVISIONS: dict[str, Callable[[Vector, Vector, Call, Mask], Vector]] = {
    "Divide": _divide,
    "IntegralDivide": _integral_divide,
    "Remainder": _remainder,
    "Pmod": _pmod,
}
