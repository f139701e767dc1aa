"""A core for each node of a machine, to which its loop goes back.

1. A loop that wakes up while another process has its core may be put where another node runs, and be left there: two
   nodes were seen to share a core for up to 44 ms while the other one was idle.
2. A loop that finds itself elsewhere goes home at once. It is not pinned: the system may move it again, and threads and
   processes that it starts go where they like.
3. Who waits at home for a large part of the time shares it with somebody who knows nothing of this (another session,
   another container): it has no home from then on.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

CROWDED = 1 / 3
"""The part of the time between two looks that a loop may have waited for its core."""
LOOK_EVERY = 10.0
_WAITED = Path("/proc/thread-self/schedstat")


class Home:
    """Made and used by one thread. Where the system does not tell of cores, or there is but one, nobody has a home."""

    def __init__(self, index: int) -> None:
        self._where = _where()
        cores = sorted(os.sched_getaffinity(0)) if self._where is not None else []
        self.core: int | None = cores[index % len(cores)] if len(cores) > 1 else None
        """Not None iff it has a home."""
        self._looked: tuple[float, float] | None = None
        """When it was last looked, and for how long the loop had waited then."""

    def go(self) -> None:
        """Be at home, if that is elsewhere."""
        if self.core is None or self._where is None or self._where() == self.core:
            return
        allowed = os.sched_getaffinity(0)
        if self.core not in allowed:  # it was taken from this process
            self.core = None
            return
        os.sched_setaffinity(0, {self.core})
        os.sched_setaffinity(0, allowed)

    def look(self, now: float) -> None:
        """Give it up if it is crowded; called now and then."""
        if self.core is None or (self._looked is not None and now - self._looked[0] < LOOK_EVERY):
            return
        before, self._looked = self._looked, (now, waited())
        if before is not None and self._looked[1] - before[1] > CROWDED * (now - before[0]):
            self.core = None


def waited() -> float:
    """For how long this thread could have run and had no core, seconds; 0 where nobody tells."""
    try:
        return int(_WAITED.read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def _where() -> Callable[[], int] | None:
    """What tells the core that a thread runs on; None: nothing does."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    tell: Callable[[], int] | None = getattr(ctypes.PyDLL(None), "sched_getcpu", None)
    return tell
