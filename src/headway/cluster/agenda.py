"""Who is due when: asking costs nothing for those who are not due, however many they are. Pure.

Somebody moved to an earlier time leaves an entry behind in the heap; it is skipped when its time comes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Who = TypeVar("Who", bound=Hashable)


class Agenda(Generic[Who]):
    """Everybody is in it once at most.

    >>> agenda = Agenda[str]()
    >>> agenda.at(5.0, "late")
    >>> agenda.at(3.0, "early")
    >>> agenda.next(), list(agenda.due(4.0)), agenda.next()
    (3.0, ['early'], 5.0)
    """

    def __init__(self) -> None:
        self._times: dict[Who, float] = {}
        self._heap: list[tuple[float, int, Who]] = []
        self._entries = 0

    def at(self, when: float, who: Who) -> None:
        """`who` is due at `when`, or earlier if that was said before; never, if `when` is infinite."""
        if when < self._times.get(who, math.inf):
            self._times[who] = when
            self._entries += 1
            heapq.heappush(self._heap, (when, self._entries, who))

    def due(self, now: float) -> Iterator[Who]:
        """Those whose time has come; each leaves the agenda as it is given."""
        while self.next() <= now:
            _, _, who = heapq.heappop(self._heap)
            del self._times[who]
            yield who

    def next(self) -> float:
        """When somebody is due next; infinite if nobody is."""
        while self._heap and self._times.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else math.inf

    def forget(self, who: Who) -> None:
        self._times.pop(who, None)
