"""Threads for work that may block: as many as there is work at once, none for those who have none.

1. A thread that finds no work for `KEEP` seconds ends. All are daemons: a sink that hangs does not keep the program.
2. At most `MOST` run at once; what comes then waits for one of them.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

KEEP = 10.0
MOST = 128
_log = logging.getLogger("headway")


class Threads:
    """See the module."""

    def __init__(self, name: str, most: int = MOST, keep: float = KEEP) -> None:
        self._name = name
        self._most = most
        self._keep = keep
        self._work: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._free = 0
        self._started = 0
        self.running = 0
        """Threads that have not ended."""

    def run(self, work: Callable[[], None]) -> None:
        """Have a thread do this, soon; what it raises is logged."""
        with self._changed:
            self._work.append(work)
            if self._free >= len(self._work) or self.running >= self._most:
                self._changed.notify()
                return
            self.running += 1
            self._started += 1
            name = f"{self._name} {self._started}"
        threading.Thread(target=self._loop, name=name, daemon=True).start()

    def _loop(self) -> None:
        while (work := self._next()) is not None:
            try:
                work()
            except BaseException:
                _log.exception("in thread %s", threading.current_thread().name)

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            self._free += 1
            found = self._changed.wait_for(lambda: self._work, self._keep)
            self._free -= 1
            if found:
                return self._work.popleft()
            self.running -= 1
            return None


class Lane:
    """Tasks that are done one after the other, in the order they came, by whichever thread is free.

    `work` is called with every task, and with None when there is no other for now; never by two threads at once.
    """

    def __init__(self, threads: Threads, work: Callable[[Any], None]) -> None:
        self._threads = threads
        self._do = work
        self._tasks: deque[Any] = deque()
        self._lock = threading.Lock()
        self._busy = False

    def put(self, task: Any) -> None:
        with self._lock:
            self._tasks.append(task)
            if self._busy:
                return
            self._busy = True
        self._threads.run(self._drain)

    def _drain(self) -> None:
        while True:
            with self._lock:
                task = self._tasks.popleft() if self._tasks else None
            self._do(task)
            with self._lock:
                if task is None and not self._tasks:
                    self._busy = False
                    return
