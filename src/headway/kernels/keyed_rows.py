"""Rows kept by key, found by the hash of their key, and forgotten when their time has come.

1. What comes in is a segment. When the last few segments are of about one size, or small, they become one; so there are
   few segments, and a row is moved a logarithmic number of times.
2. A filter says of a hash that it may be there: most rows of most streams find nothing, and cost one look.
3. A segment gets a directory when it is first looked through: the first bits of a hash, about as many as tell its rows
   apart, say where to look. It is put in order of times when the first of its rows ends. Ended rows are skipped, and
   leave for good when they are half of their segment.
4. Segments that are in a checkpoint come first, and become one only with each other: so the others are what is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = 2**63 - 1
"""The time of a row that never ends."""
_FAN = 8
_LARGEST = 1 << 17
"""Rows of a segment that is not merged any more: to copy rows once more costs more than to look into a few segments,
and the heap keeps pieces of memory of this size."""
_SMALL = 1024
"""Rows of a segment that takes in the next one at once: to copy so few costs less than to look into one more."""
_SLOTS = 16
_FEWEST_SLOTS = 1 << 12
_HASHES = numba.types.Array(numba.uint64, 1, "C", readonly=True)


@dataclass(eq=False)
class Segment:
    """Rows, the hash of each one's key, and its time: it has ended when the store's time has reached it.

    `marked` says of each what the owner likes; a row that is `gone` is not found any more.
    """

    rows: pa.RecordBatch
    hashes: Hashes
    times: Rows
    marked: Flags
    gone: Flags
    ended: int = 0
    """How many have ended: so many of the first by time."""
    lost: int = 0
    """How many are gone."""

    @cached_property
    def first(self) -> int:
        """When the first row ends."""
        return int(self.times.min())

    def lose(self, rows: Rows) -> None:
        """Let rows be gone, each of which is not."""
        self.gone[rows] = True
        self.lost += len(rows)

    def held(self, until: int) -> Rows:
        """The rows that have not ended by then and are not gone."""
        if not self.lost and self.first > until:
            return np.arange(len(self.times))
        return np.flatnonzero((self.times > until) & ~self.gone)

    def taken(self, rows: Rows) -> pa.RecordBatch:
        """Some of the rows, in order; no copy if they are all."""
        return self.rows if len(rows) == len(self.times) else self.rows.take(pa.array(rows))

    @cached_property
    def bytes(self) -> int:
        """Counted once: Arrow looks through all buffers for it."""
        return sum(int(part.nbytes) for part in (self.rows, self.hashes, self.times, self.marked, self.gone))

    @cached_property
    def by_hash(self) -> tuple[Places, Places]:
        """Where the rows begin whose hash has the same first bits, for all that those may be, and the rows in order."""
        bits = max(4, len(self.hashes).bit_length())
        starts, order = _directory(self.hashes, bits)
        return starts, order

    @cached_property
    def by_time(self) -> tuple[Rows, Rows]:
        """The times in order, and the row of each."""
        order = np.argsort(self.times, kind="stable")
        return self.times[order], order


class Found(NamedTuple):
    """Pairs of rows with equal hashes: `asked` counts in what was asked for, `rows` in the segment."""

    segment: Segment
    asked: Rows
    rows: Rows


class KeyedRows:
    """See the module."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._saved = 0
        """So many of the first are in a checkpoint."""
        self._until = -NEVER
        self._filter: Flags = np.zeros(_FEWEST_SLOTS, np.bool_)
        self._shift = _shift(_FEWEST_SLOTS)
        self._filtered = 0
        """How many hashes the filter was told."""

    @property
    def count(self) -> int:
        """How many rows are held."""
        return sum(
            len(s.times) - s.ended - (_count(s.gone & (s.times > self._until)) if s.lost else 0) for s in self._segments
        )

    @property
    def bytes(self) -> int:
        """How much memory they take, with what finds them."""
        return self._filter.nbytes + sum(segment.bytes for segment in self._segments)

    def add(self, rows: pa.RecordBatch, hashes: Hashes, times: Rows, marked: Flags | None = None) -> None:
        """Keep `rows`; none of them has ended."""
        if not rows.num_rows:
            return
        none = np.zeros(rows.num_rows, np.bool_)
        new = [Segment(rows, hashes, times, none.copy() if marked is None else marked, none)]
        if len(self._segments) > self._saved and rows.num_rows + len(self._segments[-1].times) <= _SMALL:
            new = [_merged([self._segments.pop(), *new], self._until)]
        self._segments += new
        self._tell(hashes)
        while self._last_are_alike():
            self._segments[-_FAN:] = [_merged(self._segments[-_FAN:], self._until)]

    def find(self, hashes: Hashes) -> Iterator[Found]:
        """The rows that are held with any of the hashes. Their keys may still be different."""
        asked = np.flatnonzero(self._filter[hashes >> self._shift])
        if not len(asked):
            return
        wanted = hashes[asked]
        for segment in self._segments:
            found = _look(segment, asked, wanted)
            if segment.lost or segment.first <= self._until:
                held = segment.times[found.rows] > self._until
                held &= ~segment.gone[found.rows]
                found = Found(segment, found.asked[held], found.rows[held])
            if len(found.rows):
                yield found

    def end(self, until: int) -> Iterator[tuple[Segment, Rows]]:
        """Let the rows end whose time is not after `until`; gives those that are not gone. Exhaust it."""
        self._until = max(self._until, until)
        for segment in [s for s in self._segments if s.first <= self._until]:
            times, order = segment.by_time
            before, segment.ended = segment.ended, int(np.searchsorted(times, self._until, "right"))
            rows = order[before : segment.ended]
            yield segment, rows[~segment.gone[rows]]
        self._tidy()

    def held(self) -> Iterator[tuple[Segment, Rows]]:
        """All that is held."""
        for segment in self._segments:
            rows = segment.held(self._until)
            if len(rows):
                yield segment, rows

    def unsaved(self) -> list[tuple[Segment, Rows]]:
        """What is held and not saved. Now it is."""
        found = [(segment, segment.held(self._until)) for segment in self._segments[self._saved :]]
        self.saved()
        return [(segment, rows) for segment, rows in found if len(rows)]

    def saved(self) -> None:
        """All that is held is in a checkpoint now."""
        rows, last = 0, 0
        for segment in reversed(self._segments):
            more = len(segment.times)
            if rows + more > _LARGEST or (rows and more > _FAN * rows):
                break
            rows, last = rows + more, last + 1
        if last > 1:
            merged = _merged(self._segments[-last:], self._until)
            self._segments[-last:] = [merged] if len(merged.times) else []
        self._saved = len(self._segments)

    def _tidy(self) -> None:
        kept, saved = [], 0
        for number, segment in enumerate(self._segments):
            if 2 * segment.ended > len(segment.times):
                segment = _merged([segment], self._until)
            if len(segment.times):
                kept.append(segment)
                saved += number < self._saved
        self._segments, self._saved = kept, saved

    def _last_are_alike(self) -> bool:
        sizes = [len(segment.times) for segment in self._segments[self._saved :][-_FAN:]]
        return len(sizes) == _FAN and sizes[0] <= _FAN * sum(sizes[1:]) and sum(sizes) <= _LARGEST

    def _tell(self, hashes: Hashes) -> None:
        self._filtered += len(hashes)
        if self._filtered * _SLOTS // 2 <= len(self._filter):
            self._filter[hashes >> self._shift] = True
            return
        self._filtered = sum(len(segment.times) for segment in self._segments)
        size = max(_FEWEST_SLOTS, 1 << (self._filtered * _SLOTS - 1).bit_length())
        self._filter, self._shift = np.zeros(size, np.bool_), _shift(size)
        for segment in self._segments:
            self._filter[segment.hashes >> self._shift] = True


def _shift(slots: int) -> np.uint64:
    """How far a hash is shifted so that its first bits count the slots."""
    return np.uint64(65 - slots.bit_length())


def _count(flags: Flags) -> int:
    return int(np.count_nonzero(flags))


def _look(segment: Segment, asked: Rows, wanted: Hashes) -> Found:
    """The rows of `segment` with a hash of `wanted`; `asked` tells which those are."""
    pairs, rows = _pairs(*segment.by_hash, segment.hashes, wanted)
    return Found(segment, asked[pairs], rows)


@numba.njit(  # type: ignore[untyped-decorator]
    numba.types.Tuple((numba.int32[::1], numba.int32[::1]))(_HASHES, numba.int64), nogil=True, cache=True
)
def _directory(hashes: Any, bits: int) -> tuple[Any, Any]:
    shift = np.uint64(64 - bits)
    starts, order = np.zeros((1 << bits) + 1, np.int32), np.empty(len(hashes), np.int32)
    for row in range(len(hashes)):
        starts[np.int64(hashes[row] >> shift) + 1] += 1
    for slot in range(1, len(starts)):
        starts[slot] += starts[slot - 1]
    free = starts[:-1].copy()
    for row in range(len(hashes)):
        bucket = np.int64(hashes[row] >> shift)
        order[free[bucket]] = row
        free[bucket] += 1
    return starts, order


@numba.njit(  # type: ignore[untyped-decorator]
    numba.types.Tuple((numba.int64[::1], numba.int64[::1]))(numba.int32[::1], numba.int32[::1], _HASHES, _HASHES),
    nogil=True,
    cache=True,
)
def _pairs(starts: Any, order: Any, hashes: Any, wanted: Any) -> tuple[Any, Any]:
    """Pairs of equal hashes: which one is wanted, and the row that has it."""
    bits = 0
    while 1 << bits < len(starts) - 1:
        bits += 1
    shift = np.uint64(64 - bits)
    pairs, rows, count = np.empty(len(wanted), np.int64), np.empty(len(wanted), np.int64), 0
    for at in range(len(wanted)):
        slot = np.int64(wanted[at] >> shift)
        for place in range(starts[slot], starts[slot + 1]):
            row = order[place]
            if hashes[row] == wanted[at]:
                if count == len(pairs):
                    pairs = np.concatenate((pairs, np.empty(count, np.int64)))
                    rows = np.concatenate((rows, np.empty(count, np.int64)))
                pairs[count], rows[count] = at, row
                count += 1
    return pairs[:count].copy(), rows[:count].copy()


def _merged(segments: list[Segment], until: int) -> Segment:
    """One segment of all that is held in `segments`."""
    kept = [(segment, segment.held(until)) for segment in segments]
    batches = [segment.taken(rows) for segment, rows in kept]
    times = np.concatenate([segment.times[rows] for segment, rows in kept])
    return Segment(
        pa.concat_batches(batches),
        np.concatenate([segment.hashes[rows] for segment, rows in kept]),
        times,
        np.concatenate([segment.marked[rows] for segment, rows in kept]),
        np.zeros(len(times), np.bool_),
    )
