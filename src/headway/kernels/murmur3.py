"""Spark's `hash` (Murmur3, 32 bits), exact, over whole columns; nulls and structs as in `xxhash`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.hashable import Bytes, hash_lists, hashable

Hashes = npt.NDArray[np.uint32]

_C1 = np.uint32(0xCC9E2D51)
_C2 = np.uint32(0x1B873593)


def murmur3(array: pa.Array, seed: int | npt.NDArray[np.int32] = 42) -> npt.NDArray[np.int32]:
    """The hash of every row, as Spark's function `hash` gives it; null rows keep the seed.

    >>> murmur3(pa.array([None, "Spark"])).tolist()
    [42, 228093765]
    """
    seeds = np.ascontiguousarray(np.broadcast_to(np.asarray(seed, np.int32), len(array))).view(np.uint32)
    return _hash_column(array, seeds).view(np.int32)


def _hash_column(array: pa.Array, seeds: Hashes) -> Hashes:
    if pa.types.is_null(array.type):
        return seeds
    if pa.types.is_struct(array.type):
        for field in array.flatten():
            seeds = _hash_column(field, seeds)
        return seeds
    if pa.types.is_list(array.type) or pa.types.is_map(array.type):
        return hash_lists(array, seeds, _hash_column)
    column = hashable(array)
    with np.errstate(over="ignore"):
        hashed = _hash_bytes(column, seeds) if isinstance(column, Bytes) else _hash_words(column.values, seeds)
    if array.null_count == 0:
        return hashed
    return np.where(pc.is_valid(array).to_numpy(zero_copy_only=False), hashed, seeds)


def _rotate(x: Hashes, bits: int) -> Hashes:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mix(h: Hashes, word: Hashes) -> Hashes:
    h = h ^ (_rotate(word * _C1, 15) * _C2)
    return _rotate(h, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(h: Hashes, length: Hashes | np.uint32) -> Hashes:
    h = h ^ length
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _hash_words(words: npt.NDArray[np.uint32] | npt.NDArray[np.uint64], seeds: Hashes) -> Hashes:
    if words.itemsize == 4:
        return _finish(_mix(seeds, words.astype(np.uint32)), np.uint32(4))
    low, high = words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)
    return _finish(_mix(_mix(seeds, low), high), np.uint32(8))


def _hash_bytes(column: Bytes, seeds: Hashes) -> Hashes:
    h = seeds.copy()
    at = column.starts.copy()
    ends = column.starts + column.lengths
    for width in (4, 1):
        rows = np.flatnonzero(ends - at >= width)
        while len(rows):
            h[rows] = _mix(h[rows], _word(column, at[rows], width))
            at[rows] += width
            rows = rows[ends[rows] - at[rows] >= width]
    return _finish(h, column.lengths.astype(np.uint32))


def _word(column: Bytes, at: npt.NDArray[np.int64], width: int) -> Hashes:
    # A byte of the tail is mixed as a word of its own, and Java's bytes are signed.
    word = column.words(at, width).astype(np.uint32)
    return word if width == 4 else word.astype(np.uint8).view(np.int8).astype(np.int32).view(np.uint32)
