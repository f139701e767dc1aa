"""Casts to and from decimals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.types import arrow_type
from headway.kernels.expressions.cast_rules import CAST_OVERFLOW, OUT_OF_RANGE, Cast, CastFunction, Casting
from headway.kernels.expressions.decimals import fits, narrow, rescaled, shortest, unscaled_words, wide
from headway.kernels.expressions.vectors import Mask, column, valid
from headway.kernels.zones import SECOND


def fitted(values: pa.Array, casting: Casting, also_bad: Mask | None = None) -> Cast:
    """256-bit decimals of the target's scale in the target's precision."""
    target = arrow_type(casting.target)
    good = fits(values, target.precision)
    if also_bad is not None:
        good &= ~also_bad
    bad = ~good if also_bad is not None else ~good & valid(values)
    return Cast(narrow(values, target, good), bad, OUT_OF_RANGE)


def _decimal_to_decimal(source: pa.Array, casting: Casting) -> Cast:
    return fitted(wide(source, arrow_type(casting.target).scale), casting)


def _integral_to_decimal(source: pa.Array, casting: Casting) -> Cast:
    whole = pc.cast(pc.cast(source, pa.int64()), pa.decimal128(19, 0))
    return fitted(wide(whole, arrow_type(casting.target).scale), casting)


def _boolean_to_decimal(source: pa.Array, casting: Casting) -> Cast:
    return _integral_to_decimal(pc.cast(source, pa.int64()), casting)


def _fractional_to_decimal(source: pa.Array, casting: Casting) -> Cast:
    """NaN and infinities are null in any mode."""
    values, too_large = shortest(pc.cast(source, pa.float64())).decimals(arrow_type(casting.target).scale)
    result = fitted(values, casting)
    assert result.bad is not None
    return Cast(result.values, result.bad | too_large, OUT_OF_RANGE)


def _timestamp_to_decimal(source: pa.Array, casting: Casting) -> Cast:
    micros = pc.cast(source.view(pa.int64()), pa.decimal128(19, 0))
    return fitted(wide(rescaled(micros, 6), arrow_type(casting.target).scale), casting)


def _truncated(source: pa.Array) -> pa.Array:
    return pc.cast(source, pa.decimal128(38, 0), safe=False)


def _decimal_to_integral(source: pa.Array, casting: Casting) -> Cast:
    """Toward zero; outside ANSI mode the low bits are what remains of a number that does not fit."""
    high, low = unscaled_words(_truncated(source))
    kind = np.dtype(arrow_type(casting.target).to_pandas_dtype())
    small = low.astype(kind)
    bad = (high != low >> 63) | (small != low) if casting.ansi else None
    return Cast(column(small, arrow_type(casting.target), valid(source)), bad, CAST_OVERFLOW)


def _decimal_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    micros = pc.multiply(pc.cast(source, pa.decimal256(60, source.type.scale)), pa.scalar(SECOND, pa.decimal256(7, 0)))
    whole = pc.cast(micros, pa.decimal256(76, 0), safe=False)
    words = (
        np.frombuffer(whole.buffers()[1], np.int64, len(source) * 4, whole.offset * 32) if len(source) else np.zeros(0)
    )
    low = words.reshape(-1, 4)[:, 0].astype(np.int64)
    return Cast(column(low, arrow_type(casting.target), valid(source)))


def _decimal_to_fractional(source: pa.Array, casting: Casting) -> Cast:
    """By way of text, since Arrow's own conversion is not exact to the last bit."""
    return Cast(pc.cast(pc.cast(source, pa.string()), arrow_type(casting.target)))


def _decimal_to_boolean(source: pa.Array, casting: Casting) -> Cast:
    high, low = unscaled_words(source)
    return Cast(column((high != 0) | (low != 0), pa.bool_(), valid(source)))


FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    ("decimal", "decimal"): _decimal_to_decimal,
    ("integral", "decimal"): _integral_to_decimal,
    ("boolean", "decimal"): _boolean_to_decimal,
    ("fractional", "decimal"): _fractional_to_decimal,
    ("timestamp", "decimal"): _timestamp_to_decimal,
    ("decimal", "integral"): _decimal_to_integral,
    ("decimal", "timestamp"): _decimal_to_timestamp,
    ("decimal", "fractional"): _decimal_to_fractional,
    ("decimal", "boolean"): _decimal_to_boolean,
}
