"""HyperLogLog++ as Spark computes it, over many groups at once.

1. A value's hash is Spark's xxhash64; its first p bits choose a register, the leading zeros of the rest, plus one, are
   its rank; a register keeps the highest rank, and 0 means that no value came.
2. Registers of a group are m = 2^p bytes, those of several groups the rows of a matrix.
3. The estimate is linear counting below a threshold of p, else the raw estimate less its bias, which is the mean of the
   biases at the six nearest points of a table. Table and thresholds are Spark's and come with the call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.xxhash import xxhash64

Registers = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]
_NEIGHBOURS = 6
_RANK_BITS = 6
_RANK_MASK = (1 << _RANK_BITS) - 1
_LAST_PRECISION_WITH_BIAS = 18
_ALPHA = {4: 0.673, 5: 0.697, 6: 0.709}


def observations(values: pa.Array, p: int) -> pa.Array:
    """Every value as register and rank in one int32 (register << 6 | rank), null for null."""
    hashes = xxhash64(values).view(np.uint64)
    register = (hashes >> np.uint64(64 - p)).astype(np.int32)
    rest = (hashes << np.uint64(p)) | np.uint64(1 << (p - 1))
    packed = (register << _RANK_BITS) | (_leading_zeros(rest) + 1)
    mask = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    return pa.array(packed, pa.int32(), mask=mask)


def _leading_zeros(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """Of 64-bit words other than zero, in halves of 32 bits, which a double holds exactly."""
    high = (words >> np.uint64(32)).astype(np.uint32)
    half = np.where(high > 0, high, words.astype(np.uint32)).astype(np.float64)
    _, exponent = np.frexp(half)
    zeros: npt.NDArray[np.int32] = np.where(high > 0, 32, 64) - exponent
    return zeros.astype(np.int32)


def merge_observations(
    packed: pa.Array, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], p: int
) -> pa.Array:
    """The registers of every group g, whose observations are packed[rows[offsets[g] : offsets[g + 1]]]."""
    count = len(offsets) - 1
    groups = np.empty(len(packed), np.int64)
    groups[rows] = np.repeat(np.arange(count), np.diff(offsets))
    valid = packed.is_valid().to_numpy(zero_copy_only=False)
    seen, groups = packed.drop_null().to_numpy(), groups[valid]
    registers = np.zeros(count << p, np.uint8)
    np.maximum.at(registers, (groups << p) + (seen >> _RANK_BITS), (seen & _RANK_MASK).astype(np.uint8))
    return to_array(registers.reshape(count, 1 << p))


def merge_registers(column: pa.Array, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], p: int) -> pa.Array:
    """The registers of every group g, merged from those in column[rows[offsets[g] : offsets[g + 1]]]."""
    return to_array(np.maximum.reduceat(from_array(column, p)[rows], offsets[:-1], axis=0))


def to_array(registers: Registers) -> pa.Array:
    """One binary value per group, null where no value came."""
    count, m = registers.shape
    fixed = pa.Array.from_buffers(pa.binary(m), count, [None, pa.py_buffer(np.ascontiguousarray(registers))])
    present = registers.any(axis=1)
    column = fixed.cast(pa.binary())
    return column if present.all() else pc.if_else(pa.array(present), column, None)


def from_array(column: pa.Array, p: int) -> Registers:
    """The matrix again; a null is a row of zeros."""
    registers = np.zeros((len(column), 1 << p), np.uint8)
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    present = column.drop_null()
    if len(present):
        offsets = np.frombuffer(present.buffers()[1], np.int32, len(present) + 1, present.offset * 4)
        data = np.frombuffer(present.buffers()[2], np.uint8, int(offsets[-1] - offsets[0]), int(offsets[0]))
        registers[valid] = data.reshape(len(present), 1 << p)
    return registers


def estimates(registers: Registers, thresholds: Sequence[float], raw: Floats, bias: Floats) -> npt.NDArray[np.int64]:
    """The estimated number of distinct values of every group."""
    m = registers.shape[1]
    p = m.bit_length() - 1
    alpha = _ALPHA.get(p, 0.7213 / (1.0 + 1.079 / m))
    estimate = alpha * m * m / np.ldexp(1.0, -registers.astype(np.int32)).sum(axis=1)
    zeros = np.count_nonzero(registers == 0, axis=1).astype(np.float64)
    linear = m * np.log(m / np.maximum(zeros, 1.0))
    small = estimate <= 2.5 * m
    if p <= _LAST_PRECISION_WITH_BIAS:
        small |= linear <= thresholds[p - 4]
        estimate = np.where(estimate < 5.0 * m, estimate - _bias(estimate, raw, bias), estimate)
    rounded: npt.NDArray[np.int64] = np.floor(np.where((zeros > 0) & small, linear, estimate) + 0.5).astype(np.int64)
    return rounded


def _bias(estimate: Floats, raw: Floats, bias: Floats) -> Floats:
    """The mean bias of the six points of `raw` nearest to each estimate."""
    low = np.maximum(_insertion_points(raw, estimate) - _NEIGHBOURS + 1, 0)
    high = np.minimum(low + _NEIGHBOURS, len(raw))
    while True:
        after = raw[np.minimum(high, len(raw) - 1)]
        nearer = (high < len(raw)) & ((estimate - after) ** 2 < (estimate - raw[low]) ** 2)
        if not nearer.any():
            break
        low, high = low + nearer, high + nearer
    window = low[:, None] + np.arange(_NEIGHBOURS)
    points = np.where(window < high[:, None], bias[np.minimum(window, len(raw) - 1)], 0.0)
    means: Floats = points.sum(axis=1) / (high - low)
    return means


def _insertion_points(table: Floats, values: Floats) -> npt.NDArray[np.int64]:
    """Binary search step by step as Java does it: the tables are not quite sorted, so another order finds others."""
    low = np.zeros(len(values), np.int64)
    high = np.full(len(values), len(table) - 1)
    while (active := low <= high).any():
        middle = (low + high) >> 1
        found = table[np.clip(middle, 0, len(table) - 1)]
        low = np.where(active & (found < values), middle + 1, np.where(active & (found == values), middle, low))
        high = np.where(active & (found > values), middle - 1, np.where(active & (found == values), middle - 1, high))
    return low
