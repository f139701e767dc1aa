"""Key buckets: the same for equal keys on every machine and in every run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.kernels.keys import flatten_all
from headway.kernels.xxhash import xxhash64

SEED = 42
BUCKETS = 128
"""Key buckets per stateful stage: the unit of ordering, of checkpoints and of migration."""


def hash_plain(columns: Sequence[pa.Array]) -> npt.NDArray[np.int64]:
    """One hash per row of plain key columns (see `keys`), each column hashed into the hash of those before it."""
    hashes: int | npt.NDArray[np.int64] = SEED
    for column in columns:
        hashes = xxhash64(column, hashes)
    assert isinstance(hashes, np.ndarray)
    return hashes


def hash_keys(columns: Sequence[pa.Array]) -> npt.NDArray[np.uint64]:
    """One hash per row of key columns. There must be at least one column."""
    return hash_plain(flatten_all([_telling(column) for column in columns])).view(np.uint64)


def bucket_ids(columns: Sequence[pa.Array], count: int) -> npt.NDArray[np.int64]:
    """The bucket of every row, in 0..count-1. There must be at least one column.

    >>> bucket_ids([pa.array([0.0, -0.0, None])], 128).tolist()[:2]
    [108, 108]
    """
    return (hash_keys(columns) % np.uint64(count)).view(np.int64)


def owners_of(batch: pa.RecordBatch, keys: Sequence[int], owners: int) -> npt.NDArray[np.int64]:
    """Which of `owners` operators has each row's key, by the columns `keys`; without keys, the first has all."""
    if not keys:
        return np.zeros(batch.num_rows, np.int64)
    return bucket_ids([batch.column(i) for i in keys], BUCKETS) % owners


def deal(batch: pa.RecordBatch, keys: Sequence[int], owners: int) -> list[pa.RecordBatch]:
    """The rows of each owner."""
    if owners == 1:
        return [batch]
    found = owners_of(batch, keys, owners)
    return [batch.take(pa.array(np.flatnonzero(found == owner))) for owner in range(owners)]


def _telling(column: pa.Array) -> pa.Array:
    """A window's start stands for the window: in one grouping its end follows from it, and hashing costs."""
    if pa.types.is_struct(column.type) and [field.name for field in column.type] == ["start", "end"]:
        return column.flatten()[0]
    return column
