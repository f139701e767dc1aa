"""From stream progress to time: when will the window that a message belongs to be complete?

TRANSFORM gives the frontier progress, the logical time that must be seen before the window's results can leave;
PROGRESSMAP the physical time at which a source is expected to see it, by a linear fit over recent history.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

HISTORY = 64
FEWEST = 8
SPACING = 0.01
"""Seconds between points at least: a line through the jitter of a few milliseconds does not tell the next seconds."""
POOR_FIT = 0.25
"""A fit whose residuals are larger than this part of the time it looks ahead is not used."""


class Windows(NamedTuple):
    """Ends of windows: at `first`, and every `slide` before and after it. Results leave when event time is `delay`
    further (the watermark's delay). Microseconds."""

    first: int
    slide: int
    delay: int = 0

    def number(self, p: int) -> int:
        """How many windows have ended when event time is p, from an arbitrary start.

        >>> windows = Windows(first=10, slide=10, delay=2)
        >>> windows.number(11), windows.number(12), windows.number(22)
        (0, 1, 2)
        """
        return (p - self.delay - self.first) // self.slide + 1

    def frontier(self, number: int) -> int:
        """TRANSFORM: the event time at which the window that is open when `number` have ended is complete.

        >>> windows = Windows(first=10, slide=10)
        >>> windows.frontier(windows.number(7)), windows.frontier(windows.number(10))
        (10, 20)
        """
        return self.first + number * self.slide + self.delay


class ProgressMap:
    """A running linear fit of physical time (seconds) on logical time (microseconds).

    >>> progress = ProgressMap()
    >>> for second in range(10):
    ...     progress.update(second * 1_000_000, second + 2.0)
    >>> progress.time_of(11_000_000)
    13.0
    """

    __slots__ = ("_history", "_p0", "_pp", "_pt", "_sum_p", "_sum_t", "_t0", "_tt", "_updates")

    def __init__(self) -> None:
        self._history: deque[tuple[int, float]] = deque()
        self._rebase(0, 0.0)

    def _rebase(self, p: int, t: float) -> None:
        """Sums over all history, of seconds since (p, t)."""
        self._p0, self._t0 = p, t
        self._sum_p = self._sum_t = self._pp = self._pt = self._tt = 0.0
        self._updates = 0
        for point in self._history:
            self._add(*point, 1.0)

    def update(self, p: int, t: float) -> None:
        """Event time p was seen at t."""
        history = self._history
        if history and -SPACING < t - history[-1][1] < SPACING:
            return
        if self._updates % HISTORY == 0:
            # Sums that points enter and leave for ever lose their digits.
            self._rebase(*(history[-1] if history else (p, t)))
        self._updates += 1
        history.append((p, t))
        self._add(p, t, 1.0)
        if len(history) > HISTORY:
            self._add(*history.popleft(), -1.0)

    def _add(self, p: int, t: float, sign: float) -> None:
        x, y = (p - self._p0) / 1e6, t - self._t0
        self._sum_p += sign * x
        self._sum_t += sign * y
        self._pp += sign * x * x
        self._pt += sign * x * y
        self._tt += sign * y * y

    def time_of(self, p: int) -> float | None:
        """When p is expected, or None if history does not tell."""
        count = len(self._history)
        if count < FEWEST:
            return None
        spread = self._pp - self._sum_p * self._sum_p / count
        if spread <= 1e-9 * self._pp:
            return None
        together = self._pt - self._sum_p * self._sum_t / count
        slope = together / spread
        residual = max(0.0, (self._tt - self._sum_t * self._sum_t / count - slope * together) / count) ** 0.5
        x = (p - self._p0) / 1e6
        expected = self._sum_t / count + slope * (x - self._sum_p / count)
        # Not from the time of the newest point: after a jump of the clock that is no part of the line.
        ahead = slope * (p - self._history[-1][0]) / 1e6
        if slope <= 0.0 or residual > POOR_FIT * max(ahead, 0.001):
            return None
        return self._t0 + expected
