"""Arithmetic with intervals: whole numbers of microseconds or of months, exact or an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import add_months
from headway.kernels.expressions.decimals import unscaled_words
from headway.kernels.expressions.registry import RowError, evaluates
from headway.kernels.expressions.time_units import plus_days, plus_months
from headway.kernels.expressions.times import result, toward_zero, zone_of
from headway.kernels.expressions.vectors import Vector, column, numbers, valid
from headway.kernels.zones import DAY

Args = Sequence[pa.Array]
_EXACT: dict[str, Callable[..., pa.Array]] = {
    "IntervalAdd": pc.add_checked,
    "IntervalSubtract": pc.subtract_checked,
    "IntervalNegate": pc.negate_checked,
    "IntervalAbs": pc.abs_checked,
}


def _overflow(call: Call) -> RowError:
    return RowError(f"[INTERVAL_ARITHMETIC_OVERFLOW] {call} does not fit {call.type.simpleString()}")


def _whole(array: pa.Array) -> pa.Array:
    return array.view(pa.int64()) if pa.types.is_duration(array.type) else array


@evaluates(*_EXACT)
def _combined(call: Call, args: Args) -> pa.Array:
    try:
        return _EXACT[call.function](*map(_whole, args)).view(arrow_type(call.type))
    except pa.ArrowInvalid as error:
        raise _overflow(call) from error


@evaluates("IntervalMultiply", "IntervalDivide")
def _scaled(call: Call, args: Args) -> pa.Array:
    """Exact fractions: there are few intervals that are not constants."""
    kind = arrow_type(call.type)
    bits = 64 if pa.types.is_duration(kind) else 32
    rows = zip(_whole(args[0]).to_pylist(), args[1].to_pylist(), strict=True)
    return _array([None if None in row else _product(call, *row, bits) for row in rows], kind)


def _product(call: Call, amount: int, number: Any, bits: int) -> int:
    if call.function == "IntervalDivide" and number == 0:
        raise RowError(f"[INTERVAL_DIVIDED_BY_ZERO] {call} divides by zero; try_divide gives null instead")
    if isinstance(number, float):
        # As Java computes: in doubles, then rounded.
        with np.errstate(all="ignore"):
            exact = np.float64(amount) * number if call.function == "IntervalMultiply" else np.float64(amount) / number
        if not np.isfinite(exact):
            raise _overflow(call)
        value = Fraction(float(exact))
    else:
        value = amount * Fraction(number) if call.function == "IntervalMultiply" else amount / Fraction(number)
    rounded = int((abs(value) + Fraction(1, 2)).__floor__()) * (1 if value >= 0 else -1)
    if not -(1 << bits - 1) <= rounded < 1 << bits - 1:
        raise _overflow(call)
    return rounded


def _array(values: list[int | None], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int64()).view(kind) if pa.types.is_duration(kind) else pa.array(values, kind)


@evaluates("IntervalPart")
def _part(call: Call, args: Args) -> pa.Array:
    values = toward_zero(numbers(args[0]).astype(np.int64), call.option("unit"))
    if call.option("of") is not None:
        values = np.fmod(values, call.option("of"))
    kind = arrow_type(call.type)
    if not pa.types.is_decimal(kind):
        return result(call, values, *args)
    texts = [Decimal(int(value)).scaleb(-6).quantize(Decimal("0.000001"), ROUND_HALF_UP) for value in values]
    return pa.array(texts, kind, mask=~valid(*args))


@evaluates("MakeDTInterval")
def _make_day_time(call: Call, args: Args) -> pa.Array:
    days, hours, minutes = (numbers(arg).astype(object) for arg in args[:3])
    _, micros = unscaled_words(args[3])
    total = ((days * 24 + hours) * 60 + minutes) * 60_000_000 + micros.astype(object)
    return _exact(call, total, 64, args)


@evaluates("MakeYMInterval")
def _make_year_month(call: Call, args: Args) -> pa.Array:
    years, months = (numbers(arg).astype(object) for arg in args)
    return _exact(call, years * 12 + months, 32, args)


def _exact(call: Call, values: Vector, bits: int, args: Args) -> pa.Array:
    rows = valid(*args)
    if any(not -(1 << bits - 1) <= value < 1 << bits - 1 for value in values[rows]):
        raise _overflow(call)
    return column(np.where(rows, values, 0).astype(np.int64 if bits == 64 else np.int32), arrow_type(call.type), rows)


@evaluates("SubtractTimestamps")
def _between_times(call: Call, args: Args) -> pa.Array:
    end, start = (zone_of(call, array).local(numbers(array)) for array in args)
    return column(end - start, arrow_type(call.type), valid(*args))


@evaluates("SubtractDates")
def _between_dates(call: Call, args: Args) -> pa.Array:
    days = numbers(args[0]).astype(np.int64) - numbers(args[1])
    return column(days * DAY, arrow_type(call.type), valid(*args))


@evaluates("TimestampPlusInterval")
def _plus_interval(call: Call, args: Args) -> pa.Array:
    micros = numbers(args[1])
    days = toward_zero(micros, DAY)
    return result(call, plus_days(zone_of(call, args[0]), numbers(args[0]), days) + (micros - days * DAY), *args)


@evaluates("TimestampPlusMonths")
def _plus_months(call: Call, args: Args) -> pa.Array:
    months = numbers(args[1]).astype(np.int64)
    return result(call, plus_months(zone_of(call, args[0]), numbers(args[0]), months), *args)


@evaluates("DatePlusMonths")
def _date_plus_months(call: Call, args: Args) -> pa.Array:
    return result(call, add_months(numbers(args[0]), numbers(args[1]).astype(np.int64)), *args)
