"""How far a dataflow of Pathway is, told by commits: which rows each has, and which commits are through.

1. A commit is through when the last of its results is out. Commits are through in the order of their times.
2. An event takes effect when its commit is through. Latencies are those of rows that are due every fifty milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

from bench.libraries.board import Slot

EVERY_US = 50_000


class Progress:
    """Of one query. `time_us` says when a row is due."""

    def __init__(self, slot: Slot, time_us: Callable[[int], int], now_us: Callable[[], int]) -> None:
        self._slot = slot
        self._time_us = time_us
        self._now_us = now_us
        self._commits: dict[int, int] = {}
        """By time: the number of rows up to and with the commit. Not through yet."""
        self._ended = -1
        self._next_us = 0
        self.rows = 0
        self.moved = Event()
        """Set whenever a commit is through."""

    def on_rows(self, key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        """A commit has the rows before number `until`, and others."""
        self._commits[time] = max(self._commits.get(time, 0), row["until"])
        self._tell()

    def on_end(self, time: int) -> None:
        """A commit's results are out."""
        self._ended = max(self._ended, time)
        self._tell()

    def _tell(self) -> None:
        through = [time for time in self._commits if time <= self._ended]
        if not through:
            return
        self.rows = max(self.rows, *(self._commits.pop(time) for time in through))
        last = self._time_us(self.rows - 1)
        self._mark(last)
        self._slot.passed(self.rows, last)
        self.moved.set()

    def _mark(self, last_us: int) -> None:
        """Note what the sampled rows waited that were due up to then."""
        now = self._now_us()
        first = self._next_us or last_us
        for due in range(first, last_us + 1, EVERY_US):
            self._slot.mark(now - due)
            self._next_us = due + EVERY_US
