"""The time of a process, in seconds since the epoch, that never goes back.

A wall clock may be set. Forward, time follows within a millisecond. Backward it does not: it goes on evenly, as the
monotonic clock does, so that no timer waits for an hour to come again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

LOOK_EVERY = 0.001


class Clock:
    """
    >>> wall, even = [100.0], [1.0]
    >>> clock = Clock(lambda: wall[0], lambda: even[0])
    >>> wall[0], even[0] = 40.0, 2.0    # set back by a minute after one second
    >>> clock.now()
    101.0
    >>> wall[0], even[0] = 300.0, 3.0
    >>> clock.now()
    300.0
    """

    __slots__ = ("_even", "_looks", "_offset", "_wall")

    def __init__(self, wall: Callable[[], float] = time.time, even: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._even = even
        self._offset = wall() - even()
        self._looks = -inf
        """When to look at the wall clock again, by the other one."""

    def now(self) -> float:
        even = self._even()
        if even >= self._looks:
            even = self._look()
        return even + self._offset

    def _look(self) -> float:
        # In this order: a process that is held up in between must not take that for a clock that was set forward.
        wall = self._wall()
        even = self._even()
        self._offset = max(self._offset, wall - even)
        self._looks = even + LOOK_EVERY
        return even
