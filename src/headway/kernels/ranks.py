"""Values as integers in the order in which Spark sorts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import UnsupportedPlan
from headway.kernels.floats import ordered

Ints = npt.NDArray[np.int64]


def ranks(array: pa.Array) -> Ints:
    """An integer for every value, equal for equal values; what stands at nulls means nothing.

    NaN is greater than all other floats, -0.0 is 0.0; structs compare field by field, where null is least.

    >>> ranks(pa.array(["b", "a", "b"])).tolist()
    [2, 1, 2]
    """
    kind = array.type
    if pa.types.is_struct(kind):
        return _struct_ranks(array)
    if pa.types.is_floating(kind):
        return _integers(ordered(pc.add(array, pa.scalar(0.0, kind))))
    if pa.types.is_boolean(kind):
        return _integers(array.cast(pa.int8()))
    if pa.types.is_date32(kind):
        return _integers(array.view(pa.int32()))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _integers(array.view(pa.int64()))
    if pa.types.is_integer(kind):
        return _integers(array)
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return _integers(pc.rank(array, tiebreaker="dense"))
    raise UnsupportedPlan(f"order of {kind}")


def sort_keys(array: pa.Array, descending: bool, nulls_first: bool) -> list[Ints]:
    """Keys for `numpy.lexsort`, the lesser one first, that sort by a column as one of Spark's sort orders says."""
    rank = ranks(array)
    rank = ~rank if descending else rank
    if not array.null_count:
        return [rank]
    null = array.is_null().to_numpy(zero_copy_only=False)
    return [np.where(null, 0, rank), (~null if nulls_first else null).astype(np.int64)]


def _struct_ranks(array: pa.Array) -> Ints:
    keys = [key for child in reversed(array.flatten()) for key in sort_keys(child, False, True)]
    if not keys:
        return np.zeros(len(array), np.int64)
    order = np.lexsort(keys)
    changes = np.zeros(len(array), np.bool_)
    for key in keys:
        changes[1:] |= np.diff(key[order]) != 0
    found = np.empty(len(array), np.int64)
    found[order] = np.cumsum(changes)
    return found


def _integers(array: pa.Array) -> Ints:
    numbers: Ints = (pc.fill_null(array, 0) if array.null_count else array).to_numpy().astype(np.int64)
    return numbers
