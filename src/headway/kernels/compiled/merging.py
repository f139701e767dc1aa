"""Merges partial aggregates into groups of cells, and lets groups go, in one pass of machine code each.

1. A group is a row of 8-byte cells: its keys, which keys are null, which states have seen a value, whether it changed
   since it was last given out, the states.
2. Nothing here is made for one query: what the columns are and how states merge is data. A batch of partials is small,
   so that what counts is how much code runs that is not in the processor's cache, and this is all of it.
3. Where groups are so many that each is a wait for memory, it is asked for while the keys of others are read.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable

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
)
from headway.kernels.native.runtime import less_floats, mix, normal

BIT, I8, I16, I32, I64, F32, F64, KEY_F32, KEY_F64, ALWAYS = range(10)
"""What a column is: how its values lie in memory, or that they are all 1. A float that is a key is its normal bits."""
SUM, WRAPPING_SUM, REAL_SUM, MIN, MAX, REAL_MIN, REAL_MAX = range(7)
"""How a state is merged; of integers, else of doubles."""
GROUPS, FIRST_END, CHANGED, LATE, NEXT = range(5)
"""Places of the header: how many groups there are, when the first of them ends, how many have changed, how many rows
were late, which row is next."""
DONE, FULL, OVERFLOW = range(3)
PART = 128
"""Rows whose keys are read before their groups are looked up."""
NEVER = np.int64(2**63 - 1)
_CELLS = "int64[:, ::1], int32[::1], int32[::1]"
"""The groups; a hash table of their numbers, twice as long as there is room for groups; the groups that changed."""


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
    if kind == F32:
        return bits_f64(np.float64(load_f32(address, at)))
    if kind == I16:
        return load_i16(address, at)
    return load_i8(address, at) if kind == I8 else np.int64(1)


@register_jitable  # type: ignore[untyped-decorator]
def _null(columns: Any, column: int, row: int) -> Any:
    validity, at = columns[column, 3], columns[column, 2] + row
    return validity != 0 and (load_u8(validity, at >> 3) >> (at & 7)) & 1 == 0


@register_jitable  # type: ignore[untyped-decorator]
def _read_key(columns: Any, row: int, key: Any) -> None:
    """The key of a row: its cells, those of nulls zero, and last the cell that says which are null."""
    last = len(key) - 1
    key[last] = 0
    for i in range(last):
        null = _null(columns, i, row)
        key[i] = 0 if null else _read(columns, i, row)
        key[last] |= np.int64(null) << i


@register_jitable  # type: ignore[untyped-decorator]
def _code(key: Any, width: int) -> Any:
    code = np.int64(0)
    for i in range(width):
        code = mix(code ^ key[i])
    return code


@register_jitable  # type: ignore[untyped-decorator]
def _place(cells: Any, table: Any, key: Any, code: int, width: int) -> Any:
    """Where in the table the group of a key is, or would be."""
    mask = np.int64(len(table) - 1)
    at = code & mask
    while table[at] >= 0:
        same = True
        for i in range(width):
            if cells[table[at], i] != key[i]:
                same = False
                break
        if same:
            break
        at = (at + 1) & mask
    return at


@register_jitable  # type: ignore[untyped-decorator]
def _approach(cells: Any, table: Any, codes: Any) -> None:
    """Ask for the memory of the groups that are found at these codes."""
    mask, stride = np.int64(len(table) - 1), np.int64(8 * cells.shape[1])
    for code in codes:
        prefetch(np.int64(table.ctypes.data) + 4 * (code & mask))
    for code in codes:
        group = np.int64(cells.ctypes.data) + stride * table[code & mask]
        prefetch(group)
        prefetch(group + stride - 8)


@register_jitable  # type: ignore[untyped-decorator]
def _begin(cells: Any, reals: Any, group: int, key: Any, width: int, how: Any) -> None:
    for i in range(width):
        cells[group, i] = key[i]
    cells[group, width] = cells[group, width + 1] = 0
    for state in range(len(how)):
        at = width + 2 + state
        kind = how[state]
        cells[group, at] = NEVER if kind == MIN else -NEVER - 1 if kind == MAX else 0
        if kind == REAL_MIN:
            reals[group, at] = np.nan
        elif kind == REAL_MAX:
            reals[group, at] = -np.inf


@register_jitable  # type: ignore[untyped-decorator]
def _update(cells: Any, reals: Any, group: int, at: int, kind: int, value: int, real: float) -> Any:
    """Merge a value into a state; False: the sum is beyond a long."""
    if kind == SUM:
        if add_overflows(cells[group, at], value):
            return False
        cells[group, at] += value
    elif kind == WRAPPING_SUM:
        cells[group, at] += value
    elif kind == REAL_SUM:
        reals[group, at] += real
    elif kind == MIN:
        cells[group, at] = min(cells[group, at], value)
    elif kind == MAX:
        cells[group, at] = max(cells[group, at], value)
    elif kind == REAL_MIN:
        if less_floats(real, reals[group, at]):
            reals[group, at] = real
    elif less_floats(reals[group, at], real):
        reals[group, at] = real
    return True


@numba.njit(
    f"int64({_CELLS}, float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64, int64, int64)",
    nogil=True,
    cache=True,
)  # type: ignore[untyped-decorator]
def absorb(
    cells: Any,
    table: Any,
    changed: Any,
    reals: Any,
    columns: Any,
    how: Any,
    header: Any,
    rows: int,
    end: int,
    watermark: int,
) -> Any:
    """Merge partials from row `header[NEXT]` on, until `DONE`, or until there is no room for a new group.

    A row of `columns` is a column's address, kind, offset and validity (0: no value is null): those of the keys, those
    of the states, and one that says whether the group counts as changed. `reals` is the memory of the cells. Column
    `end` is when a group ends, -1 if none ever does; what `watermark` has ended already is late.
    """
    states = len(how)
    keys = len(columns) - states - 1
    read, codes = np.empty((PART, keys + 1), np.int64), np.empty(PART, np.int64)
    bits = np.zeros(1, np.int64)
    real = bits.view(np.float64)
    for part in range(header[NEXT], rows, PART):
        stop = min(part + PART, rows)
        for row in range(part, stop):
            _read_key(columns, row, read[row - part])
            codes[row - part] = _code(read[row - part], keys + 1)
        if header[GROUPS] > FAR:
            _approach(cells, table, codes[: stop - part])
        for row in range(part, stop):
            key = read[row - part]
            ends = end >= 0 and (key[keys] >> end) & 1 == 0
            if ends and key[end] <= watermark:
                header[LATE] += 1
                continue
            at = _place(cells, table, key, codes[row - part], keys + 1)
            group = np.int64(table[at])
            if group < 0:
                group = header[GROUPS]
                if group == len(cells):
                    header[NEXT] = row
                    return FULL
                header[GROUPS] += 1
                table[at] = group
                _begin(cells, reals, group, key, keys + 1, how)
                if ends:
                    header[FIRST_END] = min(header[FIRST_END], key[end])
            for state in range(states):
                if not _null(columns, keys + state, row):
                    bits[0] = _read(columns, keys + state, row)
                    if not _update(cells, reals, group, keys + 3 + state, how[state], bits[0], real[0]):
                        return OVERFLOW
                    cells[group, keys + 1] |= np.int64(1) << state
            if cells[group, keys + 2] == 0 and _read(columns, keys + states, row) != 0:
                cells[group, keys + 2] = 1
                changed[header[CHANGED]] = group
                header[CHANGED] += 1
    return DONE


@numba.njit(f"void({_CELLS}, int64[::1], int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def index(cells: Any, table: Any, changed: Any, header: Any, width: int, end: int) -> None:
    """Fill the table, and find out which groups have changed and when the first of them ends. Keys and the cell of
    their nulls are the first `width` cells."""
    table[:] = -1
    header[CHANGED], header[FIRST_END] = 0, NEVER
    for group in range(header[GROUPS]):
        table[_place(cells, table, cells[group], _code(cells[group], width), width)] = group
        if cells[group, width + 1] != 0:
            changed[header[CHANGED]] = group
            header[CHANGED] += 1
        if end >= 0 and (cells[group, width - 1] >> end) & 1 == 0:
            header[FIRST_END] = min(header[FIRST_END], cells[group, end])


@numba.njit("int64[:, ::1](int64[:, ::1], int64[::1], int64, int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def take_ended(cells: Any, header: Any, width: int, end: int, watermark: int) -> Any:
    """Remove the groups that `watermark` ends; give them column by column. The others move up: `index` must follow."""
    groups, ended = header[GROUPS], 0
    for group in range(groups):
        ended += (cells[group, width - 1] >> end) & 1 == 0 and cells[group, end] <= watermark
    taken = np.empty((cells.shape[1], ended), np.int64)
    kept, gone = 0, 0
    for group in range(groups):
        if (cells[group, width - 1] >> end) & 1 == 0 and cells[group, end] <= watermark:
            taken[:, gone] = cells[group]
            gone += 1
        else:
            cells[kept] = cells[group]
            kept += 1
    header[GROUPS] = kept
    return taken


@numba.njit(f"int64[:, ::1]({_CELLS}, int64[::1], int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def take_changed(cells: Any, table: Any, changed: Any, header: Any, width: int) -> Any:
    """The groups that have changed, column by column; they stay, and have not changed any more."""
    given = np.empty((cells.shape[1], header[CHANGED]), np.int64)
    for number in range(header[CHANGED]):
        cells[changed[number], width + 1] = 0
        given[:, number] = cells[changed[number]]
    header[CHANGED] = 0
    return given
