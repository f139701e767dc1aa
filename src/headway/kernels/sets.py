"""Sets of settled groups of which the size alone is asked for, kept apart from the tables of partials.

1. The values are in one table of machine code, with the number of their group; a settled table of partials has the
   number, the sizes, and empty lists. So what comes has a cost, and what is there has none.
2. For checkpoints they become lists again, each in the order in which its values came.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.aggregates.lists import lists_of, numbered
from headway.kernels.grouping import whole
from headway.kernels.keys import flatten
from headway.kernels.partials import NUMBER, Partials, size_of

Ints = npt.NDArray[np.int64]
_FEWEST = 1 << 10


class Sets:
    """The sets of one aggregate."""

    def __init__(self, partials: Partials) -> None:
        self._seen = {
            names[0]: Seen()
            for function, names in zip(partials.functions, partials.states, strict=True)
            if function.kept_apart
        }
        self._next = 0

    def __bool__(self) -> bool:
        return bool(self._seen)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(seen.bytes for seen in self._seen.values())

    def opened(self, table: pa.Table) -> pa.Table:
        """A table with lists, as one that can be merged with settled ones."""
        if NUMBER in table.column_names:
            return table
        nulls = pa.nulls(table.num_rows, pa.int64())
        for name in (NUMBER, *map(size_of, self._seen)):
            table = table.append_column(name, nulls)
        return table

    def settle(self, table: pa.Table) -> pa.Table:
        """Take the lists of a table, which has one row per group, into the sets of their groups."""
        numbers = self._numbers(table)
        table = _with(table, NUMBER, pa.array(numbers))
        rows = np.arange(table.num_rows)
        for name, seen in self._seen.items():
            lists = whole(table.column(name))
            lengths = pc.list_value_length(lists).to_numpy()
            fresh = seen.add(np.repeat(numbers, lengths), numbered(list(flatten(lists.flatten()))))
            more = np.bincount(np.repeat(rows, lengths)[fresh], minlength=len(rows))
            before = pc.fill_null(whole(table.column(size_of(name))), 0).to_numpy()
            table = _with(table, size_of(name), pa.array(before + more))
            table = _with(table, name, lists_of(np.zeros(len(rows) + 1, np.int64), lists.values[:0]))
        return table

    def lists(self, table: pa.Table) -> pa.Table:
        """A settled table with its lists again."""
        if NUMBER not in table.column_names:
            return table
        numbers = table.column(NUMBER).to_numpy()
        for name, seen in self._seen.items():
            offsets, values = seen.of(numbers)
            kind = table.schema.field(name).type.value_type
            table = _with(table, name, lists_of(offsets, _typed(values, kind)))
        return table.drop_columns([NUMBER, *map(size_of, self._seen)])

    def forget(self, table: pa.Table) -> None:
        """The groups of a settled table have ended."""
        if NUMBER in table.column_names:
            for seen in self._seen.values():
                seen.forget(table.column(NUMBER).to_numpy())

    def _numbers(self, table: pa.Table) -> Ints:
        """The numbers of the groups; those that are new get theirs."""
        numbers: Ints = pc.fill_null(whole(table.column(NUMBER)), -1).to_numpy().copy()
        new = np.flatnonzero(numbers < 0)
        numbers[new] = self._next + np.arange(len(new))
        self._next += len(new)
        return numbers


def _with(table: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


def _typed(values: Ints, kind: pa.DataType) -> pa.Array:
    """What `numbered` made numbers of."""
    return pa.array(values.astype(f"i{kind.bit_width // 8}")).view(kind)


class Seen:
    """Pairs of a group's number and a value, each once, in the order in which they came."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._groups, self._values = np.empty(_FEWEST, np.int64), np.empty(_FEWEST, np.int64)
        self._count = 0
        self._table = np.full(2 * _FEWEST, -1, np.int32)
        self._dead = np.empty(0, np.int64)
        """Numbers of groups that have ended, whose pairs are still here."""

    @property
    def bytes(self) -> int:
        return self._groups.nbytes + self._values.nbytes + self._table.nbytes

    def add(self, groups: Ints, values: Ints) -> npt.NDArray[np.bool_]:
        """Which of the pairs were not there; now they are."""
        self._grow(self._count + len(values))
        fresh = np.zeros(len(values), np.bool_)
        self._count = _insert(self._table, self._groups, self._values, self._count, groups, values, fresh)
        return fresh

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """The values of these groups: the offsets of a list each, and all values."""
        groups, values = self._groups[: self._count], self._values[: self._count]
        if len(numbers) == 1 and not len(self._dead):
            return np.array([0, self._count]), values.copy()
        places = np.full(max(int(numbers.max(initial=0)), int(groups.max(initial=0))) + 1, len(numbers))
        places[numbers] = np.arange(len(numbers))
        owners = places[groups]
        order = np.argsort(owners, kind="stable")
        offsets = np.searchsorted(owners[order], np.arange(len(numbers) + 1))
        return offsets, values[order[: offsets[-1]]]

    def forget(self, numbers: Ints) -> None:
        """These groups have ended."""
        self._dead = np.union1d(self._dead, numbers)
        alive = ~np.isin(self._groups[: self._count], self._dead)
        if 2 * np.count_nonzero(alive) < self._count:
            groups, values = self._groups[: self._count][alive], self._values[: self._count][alive]
            self._clear()
            self.add(groups, values)

    def _grow(self, count: int) -> None:
        room = len(self._values)
        if count <= room:
            return
        while room < count:
            room *= 2
        for name in ("_groups", "_values"):
            longer = np.empty(room, np.int64)
            longer[: self._count] = getattr(self, name)[: self._count]
            setattr(self, name, longer)
        self._table = np.full(2 * room, -1, np.int32)
        _index(self._table, self._groups, self._values, self._count)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _slot(table: Any, groups: Ints, values: Ints, group: int, value: int) -> Any:
    """Where the table has a pair, or has room for it (-1)."""
    mask = len(table) - 1
    # The upper bits of a product depend on all bits of its factors.
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(group) * np.uint64(0xD6E8FEB86659FD93)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while table[slot] >= 0 and (values[table[slot]] != value or groups[table[slot]] != group):
        slot = (slot + 1) & mask
    return slot


@numba.njit(  # type: ignore[untyped-decorator]
    numba.int64(
        numba.int32[::1], numba.int64[::1], numba.int64[::1], numba.int64, numba.int64[::1], numba.int64[::1],
        numba.boolean[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def _insert(table: Any, groups: Ints, values: Ints, count: int, new_groups: Ints, new_values: Ints, fresh: Any) -> int:
    for row in range(len(new_values)):
        slot = _slot(table, groups, values, new_groups[row], new_values[row])
        if table[slot] < 0:
            table[slot] = count
            groups[count], values[count] = new_groups[row], new_values[row]
            count += 1
            fresh[row] = True
    return count


@numba.njit(  # type: ignore[untyped-decorator]
    numba.void(numba.int32[::1], numba.int64[::1], numba.int64[::1], numba.int64), nogil=True, cache=True
)
def _index(table: Any, groups: Ints, values: Ints, count: int) -> None:
    """Fill an empty table with pairs that are all different."""
    for row in range(count):
        table[_slot(table, groups, values, groups[row], values[row])] = row
