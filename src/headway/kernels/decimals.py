"""Sums of decimals that overflow as Spark's do: an error in ANSI mode, else null whatever comes later.

1. A sum has 38 digits at most. Where the argument has 28 or fewer, no stream is long enough to overflow that; where it
   has more, the sum is held in 76 digits.
2. Not in ANSI mode, a sum that had more than 38 digits is marked: outside, where there are only 128 bits, as the
   greatest number they hold, which has too many digits for the type; inside as 10^60, from which no sum comes back.
"""

from __future__ import annotations

from decimal import Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.expressions.registry import RowError

_DIGITS = 38
_SAFE_ARGUMENT = 28
_WIDE = 76
_HOPELESS = 60
_OVERFLOWN = b"\xff" * 15 + b"\x7f"


class DecimalTotal:
    """The sum of decimals of type `argument`; `held` is the type it has inside."""

    def __init__(self, argument: pa.DataType, ansi: bool, function: str) -> None:
        self.ansi = ansi
        self.function = function
        self.outside = pa.decimal128(_DIGITS, argument.scale)
        self.wide = argument.precision > _SAFE_ARGUMENT
        self.held = pa.decimal256(_WIDE, argument.scale) if self.wide else self.outside

    def encode(self, state: pa.Array) -> pa.Array:
        if not self.wide:
            return state
        held = state.cast(self.held)
        if self.ansi:
            return held
        hopeless = pa.scalar(power_of_ten(_HOPELESS - self.held.scale), self.held)
        return pc.if_else(fits(held, self.outside), held, hopeless)

    def decode(self, held: pa.Array) -> pa.Array:
        if not self.wide:
            return held
        try:
            return held.cast(self.outside)
        except pa.ArrowInvalid:
            if self.ansi:
                raise self._error(self.outside) from None
        ok = fits(held, self.outside)
        kept = pc.if_else(ok, held, None).cast(self.outside)
        return pc.if_else(pc.fill_null(ok, True), kept, self._mark())

    def bounded(self, values: pa.Array, target: pa.DataType) -> pa.Array:
        """`values` as `target`, an error or null where they have too many digits for it."""
        try:
            return values.cast(target)
        except pa.ArrowInvalid:
            if self.ansi:
                raise self._error(target) from None
        return pc.if_else(fits(values, target), values, None).cast(target)

    def _error(self, target: pa.DataType) -> RowError:
        name = "ARITHMETIC_OVERFLOW" if target.scale == self.held.scale else "NUMERIC_VALUE_OUT_OF_RANGE"
        return RowError(
            f"[{name}] {self.function} of decimals does not fit decimal({target.precision},{target.scale}). "
            f"Use 'try_{self.function}' to get null instead."
        )

    def _mark(self) -> pa.Scalar:
        return pa.Array.from_buffers(self.outside, 1, [None, pa.py_buffer(_OVERFLOWN)])[0]


def fits(values: pa.Array, target: pa.DataType) -> pa.Array:
    """Whether each value has no more digits before the point than `target` has room for."""
    bound = pa.scalar(power_of_ten(target.precision - target.scale), pa.decimal256(_WIDE, values.type.scale))
    return pc.less(pc.abs(values), bound)


def power_of_ten(exponent: int) -> Decimal:
    return Decimal(1).scaleb(exponent, Context(prec=_WIDE + 1))
