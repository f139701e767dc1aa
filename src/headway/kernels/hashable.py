"""Columns as Spark's hash functions see them: 4-byte words, 8-byte words, or runs of bytes.

1. Booleans, bytes, shorts, ints, dates and floats are 4-byte words; longs, timestamps, doubles and decimals of at most
   18 digits are 8-byte words; strings, binaries and wider decimals are bytes (a decimal's are its unscaled value,
   big-endian, as short as two's complement allows).
2. Negative zero is zero and every NaN is the same NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import UnsupportedPlan
from headway.kernels.lists import lists_of

_WIDEST_LONG_DECIMAL = 18


@dataclass(frozen=True)
class Words:
    """A fixed-width column: uint32 or uint64 words; what stands at null rows means nothing."""

    values: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Bytes:
    """A variable-width column: row i is `data[starts[i] : starts[i] + lengths[i]]`; `data` ends in 8 spare bytes."""

    data: npt.NDArray[np.uint8]
    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]

    def words(self, at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.uint64]:
        """The little-endian words of `width` bytes at the positions `at` of `data`."""
        count = len(self.data) - width + 1
        overlapping = np.ndarray((count,), dtype=f"<u{width}", buffer=self.data, strides=(1,))
        return overlapping[at].astype(np.uint64)


def hashable(array: pa.Array) -> Words | Bytes:
    """`array`, which is neither a struct nor of nulls only, as the hash functions take it."""
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _variable(array)
    if pa.types.is_decimal128(kind):
        return _decimal(array)
    if pa.types.is_floating(kind):
        return Words(_float_bits(array))
    if pa.types.is_boolean(kind):
        return Words(pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.uint32))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or kind == pa.int64():
        return Words(_integers(array.view(pa.int64())).view(np.uint64))
    if pa.types.is_date32(kind):
        return Words(_integers(array.view(pa.int32())).view(np.uint32))
    if pa.types.is_signed_integer(kind):
        return Words(_integers(array).astype(np.int32).view(np.uint32))
    raise UnsupportedPlan(f"hash of {kind}")


def hash_lists(
    array: pa.Array, seeds: npt.NDArray[Any], hash_values: Callable[..., npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """`seeds` with the elements of each row hashed into them, one after the other, by `hash_values(column, seeds)`."""
    found = lists_of(array)
    seeds = seeds.copy()
    for place in range(int(found.lengths.max(initial=0))):
        rows = np.flatnonzero(found.lengths > place)
        seeds[rows] = hash_values(found.values.take(pa.array(found.starts[rows] + place)), seeds[rows])
    return seeds


def _integers(array: pa.Array) -> npt.NDArray[np.signedinteger]:
    numbers: npt.NDArray[np.signedinteger] = (pc.fill_null(array, 0) if array.null_count else array).to_numpy()
    return numbers


def _float_bits(array: pa.Array) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]:
    numbers: npt.NDArray[np.floating] = pc.fill_null(array, 0.0).to_numpy() + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint32) if numbers.dtype == np.float32 else numbers.view(np.uint64)


def _variable(array: pa.Array) -> Bytes:
    _, offset_buffer, data_buffer = array.buffers()
    if len(array) == 0:
        return Bytes(np.zeros(8, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))
    offsets = np.frombuffer(offset_buffer, np.int32, len(array) + 1, array.offset * 4).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + 8, np.uint8)
    if last > first:
        data[:-8] = np.frombuffer(data_buffer, np.uint8, last - first, first)
    return Bytes(data, offsets[:-1] - first, np.diff(offsets))


def _decimal(array: pa.Array) -> Words | Bytes:
    raw = np.frombuffer(array.buffers()[1], np.uint8, len(array) * 16, array.offset * 16).reshape(-1, 16)
    if array.type.precision <= _WIDEST_LONG_DECIMAL:
        return Words(np.ascontiguousarray(raw[:, :8]).view(np.uint64).reshape(-1))
    big_endian = raw[:, ::-1]
    fill = np.where(big_endian[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
    significant = big_endian ^ fill
    first = np.argmax(significant != 0, axis=1)
    first[~significant.any(axis=1)] = 15
    # One more byte where the sign bit would otherwise be wrong; byte 0 never needs it.
    first -= significant[np.arange(len(first)), first] >= 0x80
    data = np.concatenate([big_endian.reshape(-1), np.zeros(8, np.uint8)])
    return Bytes(data, np.arange(len(array), dtype=np.int64) * 16 + first, 16 - first)
