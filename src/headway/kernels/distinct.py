"""The distinct values of groups, of lists that have none twice (`each_once`) or of single values (`first_of_each`).

1. A group's first list is mostly all that is known of it, and long; the others are what came since. So only the others
   are put into a table, which stays small and in the cache, and the first lists are looked through one after the other.
2. Values keep the order in which they came.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_SIGNATURE = "Tuple((int64[::1], int64[::1]))(int64[::1], int64[::1], int64[::1], int64[::1])"
"""Given, so that it is compiled when it is imported, and not while rows wait."""


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _slot(table: Ints, found: Ints, owners: Ints, values: Ints, at: int, group: int) -> Any:
    """Where the table has a group's value values[at], or has room for it (-1)."""
    value, mask = values[at], len(table) - 1
    # The middle bits of a product depend on all lower bits of its factors.
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(group) * np.uint64(0xD6E8FEB86659FD93)
    slot = np.int64(mixed >> np.uint64(32)) & mask
    while table[slot] >= 0 and (values[found[table[slot]]] != value or owners[table[slot]] != group):
        slot = (slot + 1) & mask
    return slot


@numba.njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _gathered(
    offsets: Ints, firsts: Ints, sizes: Ints, found: Ints, owners: Ints, new: npt.NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """The first lists, each with what is new to it."""
    for entry in range(len(found)):
        if new[entry]:
            sizes[owners[entry] + 1] += 1
    ends = np.cumsum(sizes)
    where, free = np.empty(ends[-1], np.int64), ends[:-1].copy()
    for group in range(len(firsts)):
        for at in range(offsets[firsts[group]], offsets[firsts[group] + 1]):
            where[free[group]] = at
            free[group] += 1
    for entry in range(len(found)):
        if new[entry]:
            where[free[owners[entry]]] = found[entry]
            free[owners[entry]] += 1
    return ends, where


@numba.njit(_SIGNATURE, nogil=True, cache=True)  # type: ignore[untyped-decorator]
def each_once(values: Ints, offsets: Ints, groups: Ints, firsts: Ints) -> tuple[Ints, Ints]:
    """The offsets of one list per group, and where in `values` its elements are.

    List i is values[offsets[i] : offsets[i + 1]] and of the group groups[i]; firsts[g] is the first list of group g.
    """
    sizes = np.zeros(len(firsts) + 1, np.int64)
    for group in range(len(firsts)):
        sizes[group + 1] = offsets[firsts[group] + 1] - offsets[firsts[group]]
    rest, places = len(values) - sizes.sum(), 16
    while places < 2 * rest:
        places *= 2
    table = np.full(places, -1, np.int64)
    # Of every value in the table: where it is, its group, and whether it is new to that.
    found, owners, new = np.empty(rest, np.int64), np.empty(rest, np.int64), np.ones(rest, np.bool_)
    more, count = np.zeros(len(firsts), np.bool_), 0
    for row in range(len(groups)):
        group = groups[row]
        if firsts[group] != row:
            more[group] = True
            for at in range(offsets[row], offsets[row + 1]):
                slot = _slot(table, found, owners, values, at, group)
                if table[slot] < 0:
                    table[slot], found[count], owners[count] = count, at, group
                    count += 1
    for group in range(len(firsts)):
        if more[group]:
            for at in range(offsets[firsts[group]], offsets[firsts[group] + 1]):
                entry = table[_slot(table, found, owners, values, at, group)]
                if entry >= 0:
                    new[entry] = False
    lists: tuple[Ints, Ints] = _gathered(offsets, firsts, sizes, found[:count], owners, new)
    return lists


@numba.njit(  # type: ignore[untyped-decorator]
    "Tuple((int64[::1], int64[::1]))(int64[::1], int64[::1], int64)", nogil=True, cache=True
)
def first_of_each(values: Ints, groups: Ints, count: int) -> tuple[Ints, Ints]:
    """The same for single values, of which values[i] is of the group groups[i]; there are `count` groups."""
    places = 16
    while places < 2 * len(values):
        places *= 2
    table = np.full(places, -1, np.int32)
    found, owners = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    sizes, entries = np.zeros(count + 1, np.int64), 0
    for row in range(len(values)):
        slot = _slot(table, found, owners, values, row, groups[row])
        if table[slot] < 0:
            table[slot], found[entries], owners[entries] = entries, row, groups[row]
            sizes[groups[row] + 1] += 1
            entries += 1
    ends = np.cumsum(sizes)
    where, free = np.empty(entries, np.int64), ends[:-1].copy()
    for entry in range(entries):
        where[free[owners[entry]]] = found[entry]
        free[owners[entry]] += 1
    return ends, where
