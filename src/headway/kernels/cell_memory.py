"""The memory that tables of groups are in: segments, kept from one window for the next.

1. The first touch of fresh memory is slow: a table that needs a segment gets one that another table has left, else one
   whose pages a thread has made ahead.
2. As many are kept as the groups of the last table needed, or half of those kept before if that is more.
3. Most tables are small. They have one segment, which is small too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from headway.kernels.compiled.group_tables import PER_GROUP
from headway.mapped import Ahead

_BYTES = 1 << 21
"""Of a whole segment, at most: a large page."""
SMALLEST = 256
_SIZES = (SMALLEST, 2048, 16384)
"""Groups of segments that are not whole."""


class Segment(NamedTuple):
    """Memory for so many groups: their cells, their buckets, and a list of those that have changed."""

    room: int
    cells: npt.NDArray[np.int64]
    heads: npt.NDArray[np.int32]
    changed: npt.NDArray[np.int32]
    addresses: tuple[int, int, int]
    """Of the three."""


class Segments:
    """Of groups of so many cells."""

    def __init__(self, stride: int) -> None:
        self._stride = stride
        self.shift = max((_BYTES // (8 * stride + 4 * PER_GROUP + 4)).bit_length() - 1, SMALLEST.bit_length() - 1)
        self.whole = 1 << self.shift
        """Groups of a whole one."""
        self._sizes = [size for size in _SIZES if size < self.whole]
        self._spare: dict[int, list[Segment]] = {size: [] for size in (*self._sizes, self.whole)}
        self._kept = 0
        """So many groups may be in spare segments."""
        self._ahead = Ahead()

    def size_for(self, groups: int) -> int:
        """The least segment that has room for so many, or a whole one."""
        for size in self._sizes:
            if size >= groups:
                return size
        return self.whole

    def first(self, groups: int) -> list[Segment]:
        """Segments of a table that may come to have so many groups: spare ones, or one."""
        size = self.size_for(groups)
        count = min(-(-groups // size), len(self._spare[size]))
        return [self.take(size) for _ in range(max(count, 1))]

    def take(self, room: int) -> Segment:
        if self._spare[room]:
            return self._spare[room].pop()
        cells, heads, lists = room * self._stride, room * PER_GROUP // 2, room // 2
        shape = (cells + heads + lists,)
        if room == self.whole:
            memory = self._ahead.take(shape, np.int64)
            self._ahead.order(shape, np.int64)
        else:
            memory = np.empty(shape, np.int64)
        at = memory.ctypes.data
        return Segment(
            room,
            memory[:cells].reshape(room, self._stride),
            memory[cells : cells + heads].view(np.int32),
            memory[cells + heads :].view(np.int32),
            (at, at + 8 * cells, at + 8 * (cells + heads)),
        )

    def give(self, segments: list[Segment], groups: int) -> None:
        """A table was left that had so many groups."""
        for segment in segments:
            self._spare[segment.room].append(segment)
        self._kept = max(groups, self._kept // 2)
        over = self.spare - self._kept
        for room, spare in reversed(self._spare.items()):
            while over >= room and spare:
                spare.pop()
                over -= room

    @property
    def spare(self) -> int:
        """Groups that there is room for in spare segments."""
        return sum(room * len(spare) for room, spare in self._spare.items())
