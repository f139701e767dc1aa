"""max_by and min_by of several rows of a group: its state is a list of them, the best first, no longer than asked for.

What a row is chosen by is kept beside its value. Of equals, those that came first stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.aggregates.base import Columns, Function, Grouping, Ints, valid_rows
from headway.kernels.aggregates.lists import concatenated, groups_of, list_type, lists_of, singletons
from headway.kernels.ranks import orders


class TopBy(Function):
    """See the module."""

    initial = ([],)
    gathers = True

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (list_type(pa.struct([pa.field("value", self.arguments[0]), pa.field("by", self.arguments[1])])),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [singletons(self._pairs(*args), valid_rows(args[1]))]

    def _pairs(self, values: pa.Array, by: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays([values, by], fields=list(self.states[0].value_type))

    def gather(self, args: Sequence[pa.Array], grouping: Grouping) -> Columns:
        rows = np.flatnonzero(valid_rows(args[1]))
        values, by = (arg.take(pa.array(rows)) for arg in args) if len(rows) < len(args[1]) else args
        at, ends = self._best(by, grouping.ids[rows], grouping.count)
        return [lists_of(ends, self._pairs(values.take(at), by.take(at)))]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        lists = concatenated(columns[0], grouping)
        pairs = lists.flatten()
        at, ends = self._best(pairs.field("by"), groups_of(lists), grouping.count)
        return [lists_of(ends, pairs.take(at))]

    def _best(self, by: pa.Array, groups: Ints, count: int) -> tuple[pa.Array, Ints]:
        """The rows that stay, group by group, and where those of each group end."""
        keys = np.stack(orders(by), axis=1)
        rows, ends = _least(~keys if self.call.function == "max_by_k" else keys, groups, count, self.options["k"])
        return pa.array(rows), ends

    def finish(self, columns: Columns) -> pa.Array:
        lengths = pc.list_value_length(columns[0]).to_numpy()
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return lists_of(ends, columns[0].flatten().field("value"), lengths == 0)


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _less(keys: Any, row: int, other: int) -> bool:
    for at in range(keys.shape[1]):
        if keys[row, at] != keys[other, at]:
            return bool(keys[row, at] < keys[other, at])
    return False


@numba.njit(  # type: ignore[untyped-decorator]
    numba.types.Tuple((numba.int64[::1], numba.int64[::1]))(
        numba.int64[:, ::1], numba.types.Array(numba.int64, 1, "C", readonly=True), numba.int64, numba.int64
    ),
    nogil=True,
    cache=True,
)
def _least(keys: Any, groups: Ints, count: int, most: int) -> tuple[Ints, Ints]:
    """The `most` rows of every group with the least keys, in order, and where those of each group end."""
    held, ends = np.zeros(count, np.int64), np.zeros(count + 1, np.int64)
    for row in range(len(groups)):
        held[groups[row]] += 1
    for group in range(count):
        ends[group + 1] = ends[group] + min(held[group], most)
    rows = np.empty(ends[count], np.int64)
    held[:] = 0
    for row in range(len(groups)):
        group = groups[row]
        begin = ends[group]
        if held[group] == most and not _less(keys, row, rows[begin + most - 1]):
            continue
        place = begin + min(held[group], most - 1)
        held[group] = min(held[group] + 1, most)
        while place > begin and _less(keys, row, rows[place - 1]):
            rows[place] = rows[place - 1]
            place -= 1
        rows[place] = row
    return rows, ends
