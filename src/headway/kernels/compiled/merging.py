"""Merges partial aggregates into groups of cells in one pass of machine code.

1. Groups are in tables (see `group_tables`) by when they end: to end a window is to drop a table. Ends beyond as many
   as there may be tables share the first one, where the groups are too that never end.
2. Nothing here is made for one query: what the columns are and how states merge is data. A batch of partials is small,
   so that what counts is how much code runs that is not in the processor's cache, and this is all of it.
3. Where groups are so many that each is a wait for memory, it is asked for while the keys of others are read.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable

from headway.kernels.compiled import group_tables as t
from headway.kernels.compiled.layout import FAR
from headway.kernels.native.machine import (
    add_overflows,
    bits_f32,
    bits_f64,
    load_f32,
    load_f64,
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    load_u8,
    prefetch,
    store_i64,
)
from headway.kernels.native.runtime import less_floats, mix, normal

BIT, I8, I16, I32, I64, F32, F64, KEY_F32, KEY_F64, ALWAYS = range(10)
"""What a column is: how its values lie in memory, or that they are all 1. A float that is a key is its normal bits."""
SUM, WRAPPING_SUM, REAL_SUM, MIN, MAX, REAL_MIN, REAL_MAX = range(7)
"""How a state is merged; of integers, else of doubles."""
LATE, NEXT, WHERE, USED, OPEN = range(5)
"""Places of the header: how many rows were late, which row is next, what `absorb` stopped at, how many tables there
are, whether an end that has no table may have one."""
DONE, FULL, NEW_END, OVERFLOW = range(4)
_UNKNOWN, _LATE = -1, -2
"""Instead of a row's table."""
PART = 128
"""Rows whose keys are read before their groups are looked up."""


@register_jitable  # type: ignore[untyped-decorator]
def _read(columns: Any, column: int, row: int) -> Any:
    address, kind, at = columns[column, 0], columns[column, 1], columns[column, 2] + row
    if kind in (I64, F64):
        return load_i64(address, at)
    if kind == I32:
        return load_i32(address, at)
    if kind == BIT:
        return (load_u8(address, at >> 3) >> (at & 7)) & 1
    if kind == KEY_F64:
        return bits_f64(normal(load_f64(address, at)))
    if kind == KEY_F32:
        return bits_f32(normal(load_f32(address, at)))
    if kind == I16:
        return load_i16(address, at)
    return load_i8(address, at) if kind == I8 else np.int64(1)


@register_jitable  # type: ignore[untyped-decorator]
def _read_real(columns: Any, column: int, row: int) -> Any:
    address, at = columns[column, 0], columns[column, 2] + row
    return np.float64(load_f32(address, at)) if columns[column, 1] == F32 else load_f64(address, at)


@register_jitable  # type: ignore[untyped-decorator]
def _null(columns: Any, column: int, row: int) -> Any:
    validity, at = columns[column, 3], columns[column, 2] + row
    return validity != 0 and (load_u8(validity, at >> 3) >> (at & 7)) & 1 == 0


@register_jitable  # type: ignore[untyped-decorator]
def _read_key(columns: Any, row: int, key: int, width: int) -> Any:
    """Write the key of a row to an address: its cells, those of nulls zero, and last the cell that says which are null.
    Gives its code."""
    code, nulls = np.int64(0), np.int64(0)
    for i in range(width - 1):
        null = _null(columns, i, row)
        cell = np.int64(0) if null else np.int64(_read(columns, i, row))
        store_i64(key, i, cell)
        nulls |= np.int64(null) << i
        code = mix(code ^ cell)
    store_i64(key, width - 1, nulls)
    return mix(code ^ nulls)


@register_jitable  # type: ignore[untyped-decorator]
def _table_for(tables: Any, slots: Any, header: Any, ends: int) -> Any:
    """The table of the groups that end then, or that they may have one of their own and do not."""
    at = mix(ends) & (len(slots) - 1)
    while slots[at, 1]:
        if slots[at, 0] == ends:
            return t.table_of(tables, slots[at, 1])
        at = (at + 1) & (len(slots) - 1)
    own = header[OPEN] and not tables[0, t.FIRST_END] <= ends <= tables[0, t.LAST_END]
    return np.int64(_UNKNOWN) if own else t.table_of(tables, 0)


@register_jitable  # type: ignore[untyped-decorator]
def _split(tables: Any, used: int, width: int, stride: int, shift: int) -> Any:
    """Split the buckets that there are too few of. Gives how many groups there are."""
    groups = np.int64(0)
    for number in range(used):
        t.split(t.table_of(tables, number), width, stride, shift)
        groups += tables[number, t.GROUPS]
    return groups


@register_jitable  # type: ignore[untyped-decorator]
def _approach(where: Any, hashes: Any, count: int, stride: int, shift: int) -> None:
    """Ask for the memory of the groups that are found at these hashes."""
    for i in range(count):
        if where[i] != _LATE:
            prefetch(t.head_for(where[i], hashes[i], shift))
    for i in range(count):
        if where[i] != _LATE:
            group = load_i32(t.head_for(where[i], hashes[i], shift), np.int64(0))
            if group > 0:
                address = t.cell_of(where[i], group - 1, stride, shift)
                prefetch(address)
                prefetch(address + 8 * (stride - 1))


@register_jitable  # type: ignore[untyped-decorator]
def _begin(table: int, group: int, key: int, hash: int, how: Any, width: int, shift: int) -> None:
    address, stride = t.cell_of(table, group, width + 2 + len(how), shift), width + 2 + len(how)
    for i in range(width):
        store_i64(address, i, load_i64(key, i))
    store_i64(address, np.int64(width), np.int64(0))
    for state in range(len(how)):
        kind, first = how[state], np.int64(0)
        if kind == MIN:
            first = t.NEVER
        elif kind == MAX:
            first = t.NONE
        elif kind == REAL_MIN:
            first = bits_f64(np.nan)
        elif kind == REAL_MAX:
            first = bits_f64(-np.inf)
        store_i64(address, np.int64(width + 2 + state), first)
    t.link(table, group, hash, np.int64(0), width, stride, shift)
    t.add(table, t.GROUPS, 1)
    t.add(table, t.UNSEEN, len(how))
    store_i64(table, np.int64(t.NULLS), load_i64(table, t.NULLS) | load_i64(key, width - 1))


@register_jitable  # type: ignore[untyped-decorator]
def _whole(kind: int, held: int, value: int) -> Any:
    """A state of integers with a value merged into it."""
    if kind <= WRAPPING_SUM:
        return held + value
    return min(held, value) if kind == MIN else max(held, value)


@register_jitable  # type: ignore[untyped-decorator]
def _real(kind: int, held: float, value: float) -> Any:
    """A state of doubles with a value merged into it."""
    if kind == REAL_SUM:
        return held + value
    smaller = less_floats(value, held) if kind == REAL_MIN else less_floats(held, value)
    return value if smaller else held


@register_jitable  # type: ignore[untyped-decorator]
def _update(table: int, address: int, columns: Any, row: int, how: Any, width: int) -> Any:
    """Merge a row into the states of a group; False: a sum is beyond a long."""
    seen = load_i64(address, width)
    for state in range(len(how)):
        column, at, kind = width - 1 + state, np.int64(width + 2 + state), how[state]
        if _null(columns, column, row):
            continue
        if kind in (REAL_SUM, REAL_MIN, REAL_MAX):
            store_i64(address, at, bits_f64(_real(kind, load_f64(address, at), _read_real(columns, column, row))))
        else:
            held, value = load_i64(address, at), _read(columns, column, row)
            if kind == SUM and add_overflows(held, value):
                return False
            store_i64(address, at, _whole(kind, held, value))
        if (seen >> state) & 1 == 0:
            seen |= np.int64(1) << state
            t.add(table, t.UNSEEN, -1)
    store_i64(address, np.int64(width), seen)
    return True


@numba.njit("void(int64[:, ::1], int64[:, ::1], int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def index_ends(slots: Any, tables: Any, used: int) -> None:
    """Make the slots anew."""
    slots[:] = 0
    for number in range(1, used):
        if tables[number, t.BUCKETS]:
            at = mix(tables[number, t.FIRST_END]) & (len(slots) - 1)
            while slots[at, 1]:
                at = (at + 1) & (len(slots) - 1)
            slots[at, 0], slots[at, 1] = tables[number, t.FIRST_END], number


@register_jitable  # type: ignore[untyped-decorator]
def _ends(key: int, end: int, width: int) -> Any:
    """Whether the group with that key ends at some time."""
    return end >= 0 and (load_i64(key, width - 1) >> end) & 1 == 0


@register_jitable  # type: ignore[untyped-decorator]
def _route(
    tables: Any, slots: Any, columns: Any, header: Any, part: int, stop: int, end: int, watermark: int, read: Any
) -> Any:
    """Read the keys of rows, up to the first that belongs to no table. Gives how many rows that were."""
    keys, hashes, where = read
    width = len(keys) // PART
    for i in range(stop - part):
        key = np.int64(keys.ctypes.data) + 8 * width * i
        hashes[i] = t.hash_of(_read_key(columns, part + i, key, width))
        where[i] = t.table_of(tables, 0)
        if _ends(key, end, width):
            ends = load_i64(key, end)
            where[i] = _LATE if ends <= watermark else _table_for(tables, slots, header, ends)
            if where[i] == _UNKNOWN:
                header[WHERE] = ends
                return i
    return stop - part


@numba.njit(
    "int64(int64[:, ::1], int64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64, int64, int64, int64)",
    nogil=True,
    cache=True,
)  # type: ignore[untyped-decorator]
def absorb(
    tables: Any, slots: Any, columns: Any, how: Any, header: Any, rows: int, end: int, watermark: int, shift: int
) -> Any:
    """Merge partials from row `header[NEXT]` on, until `DONE`, or until table `header[WHERE]` is `FULL`, or until
    groups that end at `header[WHERE]` need a table (`NEW_END`).

    A row of `columns` is a column's address, kind, offset and validity (0: no value is null): those of the keys, those
    of the states, and one that says whether the group counts as changed. Key `end` is when a group ends, -1 if none
    ever does; what `watermark` has ended already is late. A row of `slots` is an end and the table of the groups that
    end then; all others are in table 0.
    """
    states = len(how)
    width = len(columns) - states
    stride = width + 2 + states
    read = np.empty(PART * width, np.int64), np.empty(PART, np.int64), np.empty(PART, np.int64)
    keys, hashes, where = read
    while header[NEXT] < rows:
        part, stop = header[NEXT], min(header[NEXT] + PART, rows)
        groups = _split(tables, header[USED], width, stride, shift)
        count = _route(tables, slots, columns, header, part, stop, end, watermark, read)
        if groups > FAR:
            _approach(where, hashes, count, stride, shift)
        for i in range(count):
            table, key = where[i], np.int64(keys.ctypes.data) + 8 * width * i
            if table == _LATE:
                header[LATE] += 1
                continue
            group = t.find(table, key, hashes[i], width, stride, shift)
            if group < 0:
                group = load_i64(table, t.GROUPS)
                if group == load_i64(table, t.ROOM):
                    header[NEXT], header[WHERE] = part + i, (table - t.table_of(tables, 0)) // (8 * t.FIELDS)
                    return FULL
                _begin(table, group, key, hashes[i], how, width, shift)
                if _ends(key, end, width):
                    t.note_end(table, load_i64(key, end))
            address = t.cell_of(table, group, stride, shift)
            if not _update(table, address, columns, part + i, how, width):
                return OVERFLOW
            mark = load_i64(address, width + 1)
            if mark & 1 == 0 and _read(columns, width - 1 + states, part + i) != 0:
                store_i64(address, np.int64(width + 1), mark | 1)
                t.change(table, group, shift)
        header[NEXT] = part + count
        if part + count < stop:
            return NEW_END
    return DONE
