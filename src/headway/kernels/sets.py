"""Sets of settled groups of which the size alone is asked for, kept apart from the tables of partials.

1. The values are in one table of machine code, with the number of their group; a settled table of partials has the
   number, the sizes, and empty lists. So what comes has a cost, and what is there has none.
2. For checkpoints they become lists again, in no order.
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
from headway.mapped import Ahead

Ints = npt.NDArray[np.int64]
_FEWEST = 1 << 11
_MOVES = 8
"""Places of a table that is too small which are looked at for every pair that is added: it has two for each for which
the larger one has room."""


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
    """Pairs of a group's number and a value, each once.

    They are in a table by hash, of at least twice as many places. When it is too small, they move to one of twice the
    size, some with every call: to move millions at once would stop the node for a tenth of a second. Until all have
    moved, a pair may be in either table. The larger one is ordered when the smaller is three quarters full.
    """

    def __init__(self) -> None:
        self._ahead = Ahead()
        self._clear()

    def _clear(self) -> None:
        self._table = _places(_FEWEST)
        self._count = 0
        self._old, self._moved = _places(0), 0
        """The smaller table, empty iff all have moved, and how many of its places have been looked at."""
        self._dead = np.empty(0, np.int64)
        """Numbers of groups that have ended, whose pairs are still here."""

    @property
    def bytes(self) -> int:
        return self._table.nbytes + self._old.nbytes

    def add(self, groups: Ints, values: Ints) -> npt.NDArray[np.bool_]:
        """Which of the pairs were not there; now they are."""
        self._make_room(len(values))
        fresh = np.zeros(len(values), np.bool_)
        self._count += _insert(self._table, self._old, groups, values, fresh)
        return fresh

    def of(self, numbers: Ints) -> tuple[Ints, Ints]:
        """The values of these groups: the offsets of a list each, and all values."""
        groups, values = self._pairs()
        if len(numbers) == 1 and not len(self._dead):
            return np.array([0, self._count]), values
        places = np.full(max(int(numbers.max(initial=0)), int(groups.max(initial=0))) + 1, len(numbers))
        places[numbers] = np.arange(len(numbers))
        owners = places[groups]
        order = np.argsort(owners, kind="stable")
        offsets = np.searchsorted(owners[order], np.arange(len(numbers) + 1))
        return offsets, values[order[: offsets[-1]]]

    def _pairs(self) -> tuple[Ints, Ints]:
        """All groups and values."""
        self._move(len(self._old))
        there = self._table[self._table[:, 0] > 0]
        return there[:, 0] - 1, there[:, 1].copy()

    def forget(self, numbers: Ints) -> None:
        """These groups have ended."""
        self._dead = np.union1d(self._dead, numbers)
        groups, values = self._pairs()
        alive = ~np.isin(groups, self._dead)
        if 2 * np.count_nonzero(alive) < self._count:
            self._clear()
            self.add(groups[alive], values[alive])

    def _make_room(self, more: int) -> None:
        """For so many pairs, if all of them are new."""
        self._move(_MOVES * more + _FEWEST)
        wanted, room = 2 * (self._count + more), len(self._table)
        if wanted <= room:
            if 4 * wanted > 3 * room:
                self._ahead.order((2 * room, 2), np.int64)
            return
        self._move(len(self._old))
        self._old, self._moved = self._table, 0
        self._table = self._ahead.take((max(2 * room, 1 << (wanted - 1).bit_length()), 2), np.int64)

    def _move(self, most: int) -> None:
        """Move what is in so many places of the smaller table, if there is one."""
        if not len(self._old):
            return
        until = min(self._moved + most, len(self._old))
        _insert_all(self._table, self._old[self._moved : until])
        self._moved = until
        if until == len(self._old):
            self._old, self._moved = _places(0), 0


def _places(count: int) -> Ints:
    """A table of empty places: a group's number, one more than it is, and a value."""
    return np.zeros((count, 2), np.int64)


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _slot(table: Any, group: int, value: int) -> Any:
    """Where the table has a pair, or has room for it (a group of 0)."""
    mask = len(table) - 1
    # The upper bits of a product depend on all bits of its factors.
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(group) * np.uint64(0xD6E8FEB86659FD93)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while table[slot, 0] > 0 and (table[slot, 1] != value or table[slot, 0] != group):
        slot = (slot + 1) & mask
    return slot


@numba.njit(  # type: ignore[untyped-decorator]
    numba.int64(numba.int64[:, ::1], numba.int64[:, ::1], numba.int64[::1], numba.int64[::1], numba.boolean[::1]),
    nogil=True,
    cache=True,
)
def _insert(table: Any, old: Any, groups: Ints, values: Ints, fresh: Any) -> int:
    """Put pairs into a table that are in neither of the two; gives how many."""
    count = 0
    for row in range(len(values)):
        group, value = groups[row] + 1, values[row]
        slot = _slot(table, group, value)
        if table[slot, 0] == 0 and (len(old) == 0 or old[_slot(old, group, value), 0] == 0):
            table[slot, 0], table[slot, 1] = group, value
            fresh[row] = True
            count += 1
    return count


@numba.njit(  # type: ignore[untyped-decorator]
    numba.void(numba.int64[:, ::1], numba.int64[:, ::1]), nogil=True, cache=True
)
def _insert_all(table: Any, places: Any) -> None:
    """Put what is in places of another table into this one."""
    for at in range(len(places)):
        group, value = places[at, 0], places[at, 1]
        if group > 0:
            slot = _slot(table, group, value)
            table[slot, 0], table[slot, 1] = group, value
