"""Rows kept by key, found by the hash of their key, and forgotten when their time has come.

1. What comes in is a segment, whose rows have consecutive numbers; one index finds the rows of all segments by number.
2. The last segments become one when they are tiny, when they are many and small, and when they are large enough
   together that to copy their rows once more costs more than to look into a few segments. Rows keep their numbers. So a
   row is copied once or twice.
3. Rows that are lost, as they have ended or are gone, stay until they are half of all. Then what is left of segments of
   which they are half is kept as new rows; a segment of which nothing is left is dropped at once. What is left of the
   first segment is also kept as new rows when there are many more numbers than rows: else one row could hold them all.
4. A segment is in a checkpoint, or it is not: only alike ones become one. So those that are not are what is new.
5. Segments are put in order of times when the first of their rows ends.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.kernels.hash_index import LAST, HashIndex

Hashes = npt.NDArray[np.uint64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = 2**63 - 1
"""The time of a row that never ends."""
_LARGE = 1 << 16
"""Rows of a segment that becomes one with others no more."""
_BYTES = 32 << 20
"""Segments of wide rows are large with fewer: so many bytes."""
_SMALL, _TINY, _FEW = 16, 64, 1024
"""Segments are small, or tiny together, that have this fraction of the rows of a large one; or so few rows of it have
ended that they may stay however few others there are."""
_FAN = 16
"""So many small segments become one."""
_MANY = 1 << 13
"""Numbers that may be kept however few rows there are."""
_INTS, _READ = numba.int64[::1], numba.types.Array(numba.int64, 1, "C", readonly=True)


@dataclass(eq=False)
class Segment:
    """Rows and their times: a row has ended when the store's time has reached its own.

    `marked` says of each what the owner likes; a row that is `gone` is not found any more.
    """

    rows: pa.RecordBatch
    index: HashIndex
    start: int
    """The number of the first row in the index."""
    times: Rows
    marked: Flags
    gone: Flags
    saved: bool = False
    """It is in a checkpoint."""
    ended: int = 0
    """How many have ended: so many of the first by time."""
    lost: int = 0
    """How many have ended or are gone."""

    @property
    def stop(self) -> int:
        """The number after the last row's."""
        return self.start + len(self.times)

    @property
    def left(self) -> int:
        """How many have not ended and are not gone."""
        return len(self.times) - self.lost

    @cached_property
    def due(self) -> int:
        """When the next row ends."""
        return int(self.times.min())

    def lose(self, rows: Rows) -> None:
        """Let rows be gone, each of which is not."""
        self.gone[rows] = True
        self._lose(rows)

    def end(self, until: int) -> Rows:
        """Let rows end; gives those that are not gone."""
        times, order = self.by_time
        before, self.ended = self.ended, int(np.searchsorted(times, until, "right"))
        self.due = int(times[self.ended]) if self.ended < len(times) else NEVER + 1
        rows = order[before : self.ended]
        if self.lost > before:
            rows = rows[~self.gone[rows]]
        self._lose(rows)
        return rows

    def held(self, until: int) -> Rows:
        """The rows that have not ended by then and are not gone."""
        if not self.lost:
            return np.arange(len(self.times))
        return np.flatnonzero((self.times > until) & ~self.gone)

    def taken(self, rows: Rows) -> pa.RecordBatch:
        """Some of the rows, in order; no copy if they are all."""
        return self.rows if len(rows) == len(self.times) else self.rows.take(pa.array(rows))

    @property
    def bytes(self) -> int:
        sorted_times = self.by_time if "by_time" in self.__dict__ else ()
        return self._bytes + sum(int(part.nbytes) for part in (self.times, self.marked, self.gone, *sorted_times))

    @cached_property
    def by_time(self) -> tuple[Rows, Rows]:
        """The times in order, and the row of each."""
        order = np.argsort(self.times, kind="stable")
        return self.times[order], order

    @cached_property
    def _bytes(self) -> int:
        """Counted once: Arrow looks through all buffers for it."""
        return int(self.rows.nbytes)

    def _lose(self, rows: Rows) -> None:
        self.lost += len(rows)
        self.index.lose(rows + self.start)


class Found(NamedTuple):
    """Pairs of rows with equal hashes: `asked` counts in what was asked for, `rows` in the segment."""

    segment: Segment
    asked: Rows
    rows: Rows


class KeyedRows:
    """See the module."""

    def __init__(self) -> None:
        self._index = HashIndex()
        self._segments: list[Segment] = []
        self._starts = array("q")
        """The first number of each segment; they rise."""
        self._held = 0
        """How many rows the segments have."""
        self._until = -NEVER
        self._large = _LARGE
        self._added = 0
        """How many batches were added."""
        self._loose = self._loose_rows = 0
        """How many segments, and rows, since there was last a look at whether some can become one."""
        self._tidied = self._lost()
        """How many rows were lost when there was last a look at them."""

    @property
    def count(self) -> int:
        """How many rows are held."""
        return self._index.count

    @property
    def bytes(self) -> int:
        """How much memory they take, with what finds them."""
        return self._index.bytes + sum(segment.bytes for segment in self._segments)

    def add(self, rows: pa.RecordBatch, hashes: Hashes, times: Rows, marked: Flags | None = None) -> None:
        """Keep `rows`; none of them has ended."""
        if not rows.num_rows:
            return
        if self._index.next + rows.num_rows > LAST:
            self._number_anew()
        if self._added % _FAN == 0:
            self._large = max(1, min(_LARGE, _BYTES * rows.num_rows // max(1, rows.nbytes)))
        self._added += 1
        if rows.num_rows >= self._large:
            # What comes before will not become one with what comes after.
            self._join(self._last(self._large))
        self._append(rows, hashes, times, np.zeros(rows.num_rows, np.bool_) if marked is None else marked, False)
        if not self._join_tiny():
            self._loose += 1
        self._loose_rows += rows.num_rows
        if self._loose >= _FAN or self._loose_rows >= self._large:
            self._join_last()
        if self._much_is_lost():
            self._tidy()

    def find(self, hashes: Hashes) -> Iterator[Found]:
        """The rows that are held with any of the hashes. Their keys may still be different."""
        asked, numbers = self._index.find(hashes)
        if not len(asked):
            return
        asked, rows, ends = _by_segment(np.frombuffer(self._starts, np.int64), asked, numbers)
        before = 0
        for at in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
            end = int(ends[at])
            yield Found(self._segments[at], asked[before:end], rows[before:end])
            before = end

    def end(self, until: int) -> Iterator[tuple[Segment, Rows]]:
        """Let the rows end whose time is not after `until`; gives those that are not gone. Exhaust it."""
        self._until = max(self._until, until)
        for segment in [s for s in self._segments if s.due <= self._until]:
            rows = segment.end(self._until)
            if len(rows):
                yield segment, rows
        self._tidy()

    def held(self) -> Iterator[tuple[Segment, Rows]]:
        """All that is held."""
        for segment in self._segments:
            rows = segment.held(self._until)
            if len(rows):
                yield segment, rows

    def unsaved(self) -> list[tuple[Segment, Rows]]:
        """What is held and not saved. Now it is."""
        found = [(segment, segment.held(self._until)) for segment in self._segments if not segment.saved]
        self.saved()
        return [(segment, rows) for segment, rows in found if len(rows)]

    def saved(self) -> None:
        """All that is held is in a checkpoint now."""
        for segment in self._segments:
            segment.saved = True
        groups = [list(group) for _, group in groupby(self._segments, lambda s: len(s.times) >= self._large)]
        # As in `add`, but those before a large one may have been unlike until now.
        for group in groups[:-1]:
            if len(group[0].times) < self._large:
                self._join(group)
        self._join_tiny()
        self._join_last()

    def _append(self, rows: pa.RecordBatch, hashes: Hashes, times: Rows, marked: Flags, saved: bool) -> None:
        start = self._index.add(hashes)
        self._segments.append(Segment(rows, self._index, start, times, marked, np.zeros(len(times), np.bool_), saved))
        self._starts.append(start)
        self._held += len(times)

    def _join_tiny(self) -> bool:
        """Make one of the last two segments if they are tiny; whether they were."""
        last = self._segments[-2:]
        if len(last) < 2 or last[0].saved != last[1].saved:
            return False
        if sum(len(segment.times) for segment in last) > self._large // _TINY:
            return False
        self._join(last)
        return True

    def _join_last(self) -> None:
        """Make one of the last segments if they are large together, or of those that are small if they are many."""
        self._loose = self._loose_rows = 0
        last, small = self._last(self._large), self._last(self._large // _SMALL)
        if sum(len(segment.times) for segment in last) >= self._large:
            self._join(last)
        elif len(small) >= _FAN:
            self._join(small)

    def _last(self, below: int) -> list[Segment]:
        """The last segments that have fewer rows and are alike saved or not."""
        last: list[Segment] = []
        for segment in reversed(self._segments):
            if len(segment.times) >= below or segment.saved != self._segments[-1].saved:
                break
            last.append(segment)
        return last[::-1]

    def _join(self, parts: list[Segment]) -> None:
        """Make one of segments that follow each other."""
        if len(parts) < 2:
            return
        if any(one.stop != next.start for one, next in pairwise(parts)):
            self._renew(parts)
            return
        joined = Segment(
            pa.concat_batches([part.rows for part in parts]),
            self._index,
            parts[0].start,
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.marked for part in parts]),
            np.concatenate([part.gone for part in parts]),
            parts[0].saved,
            sum(part.ended for part in parts),
            sum(part.lost for part in parts),
        )
        at = bisect_left(self._starts, joined.start)
        self._segments[at : at + len(parts)] = [joined]
        self._starts[at : at + len(parts)] = array("q", [joined.start])

    def _much_is_lost(self) -> bool:
        return self._held > 2 * self._index.count + self._large // _FEW

    def _tidy(self) -> None:
        """See 3. No more rows are moved than were lost since the last time, but for one segment: others wait for it."""
        if not all(segment.left for segment in self._segments):
            self._keep(segment for segment in self._segments if segment.left)
        most = self._lost() - self._tidied
        if self._much_is_lost():
            chosen = []
            for segment in sorted(self._segments, key=lambda one: one.left / len(one.times)):
                if most < 0 or 2 * segment.left > len(segment.times):
                    break
                chosen.append(segment)
                most -= segment.left
            self._renew(chosen)
        while most >= 0 and self._segments and self._index.next - self._starts[0] > 4 * self.count + _MANY:
            most -= self._segments[0].left
            self._renew(self._segments[:1])
        self._index.forget(self._starts[0] if self._segments else self._index.next)
        self._tidied = self._lost()

    def _lost(self) -> int:
        """How many numbers there are of rows that are not held, or have another number now."""
        return self._index.next - self._index.count

    def _keep(self, segments: Iterable[Segment]) -> None:
        """Only these."""
        self._segments = list(segments)
        self._starts = array("q", [segment.start for segment in self._segments])
        self._held = sum(len(segment.times) for segment in self._segments)

    def _renew(self, segments: list[Segment]) -> None:
        """Keep what is left of segments as new rows, in segments that are not too large, instead of them."""
        dropped = set(segments)
        self._keep(segment for segment in self._segments if segment not in dropped)
        for saved in (True, False):
            left: list[Segment] = []
            for segment in segments:
                if segment.saved is saved:
                    left.append(segment)
                    if sum(one.left for one in left) >= self._large:
                        self._append_left(left)
                        left = []
            self._append_left(left)

    def _append_left(self, segments: list[Segment]) -> None:
        """Keep what is left of segments, which are alike saved or not, as new rows."""
        held = [(segment, segment.held(self._until)) for segment in segments if segment.left]
        if not held:
            return
        numbers = np.concatenate([rows + segment.start for segment, rows in held])
        hashes = self._index.hashes(numbers)
        self._index.lose(numbers)
        rows = [segment.taken(rows) for segment, rows in held]
        self._append(
            rows[0] if len(rows) == 1 else pa.concat_batches(rows),
            hashes,
            np.concatenate([segment.times[rows] for segment, rows in held]),
            np.concatenate([segment.marked[rows] for segment, rows in held]),
            segments[0].saved,
        )

    def _number_anew(self) -> None:
        """Number all rows from the beginning: rule 1 of the index has an end, after years."""
        old, self._index = self._index, HashIndex()
        for segment in self._segments:
            hashes = old.hashes(np.arange(segment.start, segment.stop))
            segment.index, segment.start = self._index, self._index.add(hashes)
            lost = np.ones(len(hashes), np.bool_)
            lost[segment.held(self._until)] = False
            self._index.lose(np.flatnonzero(lost) + segment.start)
        self._keep(self._segments)
        self._tidied = self._lost()


@numba.njit(  # type: ignore[untyped-decorator]
    numba.types.Tuple((_INTS, _INTS, _INTS))(_READ, _READ, _READ), nogil=True, cache=True
)
def _by_segment(starts: Any, asked: Any, numbers: Any) -> tuple[Any, Any, Any]:
    """The pairs in order of their segments: what is asked for, the row in the segment; and where each segment's end."""
    places, ends = np.empty(len(numbers), np.int64), np.zeros(len(starts), np.int64)
    for pair in range(len(numbers)):
        low, high = 0, len(starts)
        while high - low > 1:
            middle = (low + high) >> 1
            if starts[middle] <= numbers[pair]:
                low = middle
            else:
                high = middle
        places[pair] = low
        ends[low] += 1
    before = 0
    for segment in range(len(starts)):
        ends[segment], before = before, before + ends[segment]
    sorted_asked, rows = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
    for pair in range(len(numbers)):
        at = ends[places[pair]]
        ends[places[pair]] = at + 1
        sorted_asked[at], rows[at] = asked[pair], numbers[pair] - starts[places[pair]]
    return sorted_asked, rows, ends
