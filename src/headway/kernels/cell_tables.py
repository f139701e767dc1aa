"""The groups of a `CellMerge`, in tables by when they end.

1. A window that ends is a table that is dropped: nothing of the others is touched. What never ends is in the shared
   table, and so is what ends where ends are too many (see `consider`): whatever leaves that one moves what stays.
2. An end is in one table. While the shared table has groups that end from some time to some other, whatever ends
   between the two belongs there, but for ends that have had a table since before.
3. A table grows by a segment, and nothing moves (see `compiled.group_tables`). But small tables move to larger segments
   until they fill a whole one.
4. A table begins with the buckets that the last one needed, if there is the memory: then none has to be split.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headway.kernels.cell_memory import SMALLEST, Segment, Segments
from headway.kernels.compiled import group_tables as machine
from headway.kernels.compiled import merging

_MOST = 64
"""Ends with a table of their own."""
_FEW = 8
_WORTH = 32
"""With more than a few tables, a further end has its own only if those there have so many groups each: not where ends
are no windows, but as many as there are groups."""
_SLOTS = 256
_SHRINK = 8
_NEVER = int(machine.NEVER)
_KNOWN = machine.FIELDS
"""Of a table."""

Cells = npt.NDArray[np.int64]
_NOT_LISTED: Cells = np.zeros(0, np.int64)


class Part(NamedTuple):
    """Groups of a table: those with the listed numbers, or all."""

    table: int
    listed: Cells | None


class Found(NamedTuple):
    """Groups as columns, by the numbers of their cells; those of which keys are null and which states have seen a value
    are missing where no key is and every state has."""

    rows: int
    cells: dict[int, Cells]


class CellTables:
    """Tables of groups whose key is `width` cells, the last of which says which keys are null; cell `end` of them says
    when a group ends, -1: never."""

    def __init__(self, width: int, states: int, end: int) -> None:
        self._width, self._end = width, end
        self.stride = width + 2 + states
        self._memory = Segments(self.stride)
        self.shift = self._memory.shift
        self.rows = np.zeros((_MOST + 1, _KNOWN), np.int64)
        """What is known of each table; of those there are not, nothing but zeros."""
        self._known = memoryview(self.rows.reshape(-1))  # type: ignore[arg-type]
        """The same, a number at a time."""
        self.slots = np.zeros((_SLOTS, 2), np.int64)
        self.header = np.zeros(5, np.int64)
        """What machine code works on (see `merging.absorb`)."""
        self._segments: list[list[Segment]] = [[] for _ in self.rows]
        self._addresses: list[Cells] = [_NOT_LISTED for _ in self.rows]
        self._ends: dict[int, int] = {}
        """Which table has the groups that end then."""
        self._first_end = _NEVER
        """No table of an end ends before."""
        self._expected = 0
        """Groups that the last window had."""
        self._wanted: dict[tuple[bool, bool, bool], Cells] = {}
        self._begin(0, _NEVER)
        self._index_ends()

    @property
    def groups(self) -> int:
        return int(self.rows[:, machine.GROUPS].sum())

    @property
    def changed(self) -> bool:
        """Whether there are groups that have changed."""
        return bool(self.rows[:, machine.CHANGED].any())

    @property
    def room(self) -> int:
        """Groups that there is memory for."""
        return int(self.rows[:, machine.ROOM].sum()) + self._memory.spare

    def consider(self) -> None:
        """Find out whether a further end may have a table: when rows come, and when there is a table more or less."""
        count = len(self._ends)
        self.header[merging.OPEN] = count < _FEW or (
            count < _MOST and self.rows[1:, machine.GROUPS].sum() >= _WORTH * count
        )

    def open(self, end: int) -> None:
        """A table for the groups that end then."""
        number, known = 1, self._known
        while known[number * _KNOWN + machine.BUCKETS]:
            number += 1
        self._ends[end] = number
        self._first_end = min(self._first_end, end)
        self._begin(number, end)
        self._index_ends()

    def grow(self, number: int) -> None:
        """Room for more groups of a table."""
        segments, whole = self._segments[number], self._memory.whole
        if segments[0].room < whole:
            self._move(number, self._memory.size_for(2 * segments[0].room))
        else:
            self._put(number, [*segments, self._memory.take(whole)])

    def clear(self) -> None:
        """Forget all groups of the shared table."""
        machine.begin(self.rows[0], machine.FEWEST, machine.NEVER, self.shift)

    def all(self) -> list[Part]:
        return [Part(i, None) for i in np.flatnonzero(self.rows[:, machine.GROUPS]).tolist()]

    def take_changed(self) -> list[Part]:
        """The groups that have changed; they have not any more."""
        tables = np.flatnonzero(self.rows[:, machine.CHANGED]).tolist()
        return [Part(i, machine.take_changed(self.rows[i], self._width, self.stride, self.shift)) for i in tables]

    def ended(self, watermark: int | None) -> list[Part]:
        """The groups that the watermark ends, by when they end; `drop` must follow."""
        if watermark is None or self._end < 0:
            return []
        parts = []
        if self._first_end <= watermark:
            parts = [Part(self._ends[end], None) for end in sorted(self._ends) if end <= watermark]
        if self._known[machine.FIRST_END] <= watermark:
            shared = machine.ended(self.rows[0], self._width, self._end, watermark, self.stride, self.shift)
            parts.append(Part(0, shared))
        return parts

    def drop(self, ended: list[Part]) -> None:
        """Forget groups that have ended."""
        for number, listed in ended:
            if listed is not None:
                machine.remove(self.rows[0], listed, self._width, self._end, self.stride, self.shift)
                self._shrink()
                continue
            at = number * _KNOWN
            del self._ends[self._known[at + machine.FIRST_END]]
            self._expected = self._known[at + machine.GROUPS]
            self._memory.give(self._segments[number], self._expected)
            self._segments[number] = []
            self.rows[number] = 0
        self._first_end = min(self._ends, default=_NEVER)
        self._index_ends()

    def copy(self, parts: list[Part], marked: bool = False) -> Found:
        """What is in the cells of these groups, and their marks if that is asked for."""
        known, nulls, unseen, counts = self._known, 0, 0, []
        for number, listed in parts:
            at = number * _KNOWN
            nulls |= known[at + machine.NULLS]
            unseen += known[at + machine.UNSEEN]
            counts.append(known[at + machine.GROUPS] if listed is None else len(listed))
        wanted = self._cells(nulls != 0, unseen != 0, marked)
        out, at = np.empty((len(wanted), sum(counts)), np.int64), 0
        for (number, some), count in zip(parts, counts, strict=True):
            groups = _NOT_LISTED if some is None else some
            if count:
                machine.copy_out(self.rows[number], groups, count, wanted, out, at, self.stride, self.shift)
            at += count
        return Found(at, dict(zip(wanted.tolist(), out, strict=True)))

    def _cells(self, nulls: bool, unseen: bool, marked: bool) -> Cells:
        """Which cells of a group are wanted."""
        found = self._wanted.get((nulls, unseen, marked))
        if found is None:
            asked = np.ones(self.stride, np.bool_)
            asked[self._width - 1 : self._width + 2] = nulls, unseen, marked
            found = self._wanted[nulls, unseen, marked] = np.flatnonzero(asked)
        return found

    def _index_ends(self) -> None:
        used = max(self._ends.values(), default=0) + 1
        self.header[merging.USED] = used
        merging.index_ends(self.slots, self.rows, used)
        self.consider()

    def _begin(self, number: int, end: int) -> None:
        segments = self._memory.first(self._expected)
        self._put(number, segments)
        buckets = machine.PER_GROUP * min(sum(segment.room for segment in segments), self._expected)
        machine.begin(self.rows[number], max(buckets, machine.FEWEST), end, self.shift)

    def _put(self, number: int, segments: list[Segment]) -> None:
        """These are the segments of a table now."""
        self._segments[number] = segments
        self._addresses[number] = np.array(list(zip(*[s.addresses for s in segments], strict=True)), np.int64)
        at, here, each = number * _KNOWN, self._addresses[number].ctypes.data, 8 * len(segments)
        self._known[at + machine.ROOM] = sum(segment.room for segment in segments)
        for i, field in enumerate((machine.CELLS, machine.HEADS, machine.LISTS)):
            self._known[at + field] = here + i * each

    def _move(self, number: int, room: int) -> None:
        """Move a table that has one segment to one of that size."""
        (old,), new, at = self._segments[number], self._memory.take(room), number * _KNOWN
        groups, heads, changed = (self._known[at + i] for i in (machine.GROUPS, machine.BUCKETS, machine.CHANGED))
        new.cells[:groups] = old.cells[:groups]
        new.heads[:heads] = old.heads[:heads]
        new.changed[:changed] = old.changed[:changed]
        self._put(number, [new])

    def _shrink(self) -> None:
        """Give room of the shared table back if most of it is free."""
        groups, segments, whole = self._known[machine.GROUPS], self._segments[0], self._memory.whole
        if groups * _SHRINK >= self._known[machine.ROOM] or segments[0].room == SMALLEST:
            return
        if len(segments) > 1:
            self._put(0, segments[: max(2 * groups // whole, 1)])
        elif (smaller := self._memory.size_for(2 * groups)) < segments[0].room:
            self._move(0, smaller)
