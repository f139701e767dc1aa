"""Floats as Spark compares them: one zero among keys, one NaN, and NaN greater than all else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
_GREATEST = {4: 2**31 - 1, 8: 2**63 - 1}
_FLOATS = {bits: floats for floats, bits in BITS.items()}


def normal_bits(array: pa.Array) -> pa.Array:
    """Integers that are equal where Spark takes the floats for equal keys."""
    positive = pc.add(array, pa.scalar(0.0, array.type))
    normal = pc.if_else(pc.is_nan(positive), pa.scalar(float("nan"), array.type), positive)
    return normal.view(BITS[array.type])


def ordered(array: pa.Array) -> pa.Array:
    """Integers in the order of the floats, NaN last; nulls stay null."""
    floats = pc.fill_null(array, 0.0).to_numpy() if array.null_count else array.to_numpy()
    positive_nan = np.where(np.isnan(floats), floats.dtype.type(np.nan), floats)
    bits = positive_nan.view(np.int32 if floats.dtype == np.float32 else np.int64)
    return _with_nulls(_flip_negatives(bits), array)


def unordered(array: pa.Array) -> pa.Array:
    """The floats of which `ordered` made the integers `array`."""
    integers = pc.fill_null(array, 0).to_numpy() if array.null_count else array.to_numpy()
    return _with_nulls(_flip_negatives(integers), array).view(_FLOATS[array.type])


def _flip_negatives(bits: npt.NDArray[np.signedinteger]) -> npt.NDArray[np.signedinteger]:
    """Negative floats' bits count down where floats count up; applied twice it is undone."""
    flipped: npt.NDArray[np.signedinteger] = np.where(bits < 0, bits ^ _GREATEST[bits.itemsize], bits)
    return flipped


def _with_nulls(values: npt.NDArray[np.signedinteger], like: pa.Array) -> pa.Array:
    mask = like.is_null().to_numpy(zero_copy_only=False) if like.null_count else None
    return pa.array(values, mask=mask)
