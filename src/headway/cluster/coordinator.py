"""The coordinator, in the driver: knows the nodes, and runs the life cycle of every query in one thread of its own.

Other threads hand it calls; nodes send it messages; nothing else changes its state.
"""

from __future__ import annotations

import logging
import math
import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import zmq

from headway.cluster import protocol
from headway.cluster.agenda import Agenda
from headway.cluster.running import Life, RunningQuery
from headway.dataflow.types import arrow_schema
from headway.node.wire import Endpoint, Keys, read_message
from headway.observe.trace import OperatorRun, TraceWriter
from headway.threads import Threads

HEARTBEAT = 5.0
_log = logging.getLogger("headway")


class Coordinator:
    """See the module."""

    def __init__(self, host: str, nodes: int, conf: dict[str, str]) -> None:
        self.nodes = nodes
        self.conf = conf
        self.keys = Keys.fresh()
        self._endpoint = Endpoint(self.keys)
        self._socket, self.address = self._endpoint.listen(zmq.ROUTER, host)
        # A node that comes back gets its old place: the router must let it take it over.
        self._socket.router_handover = True
        self._identities: dict[int, bytes] = {}
        self._hellos: dict[int, protocol.Hello] = {}
        self._queries: dict[int, RunningQuery] = {}
        """By the number of their deployment: what comes of an older one finds nobody."""
        self._numbers = 0
        self.agenda = Agenda[RunningQuery]()
        """When queries are to be ticked; those in which nothing happens hardly ever are."""
        self.threads = Threads("headway sinks")
        self._calls: deque[Callable[[], None]] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK)
        self._running = True
        self._next_heartbeat = 0.0
        self._trace: TraceWriter | None = None
        self._recording: set[int] = set()
        """Nodes that still have runs to tell of the trace that was ended."""
        self._trace_written = threading.Event()
        self._policy: bytes | None = None
        """Not None iff it was changed since the start: a node that comes back must be told."""
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="headway coordinator", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def call(self, action: Callable[[], None]) -> None:
        """From any thread: have the coordinator's thread do this."""
        self._calls.append(action)
        os.eventfd_write(self._wake_fd, 1)

    def wait_complete(self, timeout: float) -> bool:
        """Wait until all nodes are there."""
        with self._changed:
            return self._changed.wait_for(lambda: self.complete, timeout)

    @property
    def complete(self) -> bool:
        return len(self._hellos) == self.nodes

    def hellos(self) -> list[protocol.Hello]:
        """The processes of the nodes that are there, by index."""
        return [hello for _, hello in sorted(self._hellos.items())]

    def stop(self) -> None:
        """Tell all nodes to end, then end."""

        def end() -> None:
            self.broadcast(protocol.Shutdown())
            self._running = False

        self.call(end)
        self._thread.join()

    # For running queries; in the coordinator's thread.

    def number(self, query: RunningQuery) -> None:
        """Give a query's next deployment its number."""
        self._queries.pop(query.number, None)
        self._numbers += 1
        query.number = self._numbers
        self._queries[query.number] = query

    def forget(self, query: RunningQuery) -> None:
        self._queries.pop(query.number, None)
        self.agenda.forget(query)

    def broadcast(self, order: Any) -> None:
        frame = pickle.dumps(order)
        for identity in self._identities.values():
            self._socket.send_multipart([identity, frame])

    def send(self, node: int, order: Any) -> None:
        if node in self._identities:
            self._socket.send_multipart([self._identities[node], pickle.dumps(order)])

    def use_policy(self, policy: bytes) -> None:
        self._policy = policy
        self.broadcast(protocol.UsePolicy(policy))

    def record(self, trace: TraceWriter | None) -> None:
        """Record the runs of operators from now on; None ends it, when all nodes have told the rest."""
        if trace is not None:
            self._trace = trace
            self._recording = set(range(self.nodes))
            self._trace_written.clear()
        self.broadcast(protocol.Record(trace is not None))

    def wait_recorded(self, timeout: float) -> bool:
        """Wait until the trace that was ended is complete."""
        return self._trace_written.wait(timeout)

    def _recorded(self, node: int, runs: list[OperatorRun], last: bool) -> None:
        if self._trace is None:
            return
        for number in {run.number for run in runs}:
            if (query := self._queries.get(number)) is not None:
                query.describe(self._trace)
        self._trace.runs(node, runs)
        if last:
            self._recording.discard(node)
        if not self._recording:
            self._trace.close()
            self._trace = None
            self._trace_written.set()

    def node_lost(self, node: int, why: str) -> None:
        """A node's process is gone; its queries go on from their last epoch when it is back."""
        if self._hellos.pop(node, None) is None:
            return
        _log.warning("node %d was lost (%s); its queries resume from their last checkpoint", node, why.split("\n")[0])
        self._identities.pop(node, None)
        for query in self._active():
            query.node_lost(node)

    def _active(self) -> list[RunningQuery]:
        return [query for query in list(self._queries.values()) if query.life is not Life.ENDED]

    # The loop.

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._wake_fd, zmq.POLLIN)
        while self._running:
            ready = dict(poller.poll(self._wait_ms(time.time())))
            if self._wake_fd in ready:
                os.eventfd_read(self._wake_fd)
            while self._calls:
                self._guard(self._calls.popleft())
            if self._socket in ready:
                self._read()
            self._tick(time.time())
        self._endpoint.close()

    def _wait_ms(self, now: float) -> int:
        return max(0, math.ceil((min(self.agenda.next(), self._next_heartbeat) - now) * 1000))

    def _guard(self, action: Callable[[], None]) -> None:
        """One bad call must not end the coordinator."""
        try:
            action()
        except Exception:
            _log.exception("the coordinator could not do what was asked")

    def _tick(self, now: float) -> None:
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + HEARTBEAT
            self.broadcast(protocol.Peers({node: hello.address for node, hello in self._hellos.items()}))
        for query in self.agenda.due(now):
            self._guard(lambda query=query: query.tick(now))  # type: ignore[misc]

    def _read(self) -> None:
        for _ in range(256):
            try:
                identity, kind, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            if kind == b"rows":
                self._guard(lambda frames=frames: self._rows(*frames))  # type: ignore[misc]
            else:
                heard = pickle.loads(frames[0])
                self._guard(lambda who=identity, heard=heard: self._hear(who, heard))  # type: ignore[misc]

    def _rows(self, header: bytes, rows: bytes) -> None:
        number, node, stage, fields = pickle.loads(header)
        query = self._queries.get(number)
        if query is not None:
            message = read_message(fields, rows, arrow_schema(query.spec.plan.schema))
            query.receive(number, node, stage, message, message.size)

    def _hear(self, identity: bytes, heard: Any) -> None:
        match heard:
            case protocol.Hello():
                self._welcome(identity, heard)
            case protocol.Report(node, metrics, facts):
                for number, measured in metrics.items():
                    if (query := self._current(number)) is not None:
                        query.report(node, measured, facts.get(number, {}))
            case protocol.Deployed(number, node):
                if (query := self._current(number)) is not None:
                    query.deployed(node)
            case protocol.EpochPassed(number):
                if (query := self._current(number)) is not None:
                    query.epoch_passed(heard)
            case protocol.Recorded(node, runs, last):
                self._recorded(node, runs, last)
            case protocol.PolicyFailed(node, policy, text):
                _log.error("the scheduling policy failed; node %d goes on with %s:\n%s", node, policy, text)
            case protocol.Failed(number):
                if (query := self._current(number)) is not None:
                    query.failed(heard)

    def _current(self, number: int) -> RunningQuery | None:
        """The query of a deployment, if it is not an old one."""
        return self._queries.get(number)

    def _welcome(self, identity: bytes, hello: protocol.Hello) -> None:
        before = self._hellos.get(hello.node)
        if before is not None and before.incarnation != hello.incarnation:
            self.node_lost(hello.node, "another process has taken its place")
        with self._changed:
            self._hellos[hello.node] = hello
            self._identities[hello.node] = identity
            self._changed.notify_all()
        if self._policy is not None:
            self.send(hello.node, protocol.UsePolicy(self._policy))
        self.broadcast(protocol.Peers({node: h.address for node, h in self._hellos.items()}))
        for query in self._active():
            query.nodes_changed()
