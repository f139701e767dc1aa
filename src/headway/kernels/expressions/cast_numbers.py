"""Casts among booleans, integers, floating point numbers, and timestamps as numbers of seconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headway.dataflow.types import arrow_type
from headway.kernels.expressions.cast_rules import CAST_OVERFLOW, INVALID_INPUT, Cast, CastFunction, Casting
from headway.kernels.expressions.vectors import Mask, Vector, column, numbers, only, valid
from headway.kernels.zones import SECOND

_LONG = np.iinfo(np.int64)


def saturated(values: Vector, kind: type[np.signedinteger] = np.int64) -> Vector:
    """Floating point numbers as integers as Java converts them: toward zero, NaN to 0, the far away to the bounds."""
    bounds = np.iinfo(kind)
    with np.errstate(invalid="ignore"):
        whole = np.trunc(values.astype(np.float64))
        inside = np.where((whole > bounds.min) & (whole < bounds.max), whole, 0).astype(kind)
    low = np.where(whole <= bounds.min, kind(bounds.min), inside)
    return np.where(whole >= bounds.max, kind(bounds.max), low)


def within(values: Vector, kind: np.dtype[np.signedinteger]) -> Mask:
    """Which floating point numbers have an integral part that `kind` holds; its bounds are rounded as in Java."""
    bounds = np.iinfo(kind)
    high, low = np.float64(bounds.max), np.float64(bounds.min)
    with np.errstate(invalid="ignore"):
        return (np.floor(values) <= high) & (np.ceil(values) >= low)


def _target(casting: Casting) -> pa.DataType:
    return arrow_type(casting.target)


def _numpy(casting: Casting) -> np.dtype[np.signedinteger]:
    kind: np.dtype[np.signedinteger] = np.dtype(_target(casting).to_pandas_dtype())
    return kind


def _same_rows(values: Vector, source: pa.Array, casting: Casting) -> pa.Array:
    return column(values, _target(casting), valid(source))


def _narrow(values: Vector, source: pa.Array, casting: Casting, wraps: bool) -> Cast:
    """int64 values in the target's width; those that do not fit are bad, or wrap around outside ANSI mode."""
    narrow = values.astype(_numpy(casting))
    bad = None if wraps and not casting.ansi else narrow.astype(np.int64) != values
    return Cast(_same_rows(narrow, source, casting), bad, CAST_OVERFLOW)


def _integral_to_integral(source: pa.Array, casting: Casting) -> Cast:
    return _narrow(numbers(source).astype(np.int64), source, casting, wraps=True)


def _fractional_to_integral(source: pa.Array, casting: Casting) -> Cast:
    values, kind = numbers(source), _numpy(casting)
    # Java converts to bytes and shorts by way of an int, which is where NaN and the far away end.
    middle = np.int64 if kind == np.int64 else np.int32
    narrow = saturated(values, middle).astype(kind)
    bad = ~within(values, kind) if casting.ansi else None
    return Cast(_same_rows(narrow, source, casting), bad, CAST_OVERFLOW)


def _to_fractional(source: pa.Array, casting: Casting) -> Cast:
    with np.errstate(over="ignore"):
        return Cast(_same_rows(numbers(source).astype(_numpy(casting)), source, casting))


def _to_boolean(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_same_rows(numbers(source) != 0, source, casting))


def _from_boolean(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_same_rows(numbers(source).astype(_numpy(casting)), source, casting))


def _timestamp_to_integral(source: pa.Array, casting: Casting) -> Cast:
    return _narrow(numbers(source) // SECOND, source, casting, wraps=False)


def _timestamp_to_fractional(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_same_rows((numbers(source) / float(SECOND)).astype(_numpy(casting)), source, casting))


def _integral_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    seconds = numbers(source).astype(np.int64)
    most = _LONG.max // SECOND
    with np.errstate(over="ignore"):
        micros = seconds * SECOND
    micros = np.where(seconds > most, _LONG.max, np.where(seconds < -most, _LONG.min, micros))
    return Cast(_same_rows(micros, source, casting))


def _fractional_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    values = numbers(source).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        micros = values * SECOND
    odd = ~np.isfinite(values)
    bad = odd if not casting.ansi else odd | ~within(micros, np.dtype(np.int64))
    error = INVALID_INPUT if bool((odd & valid(source)).any()) else CAST_OVERFLOW
    return Cast(_same_rows(saturated(micros), source, casting), bad, error)


def _boolean_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    return Cast(_same_rows(numbers(source).astype(np.int64), source, casting))


def _to_binary(source: pa.Array, casting: Casting) -> Cast:
    width = source.type.bit_width // 8
    big_endian = numbers(source).astype(f">i{width}").tobytes()
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(source), [None, pa.py_buffer(big_endian)])
    return Cast(only(fixed.cast(pa.binary()), valid(source)))


def _date_to_nothing(source: pa.Array, casting: Casting) -> Cast:
    return Cast(pa.nulls(len(source), _target(casting)))


FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    ("integral", "integral"): _integral_to_integral,
    ("integral", "fractional"): _to_fractional,
    ("integral", "boolean"): _to_boolean,
    ("integral", "timestamp"): _integral_to_timestamp,
    ("integral", "binary"): _to_binary,
    ("fractional", "integral"): _fractional_to_integral,
    ("fractional", "fractional"): _to_fractional,
    ("fractional", "boolean"): _to_boolean,
    ("fractional", "timestamp"): _fractional_to_timestamp,
    ("boolean", "integral"): _from_boolean,
    ("boolean", "fractional"): _from_boolean,
    ("boolean", "timestamp"): _boolean_to_timestamp,
    ("timestamp", "integral"): _timestamp_to_integral,
    ("timestamp", "fractional"): _timestamp_to_fractional,
    ("timestamp", "boolean"): _to_boolean,
    ("date", "integral"): _date_to_nothing,
    ("date", "fractional"): _date_to_nothing,
    ("date", "decimal"): _date_to_nothing,
    ("date", "boolean"): _date_to_nothing,
}
