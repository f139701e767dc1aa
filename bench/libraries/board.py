"""Numbers that the bench and a peer's program tell each other while a trial runs, in a file that both map.

1. All are 64-bit integers, and each has one writer: there are no locks.
2. The bench writes when row 0 is due, and that it is over. A program writes the rest, in slots: one for each source.
3. The latencies of the newest marked rows are kept in a ring; who wants those of a while asks how many there were
   before it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

MARKS = 4096
"""Latencies that a slot keeps: minutes of them."""
_BEGIN, _OVER, _HEADER = 0, 1, 2
_OPEN, _ROWS, _THROUGH, _MARKED, _RING = 0, 1, 2, 3, 4


class Slot:
    """What one source has done."""

    def __init__(self, numbers: Any) -> None:
        self._numbers = numbers

    def open(self) -> None:
        self._numbers[_OPEN] = 1

    def passed(self, rows: int, through_us: int) -> None:
        """So many rows have gone on so far, the last of which was due then."""
        self._numbers[_ROWS] = rows
        self._numbers[_THROUGH] = through_us

    def mark(self, latency_us: int) -> None:
        """A marked row has reached the end of the query."""
        marked = int(self._numbers[_MARKED])
        self._numbers[_RING + marked % MARKS] = latency_us
        self._numbers[_MARKED] = marked + 1


class Board:
    """The file; `new` makes it."""

    def __init__(self, path: Path, slots: int, new: bool = False) -> None:
        width = _RING + MARKS
        whole = np.memmap(path, np.int64, "w+" if new else "r+", shape=_HEADER + slots * width)
        self._header = whole[:_HEADER]
        self._slots = whole[_HEADER:].reshape(slots, width)

    def slot(self, number: int) -> Slot:
        return Slot(self._slots[number])

    @property
    def begin_us(self) -> int:
        """When row 0 is due; 0: it is not known yet."""
        return int(self._header[_BEGIN])

    def begin_at(self, micros: int) -> None:
        self._header[_BEGIN] = micros

    @property
    def over(self) -> bool:
        return bool(self._header[_OVER])

    def end(self) -> None:
        self._header[_OVER] = 1

    def all_open(self) -> bool:
        return bool(self._slots[:, _OPEN].all())

    def rows(self) -> int:
        """That have gone on, of all sources."""
        return int(self._slots[:, _ROWS].sum())

    def through_us(self) -> int:
        """When the last row was due that has gone on, of the source that is farthest behind."""
        return int(np.maximum(self._slots[:, _THROUGH], self.begin_us).min())

    def lag_us(self, now_us: int) -> int:
        """How old the next row is that has to go on, or the newest marked row was when it was through."""
        newest = [slot[_RING + (int(slot[_MARKED]) - 1) % MARKS] for slot in self._slots if slot[_MARKED]]
        return max(now_us - self.through_us(), *map(int, newest), 0)

    def marked(self) -> list[int]:
        """How many latencies there were, by slot."""
        return [int(count) for count in self._slots[:, _MARKED]]

    def latencies_ms(self, since: list[int]) -> Any:
        """Those that came after `marked` gave `since`."""
        found = [
            slot[_RING + np.arange(max(first, int(slot[_MARKED]) - MARKS), int(slot[_MARKED])) % MARKS]
            for slot, first in zip(self._slots, since, strict=True)
        ]
        return np.concatenate(found) / 1000
