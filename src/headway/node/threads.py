"""Work that may block, in a thread of its own, beside the worker loop that never does.

1. The loop hands work over by `put` and takes results by `take`; both sides are bounded by the loop's own accounting.
2. A result, or the end of the thread by an error, wakes the loop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any


class Worker:
    """A thread that runs `work(worker)` until `closed`; an exception in it becomes the last result."""

    def __init__(self, name: str, work: Callable[[Worker], None], notify: Callable[[], None], limit: int) -> None:
        self._work = work
        self._notify = notify
        self._room = threading.Semaphore(limit)
        self._tasks: deque[Any] = deque()
        self._changed = threading.Event()
        self.results: deque[Any] = deque()
        self.closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        try:
            self._work(self)
        except BaseException as error:
            self.results.append(error)
            self._notify()

    def put(self, task: Any) -> None:
        """Loop: hand over a task."""
        self._tasks.append(task)
        self._changed.set()

    def get(self, timeout: float | None = None) -> Any | None:
        """Thread: the next task; None after `timeout`, or when closed."""
        while not self.closed:
            if self._tasks:
                return self._tasks.popleft()
            self._changed.clear()
            if not self._tasks and not self._changed.wait(timeout) and timeout is not None and not self._tasks:
                return None
        return None

    def give(self, result: Any) -> bool:
        """Thread: hand over a result, waiting for room; false when closed meanwhile."""
        while not self._room.acquire(timeout=0.1):
            if self.closed:
                return False
        self.results.append(result)
        self._notify()
        return not self.closed

    def take(self) -> Any:
        """Loop: the next result; raises what the thread raised."""
        result = self.results.popleft()
        if isinstance(result, BaseException):
            raise result
        self._room.release()
        return result

    def close(self) -> None:
        self.closed = True
        self._changed.set()
