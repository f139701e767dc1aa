"""Spark's `xxhash64`, exact, over whole columns.

1. A null leaves the hash at its seed; several columns are hashed one into the next, the hash so far as the seed.
2. A struct is hashed as its fields, in order; an array as its elements.
3. Words are hashed by machine code: the buckets of a few keys are asked for whenever a window ends, and numpy's calls
   for every step of the hash would take longer than all else that is done with them then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba.extending import register_jitable

from headway.kernels.hashable import Bytes, hash_lists, hashable

Hashes = npt.NDArray[np.uint64]

_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_ZERO = np.uint64(0)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _step(function: _Function) -> _Function:
    """In machine code it is of numbers, else of whole columns."""
    made: _Function = register_jitable(function)
    return made


def _signature(word: numba.types.Type) -> numba.core.typing.Signature:
    """Given, so that it is compiled when it is imported, and not while rows wait."""
    columns = [numba.types.Array(each, 1, "C", readonly=True) for each in (word, numba.uint64)]
    return numba.uint64[::1](*columns)


def xxhash64(array: pa.Array, seed: int | npt.NDArray[np.int64] = 42) -> npt.NDArray[np.int64]:
    """The hash of every row, as Spark's function of the same name gives it; null rows keep the seed.

    >>> xxhash64(pa.array([None, "Spark"])).tolist()
    [42, -4294468057691064905]
    """
    seeds = np.ascontiguousarray(np.broadcast_to(np.asarray(seed, np.int64), len(array))).view(np.uint64)
    return hash_column(array, seeds).view(np.int64)


def hash_column(array: pa.Array, seeds: Hashes) -> Hashes:
    """`seeds` with the rows of `array` hashed into them."""
    if pa.types.is_null(array.type):
        return seeds
    if pa.types.is_struct(array.type):
        for field in array.flatten():
            seeds = hash_column(field, seeds)
        return seeds
    if pa.types.is_list(array.type) or pa.types.is_map(array.type):
        return hash_lists(array, seeds, hash_column)
    column = hashable(array)
    with np.errstate(over="ignore"):
        if isinstance(column, Bytes):
            hashed = _hash_bytes(column, seeds)
        else:
            hashed = (_hash_ints if column.values.itemsize == 4 else _hash_longs)(column.values, seeds)
    if array.null_count == 0:
        return hashed
    return np.where(pc.is_valid(array).to_numpy(zero_copy_only=False), hashed, seeds)


@_step
def _rotate(x: Hashes, bits: int) -> Hashes:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@_step
def _avalanche(h: Hashes) -> Hashes:
    h = (h ^ (h >> np.uint64(33))) * _P2
    h = (h ^ (h >> np.uint64(29))) * _P3
    return h ^ (h >> np.uint64(32))


@_step
def _round(accumulator: Hashes | np.uint64, word: Hashes) -> Hashes:
    return _rotate(accumulator + word * _P2, 31) * _P1


@_step
def _mix_8(h: Hashes, word: Hashes) -> Hashes:
    return _rotate(h ^ _round(_ZERO, word), 27) * _P1 + _P4


@_step
def _mix_4(h: Hashes, word: Hashes) -> Hashes:
    return _rotate(h ^ (word * _P1), 23) * _P2 + _P3


def _mix_1(h: Hashes, byte: Hashes) -> Hashes:
    return _rotate(h ^ (byte * _P5), 11) * _P1


@_step
def hash_int(word: Any, seed: Any) -> Any:
    """The hash of a word of 4 bytes."""
    return _avalanche(_mix_4(seed + _P5 + np.uint64(4), word))


@_step
def hash_long(word: Any, seed: Any) -> Any:
    """The hash of a word of 8 bytes."""
    return _avalanche(_mix_8(seed + _P5 + np.uint64(8), word))


@numba.njit(_signature(numba.uint32), nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _hash_ints(words: npt.NDArray[np.uint32], seeds: Hashes) -> Hashes:
    hashed = np.empty_like(seeds)
    for row in range(len(words)):
        hashed[row] = hash_int(np.uint64(words[row]), seeds[row])
    return hashed


@numba.njit(_signature(numba.uint64), nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _hash_longs(words: Hashes, seeds: Hashes) -> Hashes:
    hashed = np.empty_like(seeds)
    for row in range(len(words)):
        hashed[row] = hash_long(words[row], seeds[row])
    return hashed


def _hash_bytes(column: Bytes, seeds: Hashes) -> Hashes:
    h = seeds + _P5
    long_rows = np.flatnonzero(column.lengths >= 32)
    if len(long_rows):
        h[long_rows] = _stripes(column, long_rows, seeds[long_rows])
    h += column.lengths.astype(np.uint64)
    at = column.starts + column.lengths // 32 * 32
    ends = column.starts + column.lengths
    for width, mix in ((8, _mix_8), (4, _mix_4), (1, _mix_1)):
        rows = np.flatnonzero(ends - at >= width)
        while len(rows):
            h[rows] = mix(h[rows], column.words(at[rows], width))
            at[rows] += width
            rows = rows[ends[rows] - at[rows] >= width]
    return _avalanche(h)


def _stripes(column: Bytes, rows: npt.NDArray[np.int64], seeds: Hashes) -> Hashes:
    """The hash after the whole 32-byte stripes of `rows`, all of which have at least one."""
    lanes = np.stack([seeds + _P1 + _P2, seeds + _P2, seeds, seeds - _P1])
    at = column.starts[rows].copy()
    left = column.lengths[rows] // 32
    active = np.arange(len(rows))
    while len(active):
        for lane in range(4):
            lanes[lane, active] = _round(lanes[lane, active], column.words(at[active] + 8 * lane, 8))
        at[active] += 32
        left[active] -= 1
        active = active[left[active] > 0]
    h = _rotate(lanes[0], 1) + _rotate(lanes[1], 7) + _rotate(lanes[2], 12) + _rotate(lanes[3], 18)
    for lane in lanes:
        h = (h ^ _round(_ZERO, lane)) * _P1 + _P4
    return h
