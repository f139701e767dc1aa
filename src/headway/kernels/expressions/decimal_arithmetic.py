"""Exact arithmetic on decimals with Spark's rounding, each step as Spark takes it.

1. A sum or difference is exact, then rounded half up to the result's scale.
2. A product is first rounded to 39 significant digits, then to the result's scale; a quotient at once.
3. A remainder is an error in every mode where the integral quotient has more than 39 significant digits.
4. A negation keeps 34 significant digits, rounded half to even.
5. What has more digits than the result's type is an error in ANSI mode, else null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.unscaled import (
    decimals,
    drop_digits,
    half_up,
    largest,
    room_for,
    times_power,
    truncated,
    unscaled,
)
from headway.kernels.expressions.vectors import Mask, Vector, column, fail_at, numbers, valid

_PRODUCT_DIGITS = 39
_NEGATION_DIGITS = 34


def zeros(array: pa.Array) -> Mask:
    """Which rows are zero."""
    result: Mask = (unscaled(array) == 0).astype(np.bool_)
    return result


def evaluate(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    """Any function of arithmetic on decimals; divisors are not zero, only null."""
    rows = valid(*args)
    integers = [unscaled(arg) for arg in args]
    scales = [arg.type.scale for arg in args]
    if call.function in ("UnaryMinus", "Abs"):
        values = _negated(integers[0], args[0].type, negative_only=call.function == "Abs")
        return decimals(values, args[0].type, rows)
    if len(args) == 2 and call.function in _DIVIDES:
        integers[1] = np.where(rows, integers[1], 1)
    if call.function == "IntegralDivide":
        return _integral_divide(call, integers, args, rows)
    target = call.type
    assert isinstance(target, T.DecimalType)
    values, scale = _OPERATIONS[call.function](integers, scales, target.scale)
    return _result(call, values, scale, rows)


_DIVIDES = frozenset({"Divide", "IntegralDivide", "Remainder", "Pmod"})


def _result(call: Call, values: Vector, scale: int, rows: Mask) -> pa.Array:
    """`values` of `scale` in the call's type."""
    target = call.type
    assert isinstance(target, T.DecimalType)
    values = (
        times_power(values, target.scale - scale) if scale < target.scale else drop_digits(values, scale - target.scale)
    )
    return decimals(values, arrow_type(target), rows & _fitting(call, values, target.precision, rows))


def _fitting(call: Call, values: Vector, precision: int, rows: Mask) -> Mask:
    bound = 10**precision
    if largest(values) < bound:
        return np.ones(len(values), np.bool_)
    fits: Mask = (np.abs(values) < bound).astype(np.bool_)
    if call.option("ansi"):
        fail_at(rows & ~fits, lambda at: f"[NUMERIC_VALUE_OUT_OF_RANGE] {call} does not fit {precision} digits")
    return fits


def _aligned(integers: Sequence[Vector], scales: Sequence[int]) -> tuple[Vector, Vector, int]:
    scale = max(scales)
    left, right = (times_power(v, scale - s) for v, s in zip(integers, scales, strict=True))
    return left, right, scale


def _add(integers: Sequence[Vector], scales: Sequence[int], _: int) -> tuple[Vector, int]:
    left, right, scale = _aligned(integers, scales)
    left, right = room_for(largest(left) + largest(right), left, right)
    return left + right, scale


def _subtract(integers: Sequence[Vector], scales: Sequence[int], _: int) -> tuple[Vector, int]:
    left, right, scale = _aligned(integers, scales)
    left, right = room_for(largest(left) + largest(right), left, right)
    return left - right, scale


def _multiply(integers: Sequence[Vector], scales: Sequence[int], _: int) -> tuple[Vector, int]:
    left, right = room_for(largest(integers[0]) * largest(integers[1]), *integers)
    return _significant(left * right, _PRODUCT_DIGITS), sum(scales)


def _significant(values: Vector, digits: int) -> Vector:
    """Rounded half up to so many significant digits."""
    if largest(values) < 10**digits:
        return values
    values = values.copy()
    waiting = np.flatnonzero(np.abs(values) >= 10**digits)
    excess = 1
    while len(waiting):
        longer = (np.abs(values[waiting]) >= 10 ** (digits + excess)).astype(np.bool_)
        here, waiting = waiting[~longer], waiting[longer]
        values[here] = drop_digits(values[here], excess) * 10**excess
        excess += 1
    return values


def _divide(integers: Sequence[Vector], scales: Sequence[int], target: int) -> tuple[Vector, int]:
    shift = target - scales[0] + scales[1]
    dividends, divisors = integers
    if shift >= 0:
        return half_up(times_power(dividends, shift), divisors), target
    return half_up(dividends, times_power(divisors, -shift)), target


def _remainder(integers: Sequence[Vector], scales: Sequence[int], _: int) -> tuple[Vector, int]:
    left, right, scale = _aligned(integers, scales)
    left, right = room_for(max(largest(left), largest(right)) * 2, left, right)
    quotients, rest = truncated(left, right)
    _require_quotient(quotients)
    return rest, scale


def _pmod(integers: Sequence[Vector], scales: Sequence[int], target: int) -> tuple[Vector, int]:
    rest, scale = _remainder(integers, scales, target)
    _, right, _ = _aligned(integers, scales)
    rest, right = room_for(largest(rest) + largest(right), rest, right)
    again, _ = _remainder([rest + right, right], [scale, scale], target)
    return np.where((rest < 0).astype(np.bool_), again, rest), scale


def _require_quotient(quotients: Vector) -> None:
    if largest(quotients) < 10**_PRODUCT_DIGITS:
        return
    for quotient in quotients[(np.abs(quotients) >= 10**_PRODUCT_DIGITS).astype(np.bool_)]:
        if len(str(abs(quotient)).rstrip("0")) > _PRODUCT_DIGITS:
            raise RowError(
                f"[ARITHMETIC_OVERFLOW] the integral quotient of two decimals, {quotient}, has too many digits"
            )


_OPERATIONS: dict[str, Callable[[Sequence[Vector], Sequence[int], int], tuple[Vector, int]]] = {
    "Add": _add,
    "Subtract": _subtract,
    "Multiply": _multiply,
    "Divide": _divide,
    "Remainder": _remainder,
    "Pmod": _pmod,
}


def _integral_divide(call: Call, integers: Sequence[Vector], args: Sequence[pa.Array], rows: Mask) -> pa.Array:
    left, right = (arg.type for arg in args)
    dividends, divisors, _ = _aligned(integers, [left.scale, right.scale])
    quotients, _ = truncated(*room_for(max(largest(dividends), largest(divisors)) * 2, dividends, divisors))
    _require_quotient(quotients)
    precision = min(38, max(1, left.precision - left.scale + right.scale))
    rows = rows & _fitting(call, quotients, precision, rows)
    if quotients.dtype == object:
        # Spark's conversion to long keeps the low 64 bits.
        quotients = (np.where(rows, quotients, 0) & ((1 << 64) - 1)).astype(np.uint64).view(np.int64)
    return column(quotients, pa.int64(), rows)


def _negated(values: Vector, kind: pa.DataType, negative_only: bool) -> Vector:
    if largest(values) >= 10**_NEGATION_DIGITS:
        chosen = (np.abs(values) >= 10**_NEGATION_DIGITS) & ((values < 0) | (not negative_only))
        values = values.copy()
        values[chosen.astype(np.bool_)] = [_half_even(v, kind) for v in values[chosen.astype(np.bool_)]]
    return np.abs(values) if negative_only else -values


def _half_even(value: int, kind: pa.DataType) -> int:
    rounded = int(Context(prec=_NEGATION_DIGITS, rounding=ROUND_HALF_EVEN).create_decimal(Decimal(value)))
    if abs(rounded) >= 10**kind.precision:
        raise RowError(f"[NUMERIC_VALUE_OUT_OF_RANGE] minus {value} (scale {kind.scale}) does not fit {kind}")
    return rounded


@evaluates("UnscaledValue")
def _unscaled_value(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return column(unscaled(args[0]).astype(np.int64), pa.int64(), valid(args[0]))


@evaluates("MakeDecimal")
def _make_decimal(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    assert isinstance(call.type, T.DecimalType)
    return _result(call, numbers(args[0]), call.type.scale, valid(args[0]))
