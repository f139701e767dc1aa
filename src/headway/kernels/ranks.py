"""Values as integers in the order in which Spark sorts them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.errors import UnsupportedPlan
from headway.kernels.floats import ordered
from headway.kernels.lists import lists_of, retyped

Ints = npt.NDArray[np.int64]


def ranks(array: pa.Array) -> Ints:
    """An integer for every value, equal for equal values; what stands at nulls means nothing.

    NaN is greater than all other floats, -0.0 is 0.0; structs compare field by field, where null is least, and arrays
    element by element, then by their lengths.

    >>> ranks(pa.array(["b", "a", "b"])).tolist()
    [2, 1, 2]
    """
    kind = array.type
    if pa.types.is_struct(kind):
        return _struct_ranks(array)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        return _list_ranks(array)
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


def orders(array: pa.Array) -> list[Ints]:
    """The same as several integers, of which the first that differs decides, where that is less work."""
    if pa.types.is_struct(array.type) and array.type.num_fields:
        return [key for child in array.flatten() for key in reversed(sort_keys(child, False, True))]
    return [ranks(array)]


def dense_ranks(array: pa.Array) -> Ints:
    """The ranks from 1 on, with none left out; 0 where a value is null."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    found = _dense(ranks(array))
    return np.where(array.is_valid().to_numpy(zero_copy_only=False), found, 0) if array.null_count else found


def common_ranks(*arrays: pa.Array) -> list[Ints]:
    """Dense ranks of several columns that are of one type but for names, comparable to each other."""
    kind = arrays[0].type
    found = dense_ranks(pa.concat_arrays([array if array.type == kind else retyped(array, kind) for array in arrays]))
    return np.split(found, np.cumsum([len(array) for array in arrays])[:-1])


def sort_keys(array: pa.Array, descending: bool, nulls_first: bool) -> list[Ints]:
    """Keys for `numpy.lexsort`, the lesser one first, that sort by a column as one of Spark's sort orders says."""
    rank = ranks(array)
    rank = ~rank if descending else rank
    if not array.null_count:
        return [rank]
    null = array.is_null().to_numpy(zero_copy_only=False)
    return [np.where(null, 0, rank), (~null if nulls_first else null).astype(np.int64)]


def _struct_ranks(array: pa.Array) -> Ints:
    if not array.type.num_fields:
        return np.zeros(len(array), np.int64)
    keys = orders(array)
    order = np.lexsort(keys[::-1])
    changes = np.zeros(len(array), np.bool_)
    for key in keys:
        changes[1:] |= np.diff(key[order]) != 0
    found = np.empty(len(array), np.int64)
    found[order] = np.cumsum(changes)
    return found


def _list_ranks(array: pa.Array) -> Ints:
    taken = lists_of(array)
    elements = dense_ranks(taken.values) + 1
    found = np.ones(len(array), np.int64)
    for place in range(int(taken.lengths.max(initial=0))):
        there = np.flatnonzero(taken.lengths > place)
        column = np.zeros(len(array), np.int64)
        column[there] = elements[taken.starts[there] + place]
        found = _dense(found * (int(column.max()) + 1) + column)
    return found


def _dense(values: Ints) -> Ints:
    return np.unique(values, return_inverse=True)[1].astype(np.int64) + 1


def _integers(array: pa.Array) -> Ints:
    numbers: Ints = (pc.fill_null(array, 0) if array.null_count else array).to_numpy().astype(np.int64)
    return numbers
