"""Exact decimals over whole columns: rescaling, unscaled integers, and the shortest digits of floating point numbers.

A decimal that may not fit its type yet is held in 256 bits, as `decimal256(76, scale)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.expressions.vectors import Mask, Vector, flags

WIDEST = 76
_SHORTEST = r"^(?P<sign>-?)(?P<whole>\d+)(?:\.(?P<fraction>\d+))?(?:e(?P<exponent>[+-]?\d+))?$"


def wide(array: pa.Array, scale: int, mode: str = "half_towards_infinity") -> pa.Array:
    """`array` (a decimal) with `scale` digits after the point, rounded half up or by another mode, in 256 bits."""
    source_scale = array.type.scale
    values = pc.cast(array, pa.decimal256(WIDEST, source_scale))
    if scale < source_scale:
        values = pc.round(values, ndigits=scale, round_mode=mode)
    return pc.cast(values, pa.decimal256(WIDEST, scale), safe=False)


def fits(array: pa.Array, precision: int) -> Mask:
    """Which rows of a 256-bit decimal column have at most `precision` digits; false where null."""
    bound = pa.scalar(Decimal(1).scaleb(precision - array.type.scale, Context(prec=WIDEST)), array.type)
    return flags(pc.less(pc.abs(array), bound))


def narrow(array: pa.Array, kind: pa.DataType, rows: Mask) -> pa.Array:
    """A 256-bit decimal column in `kind` of the same scale, null outside `rows`, all of which must fit."""
    kept = pc.if_else(pa.array(rows), array, pa.scalar(None, array.type))
    return pc.cast(kept, kind)


def unscaled_words(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The high and low 64 bits of a 128-bit decimal column's unscaled integers; anything where null."""
    if len(array) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    words = np.frombuffer(array.buffers()[1], np.int64, len(array) * 2, array.offset * 16).reshape(-1, 2)
    return words[:, 1], words[:, 0]


def rescaled(array: pa.Array, scale: int) -> pa.Array:
    """The same unscaled integers read with another scale."""
    kind = pa.decimal256(WIDEST, scale) if pa.types.is_decimal256(array.type) else pa.decimal128(38, scale)
    return pa.Array.from_buffers(kind, len(array), array.buffers(), array.null_count, array.offset)


@dataclass(frozen=True)
class Digits:
    """Numbers written out: `signed` digits (text without point) times ten to the power of `exponents`."""

    signed: pa.Array
    exponents: Vector

    def decimals(self, scale: int) -> tuple[pa.Array, Mask]:
        """The numbers at `scale`, rounded half up, in 256 bits; and which of them are too large for that."""
        pieces: list[pa.Array] = []
        positions: list[Vector] = []
        too_large = np.zeros(len(self.signed), np.bool_)
        lengths = pc.fill_null(pc.utf8_length(self.signed), 0).to_numpy()
        for exponent in np.unique(self.exponents).tolist():
            rows = np.flatnonzero(self.exponents == exponent)
            ordinary = lengths[rows] + max(exponent, 0) + scale < WIDEST
            if exponent < -WIDEST // 2:
                ordinary[:] = False
            for part, convert in ((rows[ordinary], _at_exponent), (rows[~ordinary], _one_by_one)):
                if len(part):
                    values = convert(self.signed.take(pa.array(part)), exponent, scale)
                    too_large[part] = flags(pc.is_null(values)) & flags(pc.is_valid(self.signed.take(pa.array(part))))
                    pieces.append(values)
                    positions.append(part)
        if not pieces:
            return pa.nulls(0, pa.decimal256(WIDEST, scale)), too_large
        order = np.argsort(np.concatenate(positions))
        return pa.concat_arrays(pieces).take(pa.array(order)), too_large


def _at_exponent(signed: pa.Array, exponent: int, scale: int) -> pa.Array:
    """Digits that all have the same exponent, and are few enough for 256 bits."""
    if exponent > 0:
        signed = pc.binary_join_element_wise(signed, "0" * exponent, "")
    whole = pc.cast(signed, pa.decimal256(WIDEST, 0))
    return wide(rescaled(whole, max(-exponent, 0)), scale)


def _one_by_one(signed: pa.Array, exponent: int, scale: int) -> pa.Array:
    """The same for absurdly long numbers, which are null where they do not fit even then."""
    context = Context(prec=10_000, Emax=999_999_999, Emin=-999_999_999)
    values: list[Decimal | None] = []
    for text in signed.to_pylist():
        number = None if text is None else Decimal(text).scaleb(exponent, context)
        if number is None or (number.adjusted() + scale >= WIDEST - 1 and number != 0):
            values.append(None)
        else:
            values.append(number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, context))
    return pa.array(values, pa.decimal256(WIDEST, scale))


def shortest(array: pa.Array) -> Digits:
    """The shortest digits that tell every finite float or double from its neighbours; null where it is not finite."""
    parts = pc.extract_regex(pc.cast(array, pa.string()), _SHORTEST)
    sign, whole, fraction, exponent = (pc.struct_field(parts, i) for i in range(4))
    digits = pc.binary_join_element_wise(whole, fraction, "")
    shift = pc.utf8_length(fraction)
    given = pc.cast(pc.if_else(pc.equal(exponent, ""), "0", pc.utf8_ltrim(exponent, "+")), pa.int32())
    exponents = pc.fill_null(pc.subtract(given, shift), 0).to_numpy()
    stripped = pc.utf8_ltrim(digits, "0")
    stripped = pc.if_else(pc.equal(stripped, ""), "0", stripped)
    return Digits(pc.binary_join_element_wise(sign, stripped, ""), exponents)
