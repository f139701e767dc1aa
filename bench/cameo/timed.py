"""How much of a node's time its scheduler takes, measured in the node: a policy that times another's steps.

Two policies' throughput tells the same and more, such as what is in the processor's cache when an operator's turn
comes, but on a shared machine it differs from second to second by more than a scheduler costs.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.scheduling import make_policy
from headway.scheduling.api import Policy, Queue

WRITES_EVERY = 0.1
CALIBRATED = 100_000


class _Clock:
    """Sums up what calls take, without what it takes to time them; writes the sums to a file every now and then."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._sum = 0
        self._calls = 0
        self._written = time.perf_counter()
        self._each = 0.0
        nothing = self.timed(lambda: None)
        for _ in range(CALIBRATED):
            nothing()
        self._each = self._sum / CALIBRATED
        self._sum = self._calls = 0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        clock = time.perf_counter_ns

        def timed(*arguments: Any) -> Any:
            began = clock()
            try:
                return call(*arguments)
            finally:
                self._sum += clock() - began
                self._calls += 1

        return timed

    def write(self) -> None:
        now = time.perf_counter()
        if now - self._written > WRITES_EVERY:
            self._written = now
            told = {"at": now, "seconds": (self._sum - self._calls * self._each) / 1e9, "calls": self._calls}
            part = self._path.with_suffix(".part")
            part.write_text(json.dumps(told))
            part.rename(self._path)


class _TimedQueue:
    def __init__(self, queue: Queue, clock: _Clock) -> None:
        self._queue = queue
        self._clock = clock
        self.push = clock.timed(queue.push)
        self.pop = clock.timed(queue.pop)
        self._done = clock.timed(queue.done)

    def __len__(self) -> int:
        return len(self._queue)

    def done(self, operator: Any, now: float, worker: int = 0) -> None:
        self._done(operator, now, worker)
        self._clock.write()


class Timed(Policy):
    """A policy of the node's, by name, and the time it takes: in the queue, and for contexts and replies."""

    name = "timed"

    def __init__(self, policy: str, path: str) -> None:
        self._name = policy
        self._path = path

    def queue(self, workers: int = 1) -> Queue:
        clock = _Clock(self._path)
        policy = make_policy(self._name)
        for handler in ("at_source", "at_operator", "prepare_reply", "process_reply"):
            setattr(self, handler, clock.timed(getattr(policy, handler)))
        return _TimedQueue(policy.queue(workers), clock)


def read(path: str) -> tuple[float, float, int]:
    """Of the node: its time, the seconds that scheduling has taken until then, and the calls."""
    told = json.loads(Path(path).read_text())
    return told["at"], told["seconds"], told["calls"]
