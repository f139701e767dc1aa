"""Tables of groups as machine code sees them: where a group lies, how it is found, how groups leave.

1. A group is a row of 8-byte cells: its keys, which keys are null, which states have seen a value, its mark, the
   states. The mark has the upper half of the key's hash, the next group of its bucket, and whether the group has
   changed since it was last given out.
2. Groups are numbered as they come. A table's memory is segments for 2 ** shift groups each, which are found by their
   addresses: it grows by a segment, and nothing moves. Only a table's first segment may be smaller.
3. Buckets are split one after the other as groups come (linear hashing), two for a group: no call waits until all
   groups have new buckets.
4. Where a group is written down it is its number and one more: 0 is none.
5. To code that is called for every row, a table is the address of what is known of it: an array would be counted.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.extending import register_jitable

from headway.kernels.native.machine import load_i32, load_i64, prefetch, store_i32, store_i64, unsigned_shift

GROUPS, ROOM, BUCKETS, MASK, CHANGED, UNSEEN, NULLS, FIRST_END, LAST_END, CELLS, HEADS, LISTS = range(12)
"""What is known of a table: how many groups it has and has room for; how many buckets, and the bits of a hash that
choose one; how many groups have changed; how many states have not seen a value; which keys are null in some group; when
the first and the last group end; and where the addresses of its segments' cells, buckets and lists of changed groups
are."""
FIELDS = 12
_TWICE = 1
PER_GROUP = 1 << _TWICE
"""Buckets."""
FEWEST = 64
"""Buckets of a table that is empty."""
NEVER = np.int64(2**63 - 1)
NONE = np.int64(-(2**63))
_LINK = np.int64(2**31 - 1)
_BLOCK = 256
"""Groups that are copied out at a time: so many are in the first-level cache."""


@register_jitable  # type: ignore[untyped-decorator]
def table_of(tables: Any, number: int) -> Any:
    """The address of a table."""
    return np.int64(tables.ctypes.data) + number * (8 * FIELDS)


@register_jitable  # type: ignore[untyped-decorator]
def cell_of(table: int, group: int, stride: int, shift: int) -> Any:
    """The address of a group's first cell."""
    return load_i64(load_i64(table, CELLS), group >> shift) + (group & ((np.int64(1) << shift) - 1)) * stride * 8


@register_jitable  # type: ignore[untyped-decorator]
def head_of(table: int, bucket: int, shift: int) -> Any:
    """The address of a bucket's first group."""
    at = bucket & ((np.int64(PER_GROUP) << shift) - 1)
    return load_i64(load_i64(table, HEADS), bucket >> (shift + _TWICE)) + 4 * at


@register_jitable  # type: ignore[untyped-decorator]
def head_for(table: int, hash: int, shift: int) -> Any:
    """The same of the bucket for a hash: buckets that are not there yet are in the one that will be split for them."""
    mask = load_i64(table, MASK)
    bucket = hash & mask
    return head_of(table, bucket if bucket < load_i64(table, BUCKETS) else bucket & (mask >> 1), shift)


@register_jitable  # type: ignore[untyped-decorator]
def hash_of(mark: int) -> Any:
    """The half of a key's code that is kept in its mark, and the upper half of the mark."""
    return unsigned_shift(mark, np.int64(32))


@register_jitable  # type: ignore[untyped-decorator]
def find(table: int, key: int, hash: int, width: int, stride: int, shift: int) -> Any:
    """The group of a key, -1 if there is none. `key` is where its cells are, `width` of them."""
    group = load_i32(head_for(table, hash, shift), np.int64(0)) - 1
    while group >= 0:
        address = cell_of(table, group, stride, shift)
        mark = load_i64(address, width + 1)
        if hash_of(mark) == hash:
            same = True
            for i in range(width):
                same &= load_i64(address, i) == load_i64(key, i)
            if same:
                break
        group = ((mark >> 1) & _LINK) - 1
    return group


@register_jitable  # type: ignore[untyped-decorator]
def link(table: int, group: int, hash: int, changed: int, width: int, stride: int, shift: int) -> None:
    """Make a group the first of its bucket."""
    head = head_for(table, hash, shift)
    mark = hash << 32 | load_i32(head, np.int64(0)) << 1 | changed
    store_i64(cell_of(table, group, stride, shift), np.int64(width + 1), mark)
    store_i32(head, np.int64(0), group + 1)


@register_jitable  # type: ignore[untyped-decorator]
def add(table: int, field: int, number: int) -> None:
    """Add to what is known of a table."""
    store_i64(table, np.int64(field), load_i64(table, field) + number)


@register_jitable  # type: ignore[untyped-decorator]
def change(table: int, group: int, shift: int) -> None:
    """Write a group into the list of those that have changed."""
    at = load_i64(table, CHANGED)
    store_i32(load_i64(load_i64(table, LISTS), at >> shift), at & ((np.int64(1) << shift) - 1), group)
    add(table, CHANGED, 1)


@register_jitable  # type: ignore[untyped-decorator]
def note_end(table: int, end: int) -> None:
    """A group of the table ends then."""
    store_i64(table, np.int64(FIRST_END), min(load_i64(table, FIRST_END), end))
    store_i64(table, np.int64(LAST_END), max(load_i64(table, LAST_END), end))


@register_jitable  # type: ignore[untyped-decorator]
def _divide(table: int, bucket: int, high: int, bit: int, width: int, stride: int, shift: int) -> None:
    """Move the groups of a bucket with the hash's `bit` to the bucket `high`."""
    low = head_of(table, bucket, shift)
    group, stays, moves = load_i32(low, np.int64(0)), np.int64(0), np.int64(0)
    while group > 0:
        address = cell_of(table, group - 1, stride, shift)
        mark = load_i64(address, width + 1)
        rest = mark & ~(_LINK << 1)
        if hash_of(mark) & bit:
            store_i64(address, np.int64(width + 1), rest | moves << 1)
            moves = group
        else:
            store_i64(address, np.int64(width + 1), rest | stays << 1)
            stays = group
        group = (mark >> 1) & _LINK
    store_i32(low, np.int64(0), stays)
    store_i32(head_of(table, high, shift), np.int64(0), moves)


@register_jitable  # type: ignore[untyped-decorator]
def split(table: int, width: int, stride: int, shift: int) -> None:
    """As many buckets as the groups should have. What is to be split is asked for first."""
    first, wanted = load_i64(table, BUCKETS), PER_GROUP * load_i64(table, GROUPS)
    if wanted <= first:
        return
    mask = load_i64(table, MASK)
    for bucket in range(first, wanted):
        below = (mask + 1) >> np.int64(bucket <= mask)
        group = load_i32(head_of(table, bucket - below, shift), np.int64(0))
        if group > 0:
            prefetch(cell_of(table, group - 1, stride, shift) + 8 * (width + 1))
    for bucket in range(first, wanted):
        if bucket > mask:
            mask = 2 * mask + 1
        half = (mask + 1) >> 1
        _divide(table, bucket - half, bucket, half, width, stride, shift)
    store_i64(table, np.int64(MASK), mask)
    store_i64(table, np.int64(BUCKETS), wanted)


@register_jitable  # type: ignore[untyped-decorator]
def _clear(table: Any, buckets: int, shift: int) -> None:
    """So many buckets, all of them empty."""
    table[BUCKETS], table[MASK] = buckets, 1
    while table[MASK] < buckets - 1:
        table[MASK] = 2 * table[MASK] + 1
    for bucket in range(buckets):
        store_i32(head_of(table_of(table, 0), bucket, shift), np.int64(0), np.int64(0))


@numba.njit("void(int64[::1], int64, int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def begin(table: Any, buckets: int, end: int, shift: int) -> None:
    """Make a table empty; its groups will end then (`NEVER`: at any time)."""
    table[GROUPS] = table[CHANGED] = table[UNSEEN] = table[NULLS] = 0
    table[FIRST_END], table[LAST_END] = end, NONE if end == NEVER else end
    _clear(table, buckets, shift)


@numba.njit(
    "void(int64[::1], int64[::1], int64, int64[::1], int64[:, ::1], int64, int64, int64)", nogil=True, cache=True
)  # type: ignore[untyped-decorator]
def copy_out(table: Any, groups: Any, count: int, wanted: Any, out: Any, at: int, stride: int, shift: int) -> None:
    """Copy the wanted cells of so many groups into the columns of `out`, from row `at` on. `groups` are their numbers;
    if there are none, they are the first of the table."""
    here, addresses = table_of(table, 0), np.empty(_BLOCK, np.int64)
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        for i in range(size):
            group = groups[start + i] if len(groups) else start + i
            addresses[i] = cell_of(here, group, stride, shift)
        for column in range(len(wanted)):
            cell, to = wanted[column], out[column, at + start : at + start + size]
            for i in range(size):
                to[i] = load_i64(addresses[i], cell)


@numba.njit("int64[::1](int64[::1], int64, int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def take_changed(table: Any, width: int, stride: int, shift: int) -> Any:
    """The numbers of the groups that have changed; they have not any more."""
    here, numbers = table_of(table, 0), np.empty(table[CHANGED], np.int64)
    for i in range(len(numbers)):
        numbers[i] = load_i32(load_i64(table[LISTS], i >> shift), i & ((np.int64(1) << shift) - 1))
        address = cell_of(here, numbers[i], stride, shift)
        store_i64(address, np.int64(width + 1), load_i64(address, width + 1) & ~np.int64(1))
    table[CHANGED] = 0
    return numbers


@numba.njit("int64[::1](int64[::1], int64, int64, int64, int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def ended(table: Any, width: int, end: int, watermark: int, stride: int, shift: int) -> Any:
    """The numbers of the groups that `watermark` ends. `width` cells are the key; `end` is when a group ends."""
    here, found, count = table_of(table, 0), np.empty(table[GROUPS], np.int64), 0
    for group in range(table[GROUPS]):
        address = cell_of(here, group, stride, shift)
        found[count] = group
        count += (load_i64(address, width - 1) >> end) & 1 == 0 and load_i64(address, end) <= watermark
    return found[:count].copy()


@numba.njit("void(int64[::1], int64[::1], int64, int64, int64, int64)", nogil=True, cache=True)  # type: ignore[untyped-decorator]
def remove(table: Any, numbers: Any, width: int, end: int, stride: int, shift: int) -> None:
    """Remove the groups with these numbers, which ascend. The others move up."""
    here, groups, kept, gone = table_of(table, 0), table[GROUPS], 0, 0
    _clear(table, max(FEWEST, PER_GROUP * (groups - len(numbers))), shift)
    table[CHANGED], table[FIRST_END], table[LAST_END] = 0, NEVER, NONE
    for group in range(groups):
        if gone < len(numbers) and numbers[gone] == group:
            gone += 1
            continue
        old, new = cell_of(here, group, stride, shift), cell_of(here, kept, stride, shift)
        for cell in range(stride):
            store_i64(new, cell, load_i64(old, cell))
        mark = load_i64(new, width + 1)
        link(here, kept, hash_of(mark), mark & 1, width, stride, shift)
        if mark & 1:
            change(here, kept, shift)
        if (load_i64(new, width - 1) >> end) & 1 == 0:
            note_end(here, load_i64(new, end))
        kept += 1
    table[GROUPS] = kept
