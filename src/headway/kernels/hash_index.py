"""Rows by the hash of their key: an index that grows with them, and never makes a batch wait until it is built anew.

1. Rows are numbered in the order in which they come. A number is never used again; rows before the `first` are not
   found any more, and to move it on costs nothing.
2. A row's hash and the number of the row before it in its list are its entry; entries are a ring, by number. Lists lead
   from later rows to earlier ones: so a search ends at the first that is before `first`.
3. The first bits of a hash choose a line of slots, as large as one that the processor reads. A slot has the number of
   the latest row of its list, and a part of the hash that all rows of the list have, the tag: so a hash that nobody has
   costs one look, into the line, and so does a row that comes. When all slots of a line are in use, a row goes to the
   list of another tag, which is mixed from then on: whoever looks into the line follows it.
4. Lines are split one after the other when there are too many lists for them (linear hashing), and memory grows where
   it is: so no batch waits for millions of rows. The tag says where a list goes; only mixed ones are looked through.
   Entries that have another place in a larger ring are moved: none while all rows are kept.
5. A row that is lost is marked, and leaves its list when a search has come to it.
6. Memory is asked for some rows before it is needed, or for all rows of a batch at each step of their search: to wait
   for it is most of what looking into millions of rows costs.
"""

from __future__ import annotations

import mmap
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba.extending import register_jitable

from headway.kernels.native.machine import prefetch

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]

LAST = 1 << 43
"""Numbers are below it."""
_LINE = 8
"""Slots of a line."""
_FILL = 5, 2
"""So many lists have so many lines."""
_LINES = 1 << 9
"""There are never fewer."""
_RING = 1 << 8
"""The ring has at least so many entries: as many as are on a page."""
_ROOMY = 8
"""The ring is made smaller when so many times the rows would fit."""
_NUMBER, _TAG = 20, (1 << 20) - 2
"""The bits of a slot: the number, from this one on; the tag; and the last bit, set if the list is mixed."""
_HASH = 15
"""How far a hash is shifted so that its tag is where it is in a slot. The tag begins with the bit that chooses between
the first `_LINES` lines and the next, and has all bits that choose as there are more."""
_CHOOSING = 7
"""The first bit of the hash that chooses the line: those before it are alike in all rows of an operator."""
_MOST = 1 << 28
"""Lines; the tag cannot say to which of more a list would go."""
_AHEAD = 16
"""Rows between one that is looked for and that whose memory is asked for."""
_BLOCK = 512
"""Rows that are looked for together."""
_INTS, _READ = numba.int64[::1], numba.types.Array(numba.int64, 1, "C", readonly=True)


class HashIndex:
    """See the module. Entries are two words: the hash, and the number before; 0 is none, and no row has it."""

    def __init__(self) -> None:
        self.first = self.next = 1
        self.count = 0
        """How many rows are in it and not lost."""
        self._entries, self._slots = _Words(2 * _RING), _Words(_LINE * _LINES)
        self._lines = _LINES
        self._lists = 0
        """How many slots are not 0. Some of them lead to rows that are not kept."""

    @property
    def bytes(self) -> int:
        """The system gives a page of memory when it is first used."""
        used = -(-self.next // _RING) * _RING
        return 8 * (min(len(self._entries.array), 2 * used) + _LINE * self._lines)

    def add(self, hashes: Hashes) -> int:
        """Number the rows with these hashes; gives the number of the first."""
        start, self.next = self.next, self.next + len(hashes)
        self.count += len(hashes)
        if 2 * (self.next - self.first) > len(self._entries.array):
            self._widen(start, _power(self.next - self.first, _RING))
        _put(self._entries.array, start, hashes.view(np.int64))
        self._link(start)
        return start

    def find(self, hashes: Hashes) -> tuple[Rows, Rows]:
        """Pairs of equal hashes, in any order: which was asked for, and the number of the row that has it."""
        found = _find(self._entries.array, self._slots.array, self._lines, self.first, hashes.view(np.int64))
        return found[0], found[1]

    def lose(self, numbers: Rows) -> None:
        """Do not find these rows any more; none of them is before the first."""
        self.count -= _lose(self._entries.array, numbers)

    def hashes(self, numbers: Rows) -> Hashes:
        """The hash of each row; none of them is before the first."""
        hashes: Hashes = self._places()[self._place(numbers), 0].view(np.uint64)
        return hashes

    def forget(self, before: int) -> None:
        """Do not keep the rows before that one, all of which are lost."""
        self.first = before
        held = self.next - self.first
        if 2 * _ROOMY * held >= len(self._entries.array) or len(self._entries.array) == 2 * _RING:
            return
        numbers = np.arange(self.first, self.next)
        entries = self._places()[self._place(numbers)]
        self._entries, self._slots = _Words(2 * _power(2 * held, _RING)), _Words(_LINE * _LINES)
        self._lines, self._lists = _LINES, 0
        self._places()[self._place(numbers)] = entries
        self._link(self.first)

    def _link(self, start: int) -> None:
        """Put the rows from that one on into lists, no more at once than there are lines: so few lists are mixed."""
        while start < self.next:
            end = min(start + self._lines, self.next)
            self._lists += _link(self._entries.array, self._slots.array, self._lines, self.first, start, end)
            lines = min(min(self._lists, self.next - self.first) * _FILL[1] // _FILL[0], _MOST)
            if lines > self._lines:
                if _LINE * lines > len(self._slots.array):
                    self._slots.grow(_LINE * _power(lines, _LINES))
                self._lists -= _split(self._entries.array, self._slots.array, self.first, self._lines, lines)
                self._lines = lines
            start = end

    def _widen(self, end: int, rows: int) -> None:
        """Make the ring one for so many rows; it has those from the first to the end, in at most two pieces."""
        old = len(self._entries.array) // 2
        self._entries.grow(2 * rows)
        entries = self._places()
        for turn in {self.first // old, (end - 1) // old}:
            start, stop = max(self.first - turn * old, 0), min(end - turn * old, old)
            at = turn * old & (rows - 1)
            if at:
                entries[at + start : at + stop] = entries[start:stop]

    def _places(self) -> Rows:
        return self._entries.array.reshape(-1, 2)

    def _place(self, numbers: Rows) -> Rows:
        return numbers & (len(self._entries.array) // 2 - 1)


class _Words:
    """Words that are zero at first, and can become more: the system moves their pages.

    It is not asked for large pages: it makes room and zeros for one while rows wait, and they are searched no faster.
    """

    def __init__(self, count: int) -> None:
        self._memory = mmap.mmap(-1, 8 * count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.array: Rows = np.frombuffer(self._memory, np.int64)

    def grow(self, count: int) -> None:
        """Let there be so many."""
        del self.array
        try:
            self._memory.resize(8 * count)
        except (BufferError, SystemError):
            # Somebody still looks at it, or it is not Linux.
            memory = self._memory
            self._memory = mmap.mmap(-1, 8 * count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._memory[: len(memory)] = memory[:]
        self.array = np.frombuffer(self._memory, np.int64)


def _power(count: int, least: int) -> int:
    """The least power of two that is not less."""
    return max(least, 1 << (count - 1).bit_length())


@register_jitable  # type: ignore[untyped-decorator]
def _highest(lines: Any) -> Any:
    """The highest bit of a number of lines."""
    half = 1
    while 2 * half <= lines:
        half *= 2
    return half


@register_jitable  # type: ignore[untyped-decorator]
def _line(hash: Any, half: Any, lines: Any) -> Any:
    """Where its line begins. Those that are not there yet are in the one that will be split for them."""
    line = (hash >> _CHOOSING) & (2 * half - 1)
    return (line - half * (line >= lines)) * _LINE


@register_jitable  # type: ignore[untyped-decorator]
def _leads(slot: Any, tag: Any, least: Any) -> Any:
    """Whether a list may have a row with the tag."""
    return (slot >= least) & (((slot ^ tag) & _TAG == 0) | (slot & 1 != 0))


@register_jitable  # type: ignore[untyped-decorator]
def _live(before: Any) -> Any:
    """The number before a row that may be lost."""
    return before ^ (before >> 63)


@register_jitable  # type: ignore[untyped-decorator]
def _push(entries: Any, slots: Any, least: Any, line: Any, row: Any, place: Any) -> Any:
    """Put a row, later than all others, into a list of the line; gives how many slots are in use by it."""
    tag = (entries[place] >> _HASH) & _TAG
    free = same = -1
    for slot in range(line, line + _LINE):
        if slots[slot] < least:
            free = slot
        if (slots[slot] >= least) & ((slots[slot] ^ tag) & _TAG == 0):
            same = slot
    if same < 0 and free >= 0:
        used = np.int64(slots[free] == 0)
        entries[place + 1] = 0
        slots[free] = row << _NUMBER | tag
        return used
    mixed = same < 0
    if mixed:
        same = line + ((tag >> 1) & (_LINE - 1))
    entries[place + 1] = slots[same] >> _NUMBER
    slots[same] = row << _NUMBER | tag | (slots[same] & 1) | mixed
    return 0


@numba.njit(numba.void(_INTS, numba.int64, _READ), nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _put(entries: Any, start: int, hashes: Any) -> None:
    """Entries that are in no list."""
    mask = len(entries) // 2 - 1
    for row in range(len(hashes)):
        place = ((start + row) & mask) * 2
        entries[place] = hashes[row]
        entries[place + 1] = 0


@numba.njit(  # type: ignore[untyped-decorator]
    numba.int64(_INTS, _INTS, numba.int64, numba.int64, numba.int64, numba.int64), nogil=True, cache=True
)
def _link(entries: Any, slots: Any, lines: int, first: int, start: int, end: int) -> int:
    """Put the rows from `start` on into lists, but those that are lost; gives how many more slots are in use."""
    mask, half, least = len(entries) // 2 - 1, _highest(lines), first << _NUMBER
    memory, used = np.int64(slots.ctypes.data), 0
    for row in range(start, end):
        ahead = _line(entries[(min(row + _AHEAD, end - 1) & mask) * 2], half, lines)
        prefetch(memory + 8 * ahead)
        place = (row & mask) * 2
        if entries[place + 1] >= 0:
            used += _push(entries, slots, least, _line(entries[place], half, lines), row, place)
    return used


@numba.njit(_INTS(_INTS, _INTS, numba.int64, numba.int64), nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _rows(entries: Any, slots: Any, first: int, line: int) -> Any:
    """The rows of all lists of a line that are not lost, in order."""
    mask, count = len(entries) // 2 - 1, 0
    rows = np.empty(_LINE, np.int64)
    for slot in range(line, line + _LINE):
        row = slots[slot] >> _NUMBER
        while row >= first:
            before = entries[(row & mask) * 2 + 1]
            if count == len(rows):
                rows = np.concatenate((rows, np.empty(count, np.int64)))
            rows[count] = row
            count += before >= 0
            row = _live(before)
    return np.sort(rows[:count])


@numba.njit(  # type: ignore[untyped-decorator]
    numba.int64(_INTS, _INTS, numba.int64, numba.int64, numba.int64), nogil=True, cache=True
)
def _split(entries: Any, slots: Any, first: int, lines: int, wanted: int) -> int:
    """Add lines: each takes those rows of another that have one more bit of the hash. How many slots fewer are used."""
    mask, half, least, unused = len(entries) // 2 - 1, _highest(lines), first << _NUMBER, 0
    for line in range(lines, wanted):
        if line == 2 * half:
            half = line
        old, new, bit, mixed = (line - half) * _LINE, line * _LINE, half << _CHOOSING >> _HASH, 0
        for slot in range(old, old + _LINE):
            mixed |= slots[slot] & (slots[slot] >= least)
            unused += slots[slot] != 0
        rows = _rows(entries, slots, first, old) if mixed else slots[:0]
        for at in range(_LINE):
            slot = slots[old + at]
            kept, goes = (slot >= least) & (mixed == 0), slot & bit != 0
            slots[old + at] = slot if kept & (not goes) else 0
            slots[new + at] = slot if kept & goes else 0
            unused -= kept
        for row in rows:
            place = (row & mask) * 2
            to = new if (entries[place] >> _HASH) & bit else old
            unused -= _push(entries, slots, least, to, row, place)
    return unused


@register_jitable  # type: ignore[untyped-decorator]
def _begin(slots: Any, lines: Any, least: Any, wanted: Any, start: Any, end: Any, searched: Any) -> Any:
    """Where to search for the rows from `start` to `end`; gives in how many lists."""
    half, memory, active = _highest(lines), np.int64(slots.ctypes.data), 0
    for asked in range(start, end):
        prefetch(memory + 8 * _line(wanted[min(asked + _AHEAD, end - 1)], half, lines))
        line, tag, hits = _line(wanted[asked], half, lines), wanted[asked] >> _HASH, 0
        for slot in range(line, line + _LINE):
            hits += _leads(slots[slot], tag, least)
        if hits:
            for slot in range(line, line + _LINE):
                searched[0, active], searched[1, active] = asked, slots[slot] >> _NUMBER
                active += _leads(slots[slot], tag, least)
    return active


@register_jitable  # type: ignore[untyped-decorator]
def _step(
    entries: Any, first: Any, wanted: Any, searched: Any, active: Any, found: Any, count: Any, losses: Any
) -> tuple[Any, Any]:
    """Compare the rows to which the searches have come; gives how many go on, and how many pairs there are now."""
    mask, left = len(entries) // 2 - 1, 0
    for at in range(active):
        asked, row = searched[0, at], searched[1, at]
        place = (row & mask) * 2
        before = entries[place + 1]
        losses[asked] |= before < 0
        found[0, count], found[1, count] = asked, row
        count += (before >= 0) & (entries[place] == wanted[asked])
        searched[0, left], searched[1, left] = asked, _live(before)
        left += _live(before) >= first
    return left, count


@register_jitable  # type: ignore[untyped-decorator]
def _clear(entries: Any, slots: Any, first: Any, line: Any, tag: Any) -> None:
    """Let the lost rows leave the lists that may have a row with the tag."""
    mask = len(entries) // 2 - 1
    for slot in range(line, line + _LINE):
        if not _leads(slots[slot], tag, first << _NUMBER):
            continue
        row, mixed, last = slots[slot] >> _NUMBER, slots[slot] & 1, -1
        # In use, but leads nowhere.
        slots[slot] = 1
        while row >= first:
            place = (row & mask) * 2
            before = entries[place + 1]
            if before >= 0:
                if last < 0:
                    slots[slot] = row << _NUMBER | ((entries[place] >> _HASH) & _TAG) | mixed
                else:
                    entries[last] = row
                last = place + 1
            row = _live(before)
        if last >= 0:
            entries[last] = 0


@numba.njit(  # type: ignore[untyped-decorator]
    numba.int64[:, ::1](_INTS, _INTS, numba.int64, numba.int64, _READ), nogil=True, cache=True
)
def _find(entries: Any, slots: Any, lines: int, first: int, wanted: Any) -> Any:
    """Those that are still searched for go to the next row of their list together (see 6)."""
    searched, losses = np.empty((2, _LINE * min(_BLOCK, len(wanted))), np.int64), np.zeros(len(wanted), np.bool_)
    found, count = np.empty((2, len(wanted)), np.int64), 0
    for start in range(0, len(wanted), _BLOCK):
        end = min(start + _BLOCK, len(wanted))
        active = _begin(slots, lines, first << _NUMBER, wanted, start, end, searched)
        while active:
            if count + active > found.shape[1]:
                more = np.empty((2, 2 * count + active), np.int64)
                more[:, :count] = found[:, :count]
                found = more
            active, count = _step(entries, first, wanted, searched, active, found, count, losses)
    half = _highest(lines)
    for asked in range(len(wanted)):
        if losses[asked]:
            _clear(entries, slots, first, _line(wanted[asked], half, lines), wanted[asked] >> _HASH)
    return found[:, :count].copy()


@numba.njit(numba.int64(_INTS, _READ), nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _lose(entries: Any, numbers: Any) -> int:
    """Mark the entries; gives how many were not."""
    mask, lost = len(entries) // 2 - 1, 0
    for row in range(len(numbers)):
        place = (numbers[row] & mask) * 2 + 1
        lost += entries[place] >= 0
        entries[place] = ~_live(entries[place])
    return lost
