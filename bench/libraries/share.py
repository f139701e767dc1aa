"""Rows by number, as in `bench.numbered`: row i is row i mod n of a ring and is due at t0 + i / rate.

Share k of n has the rows whose number is k mod n. Without a rate, rows are due as soon as they are taken.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

UNPACED_ROWS_PER_US = 100
"""How much event time rows take that come without a rate."""
_LEAST = 1 << 17
"""Rows of a share that are made once, before the run; several turns of a short ring."""


class Share:
    """The rows of a share as they come due."""

    def __init__(self, first: int, step: int, t0_us: int, rate: int) -> None:
        self._next = first
        self._step = step
        self._t0 = t0_us
        self._rate = rate

    def take(self, now_us: int, most: int) -> range:
        """The numbers of the next rows that are due; they are not given again."""
        numbers = range(self._next, self._scheduled(now_us, most), self._step)[:most]
        if numbers:
            self._next = numbers[-1] + self._step
        return numbers

    def _scheduled(self, now_us: int, most: int) -> int:
        if self._rate == 0:
            return self._next + most * self._step
        return (now_us - self._t0) * self._rate // 1_000_000 + 1 if now_us >= self._t0 else 0

    @property
    def next(self) -> int:
        return self._next

    def time_us(self, number: Any) -> Any:
        """When a row is due, or each of an array of them."""
        if self._rate == 0:
            return self._t0 + number // UNPACED_ROWS_PER_US
        return self._t0 + number * 1_000_000 // self._rate


class RingRows:
    """The rows of a share as tuples: the event time in microseconds, then the ring's columns."""

    def __init__(self, ring: dict[str, Any], first: int, step: int) -> None:
        rows = len(next(iter(ring.values())))
        turn = rows // gcd(rows, step)
        at = (first + np.arange(turn * max(1, _LEAST // turn)) * step) % rows
        self._columns = [column[at].tolist() for column in ring.values()]
        self._step = step
        self._rows = len(at)

    def contiguous(self, first: int) -> int:
        """At most so many rows may be made at once from the one with number `first` on."""
        return self._rows - first // self._step % self._rows

    def tuples(self, numbers: range, share: Share) -> list[tuple[Any, ...]]:
        first = numbers[0] // self._step % self._rows
        last = first + len(numbers)
        times = share.time_us(np.arange(numbers.start, numbers.stop, numbers.step)).tolist()
        return list(zip(times, *(column[first:last] for column in self._columns), strict=True))
