"""A node in which every operator has a thread of its own, and the operating system decides who runs.

For experiments: it is what engines do that leave scheduling to the operating system.

1. An operator's thread sleeps until the operator could run, then waits for the node's lock, takes one message, and lets
   go of the lock. Nobody orders the threads: no policy has a say.
2. The lock is needed because operators hand each other messages; Python's own lock would let one run at a time anyway.
3. The loop's thread reads sockets and timers, under the lock too. It sleeps on nothing but the wake-up descriptor, for
   no thread may wait for a socket while another sends on it.
"""

from __future__ import annotations

import select
import threading
import time
from typing import Any

from headway.cluster import protocol
from headway.node.deployed import Deployed
from headway.node.dispatcher import Dispatcher
from headway.node.operators.base import Operator
from headway.node.worker import Node
from headway.scheduling import PriorityContext

LONGEST_SLEEP = 0.001
"""The loop looks at its sockets so often."""
LOOK_EVERY = 1.0
"""A thread sees so soon that its deployment has ended."""


class ThreadedNode(Node):
    """See the module."""

    def __init__(self, config: protocol.NodeConfig) -> None:
        self._lock = threading.Lock()
        super().__init__(config)
        self.threads_of: dict[Operator, _OwnThread] = {}
        self.dispatcher = _ToThreads(self, self.dispatcher)
        self.burst = 0.0

    def _loop(self) -> None:
        while self._running:
            with self._lock:
                now = self.clock.now()
                self._fire_timers(now)
                self._take(self._poller.poll(0))
                wait = min(self._wait(self.clock.now()), LONGEST_SLEEP)
            began = time.monotonic()
            select.select([self._wake_fd], [], [], wait)
            self._idle += time.monotonic() - began  # this thread's: operators have their own, and set no pace

    def _record(self, on: bool) -> None:
        super()._record(on)
        self.burst = 0.0

    def run_alone(self, operator: Operator) -> None:
        """In the operator's thread: run it once, when it is its turn."""
        with self._lock:
            self._run(operator, self.clock.now())


class _OwnThread:
    """The thread of one operator; it ends with the deployment."""

    def __init__(self, node: ThreadedNode, operator: Operator) -> None:
        self._node = node
        self._operator = operator
        self.ready = threading.Event()
        threading.Thread(target=self._work, name=f"operator {operator.stage}", daemon=True).start()

    def _work(self) -> None:
        host: Deployed = self._operator.host  # type: ignore[assignment]
        while not host.closed:
            if self.ready.wait(LOOK_EVERY):
                self.ready.clear()
                self._node.run_alone(self._operator)
        self._node.threads_of.pop(self._operator, None)


class _ToThreads(Dispatcher):
    """Wakes the threads of operators that could run. Contexts are made as the policy says, and nobody looks at them."""

    def __init__(self, node: ThreadedNode, usual: Dispatcher) -> None:
        super().__init__(usual.policy, node._policy_failed, node._operators)
        self._node = node

    def ready(self, operator: Operator, context: PriorityContext, arrival: int, now: float) -> None:
        own = self._node.threads_of.get(operator)
        if own is None:
            own = self._node.threads_of[operator] = _OwnThread(self._node, operator)
        own.ready.set()

    def done(self, operator: Any, now: float) -> None:
        """There is no queue to tell."""
