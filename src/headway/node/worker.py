"""A node: one process, one loop, many queries.

1. The loop takes what has come from sockets, timers and threads, asks the scheduler for an operator, and runs it for a
   moment. It never blocks but when there is nothing to do.
2. An operator that raises fails its own query: its operators are taken down, the coordinator is told, the rest go on.
3. The node ends when the coordinator says so or is silent for too long.
"""

from __future__ import annotations

import gc
import heapq
import os
import pickle
import time
import traceback
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import zmq
from pyspark import cloudpickle

from headway.cluster import protocol
from headway.kernels.compiled import Compiler
from headway.memory import Ledger, memory_settings
from headway.node.build import DRIVER
from headway.node.clock import Clock
from headway.node.deployed import Deployed, Files, code_limit, with_hint
from headway.node.dispatcher import Dispatcher
from headway.node.home import Home
from headway.node.memory import NodeMemory
from headway.node.message import Barrier
from headway.node.operators.base import Operator
from headway.node.operators.host import State
from headway.node.precedence import step_back
from headway.node.snapshots import write_states
from headway.node.user_process import UserProcessEnded
from headway.node.watchdog import Watchdog, tell_and_exit
from headway.node.wire import Credit, Endpoint, Keys, decode, own_host
from headway.observe.trace import OperatorRun
from headway.scheduling import Pace
from headway.threads import Threads

REPORT_EVERY = 1.0
REPORT_TURNS = 10
"""Queries are told of in so many turns: all at once, the driver would take a core from the nodes for a while."""
COORDINATOR_SILENCE = 60.0
POLL_EVERY = 0.0005
LONGEST_WAIT = 0.1
BURST = 0.0005
BUILD_LIMIT = 300.0
"""Seconds for building the operators of a query: states are read, and user code is loaded."""
MOST_RECORDED = 1 << 18
"""Runs kept between two reports while they are recorded."""


class Node:
    """See the module."""

    def __init__(self, config: protocol.NodeConfig) -> None:
        self.index = config.index
        self.clock = Clock()
        self.home = Home(config.index)
        self.dispatcher = Dispatcher(config.policy, self._policy_failed, self._operators)
        self.compiler = Compiler()
        settings = memory_settings(config.conf)
        # Half of it for rows, wherever they are, and half for blocks, in which most of these rows are.
        self.ledger = Ledger(settings.node // 2, settings.query)
        self.blocks = NodeMemory(settings.node // 2, settings.blocks_per_chunk) if settings.blocks else None
        self.rows_per_block = settings.rows_per_block
        self._keys = Keys(config.public_key, config.secret_key)
        self._coordinator = config.coordinator
        self._endpoint = Endpoint(self._keys)
        self._watchdog = Watchdog(self._hung)
        self._inbound, self._address = self._endpoint.listen(zmq.PULL, own_host(config.coordinator))
        self.control = self._endpoint.connect(zmq.DEALER, config.coordinator)
        self._peers: dict[int, zmq.Socket[bytes]] = {}
        self._addresses: dict[int, str] = {}
        self._deployed: dict[int, Deployed] = {}
        self.polled = 0
        """Sources that this node polls, of all deployments."""
        self.pace = Pace()
        self._paced = self.clock.now()
        self._idle = 0.0
        """Seconds, since the pace was told."""
        self._unready: list[Deployed] = []
        self._timers: list[tuple[float, int, Deployed, Operator]] = []
        self._calls: deque[Callable[[], None]] = deque()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK)
        self._poller = zmq.Poller()
        for source in (self._inbound, self.control):
            self._poller.register(source, zmq.POLLIN)
        self._poller.register(self._wake_fd, zmq.POLLIN)
        self._writer = ThreadPoolExecutor(1, "snapshots", initializer=step_back)
        self.threads = Threads("sink")
        self.burst = BURST
        """For how long an operator takes messages; 0, one at a time, while runs are recorded."""
        self._recorded: deque[OperatorRun] | None = None
        """Not None iff runs are recorded."""
        self._arrivals = 0
        self._running = True
        self._heard = self.clock.now()
        self._next_report = self._heard + REPORT_EVERY
        self._turn = 0

    def arrival(self) -> int:
        self._arrivals += 1
        return self._arrivals

    def run(self) -> None:
        """The loop, until the end."""
        # What was imported lives as long as the process: a full collection that walks it all takes a tenth of a second.
        gc.collect()
        gc.freeze()
        self.tell(protocol.Hello(self.index, uuid.uuid4().hex, os.getpid(), self._address))
        try:
            self._loop()
        finally:
            self._close()

    def _loop(self) -> None:
        polled = 0.0
        now = self.clock.now()
        while self._running:
            self._fire_timers(now)
            operator = self.dispatcher.next(now)
            if operator is None and self.blocks is not None:
                self.blocks.tidy()  # a source may have waited for what has come back
                operator = self.dispatcher.next(now)
            if operator is None:
                now = self._rest(now)
                continue
            now = self._run(operator, now)
            if now - polled > POLL_EVERY:
                polled = now
                self.home.go()
                self._take(self._poller.poll(0))

    def _rest(self, now: float) -> float:
        """Wait for what comes, and take it; gives the time after it."""
        wait = self._wait(now)
        if 0.0 < wait < 0.001:  # the poller's finest grain
            time.sleep(wait)
            wait = 0.0
        self.home.go()
        found = self._poller.poll(int(wait * 1000))
        self._idle += self.clock.now() - now
        self._take(found)
        return self.clock.now()

    def _wait(self, now: float) -> float:
        next_timer = self._timers[0][0] if self._timers else now + LONGEST_WAIT
        return max(0.0, min(next_timer, self._next_report, self.dispatcher.wakes(now), now + LONGEST_WAIT) - now)

    def _run(self, operator: Operator, now: float) -> float:
        """Run an operator; gives the time after it."""
        host: Deployed = operator.host  # type: ignore[assignment]
        host.nested = 0.0
        self._guarded(host, operator.run)
        host.stirred = True
        ended = self.clock.now()
        host.metrics.busy += ended - now
        operator.profile.flow.nested = host.nested
        self.dispatcher.done(operator, ended)
        if not host.closed:
            if self._recorded is not None:
                kind, rows, p, t = operator.taken()
                self._recorded.append(OperatorRun(host.number, operator.stage, now, ended - now, rows, p, t, kind))
            operator.ran(ended - now - host.nested)
        return ended

    def _guarded(self, host: Deployed, action: Callable[[], None]) -> None:
        """Have a deployment do something; what goes wrong, or takes too long, is its own failure."""
        if host.closed:
            return
        try:
            if host.code_limit is None:
                action()
            else:
                with self._watchdog.watch(host.number, host.code_limit):
                    action()
        except Exception as error:
            self._fail(host, error)

    def _hung(self, number: int, text: str) -> None:
        """In the watchdog's thread: the loop is stuck in user code, and only the end of this process ends that."""
        tell_and_exit(self._keys, self._coordinator, protocol.Failed(number, self.index, text, None))

    def _use_policy(self, pickled: bytes) -> None:
        try:
            policy = cloudpickle.loads(pickled)
        except Exception as error:  # such as a module that is not on this machine
            self._policy_failed(error)
            return
        self.dispatcher.switch(policy, self.clock.now())

    def _operators(self) -> Iterable[Operator]:
        return (o for d in self._deployed.values() if not d.closed for o in d.operators.values())

    def _policy_failed(self, error: Exception) -> None:
        text = "".join(traceback.format_exception(error))
        self.tell(protocol.PolicyFailed(self.index, type(self.dispatcher.policy).__name__, text))

    def _fail(self, deployed: Deployed, error: BaseException) -> None:
        """Take down one query; the others do not notice."""
        deployed.close()
        self._tell_failed(deployed.number, error)

    def _tell_failed(self, number: int, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        try:
            pickled = cloudpickle.dumps(error)
            pickle.loads(pickled)
        except Exception:
            pickled = None
        crashed = isinstance(error, UserProcessEnded)
        self.tell(protocol.Failed(number, self.index, str(error) if crashed else text, pickled, crashed))

    def _fire_timers(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            _, _, host, operator = heapq.heappop(self._timers)
            host.stirred = True
            self._guarded(host, partial(operator.wake, now))
        if self._unready:
            self._tell_ready()
        if now >= self._next_report:
            self._report(now)

    def _report(self, now: float) -> None:
        self._next_report = now + REPORT_EVERY / REPORT_TURNS
        passed, self._paced = now - self._paced, now
        self.pace.passed(passed - self._idle, passed)
        self._idle = 0.0
        self._turn = (self._turn + 1) % REPORT_TURNS
        if self._recorded:
            self._tell_recorded(last=False)
        self.home.look(now)
        mine = [d for d in self._deployed.values() if d.number % REPORT_TURNS == self._turn]
        reports = {d.number: d.report(now) for d in mine if d.stirred and not d.closed}
        if not reports and self._turn:
            return
        metrics = {number: taken for number, (taken, _) in reports.items()}
        facts = {number: found for number, (_, found) in reports.items()}
        self.tell(protocol.Report(self.index, metrics, facts))
        if now - self._heard > COORDINATOR_SILENCE:
            self._running = False

    def _record(self, on: bool) -> None:
        self.burst = 0.0 if on else BURST
        if on:
            self._recorded = deque(maxlen=MOST_RECORDED)
        elif self._recorded is not None:
            self._tell_recorded(last=True)
            self._recorded = None

    def _tell_recorded(self, last: bool) -> None:
        assert self._recorded is not None
        self.tell(protocol.Recorded(self.index, list(self._recorded), last))
        self._recorded.clear()

    def at(self, when: float, host: Deployed, operator: Operator) -> None:
        heapq.heappush(self._timers, (when, self.arrival(), host, operator))

    def notify(self, call: Callable[[], None]) -> None:
        """From any thread: have the loop call this."""
        self._calls.append(call)
        os.eventfd_write(self._wake_fd, 1)

    def _take(self, found: Iterable[tuple[Any, int]]) -> None:
        """What has come to the sockets."""
        for source, _ in found:
            if source == self._wake_fd:
                os.eventfd_read(self._wake_fd)
                while self._calls:
                    self._calls.popleft()()
            elif source is self.control:
                self._read_control()
            else:
                self._read_inbound()

    def _read_control(self) -> None:
        while True:
            try:
                frame = self.control.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._heard = self.clock.now()
            self._obey(pickle.loads(frame))

    def _read_inbound(self) -> None:
        for _ in range(64):
            try:
                frames = self._inbound.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._dispatch(frames)

    def _dispatch(self, frames: list[Any]) -> None:
        decoded = decode(frames)
        number = decoded.deployment if isinstance(decoded, Credit) else decoded[0].deployment
        deployed = self._deployed.get(number)
        if deployed is None or deployed.closed:
            return  # of an older try to run a query
        if isinstance(decoded, Credit):
            deployed.credit(decoded)
        else:
            deployed.receive(*decoded)

    def _obey(self, order: Any) -> None:
        match order:
            case protocol.Deploy(number, pickled):
                self._deploy(number, pickled)
            case protocol.Run(number):
                self._do(number, lambda deployed: deployed.start())
            case protocol.Undeploy(number):
                self._undeploy(number)
            case protocol.Inject(number, barrier):
                self._do(number, lambda deployed: deployed.inject(barrier))
            case protocol.Committed(number, positions):
                self._do(number, lambda deployed: deployed.commit(positions))
            case protocol.RowsTaken(number, stage, size):
                self._do(number, lambda deployed: deployed.credit(Credit(number, stage, stage, 0, DRIVER, size)))
            case protocol.Record(on):
                self._record(on)
            case protocol.Aim(number, latency):
                self._do(number, lambda deployed: deployed.aim(latency))
            case protocol.UsePolicy(pickled):
                self._use_policy(pickled)
            case protocol.Peers(addresses):
                self._meet(addresses)
            case protocol.Shutdown():
                self._running = False

    def _do(self, number: int, action: Callable[[Deployed], None]) -> None:
        """With a deployment, if it is there; what goes wrong is its own failure."""
        deployed = self._deployed.get(number)
        if deployed is not None:
            self._guarded(deployed, partial(action, deployed))

    def _deploy(self, number: int, pickled: bytes) -> None:
        try:
            deployment: protocol.Deployment = cloudpickle.loads(pickled)
            with self._watchdog.watch(number, code_limit(deployment) and BUILD_LIMIT):
                deployed = self._deployed[number] = Deployed(self, deployment)
        except Exception as error:
            self._tell_failed(number, with_hint(error))
            return
        self.polled += deployed.polls
        self._unready.append(deployed)
        self._tell_ready()

    def _tell_ready(self) -> None:
        """Deployments that waited for their kernels, and have them now."""
        for deployed in list(self._unready):
            self._guarded(deployed, partial(self._tell_if_ready, deployed))
            if deployed.closed:
                self._unready.remove(deployed)

    def _tell_if_ready(self, deployed: Deployed) -> None:
        if deployed.ready():
            self._unready.remove(deployed)
            self.tell(protocol.Deployed(deployed.number, self.index))

    def _undeploy(self, number: int) -> None:
        deployed = self._deployed.pop(number, None)
        if deployed is not None:
            self.polled -= deployed.polls
            if not deployed.closed:
                deployed.close()
        self.tell(protocol.Undeployed(number, self.index))

    def _meet(self, addresses: dict[int, str]) -> None:
        for node, address in addresses.items():
            if node != self.index and self._addresses.get(node) != address:
                if node in self._peers:
                    self._peers[node].close(linger=0)
                self._peers[node] = self._endpoint.connect(zmq.PUSH, address)
        self._addresses = dict(addresses)

    def send(self, node: int, frames: list[Any]) -> None:
        """To another node. Never blocks: credits bound what is under way."""
        self._peers[node].send_multipart(frames, copy=False)

    def tell(self, message: Any) -> None:
        """To the coordinator."""
        self.control.send_multipart([b"", pickle.dumps(message)])

    def write_states(self, deployed: Deployed, barrier: Barrier, states: dict[int, State]) -> None:
        """Write a node's states in the background, then tell the coordinator."""
        label = f"{self.index}-{deployed.number}"

        def write() -> None:
            try:
                files = write_states(deployed.deployment.checkpoint, barrier.epoch, label, states)
            except Exception as error:
                failure = error
                self.notify(lambda: self._fail(deployed, failure))
                return
            values = {stage: state.value for stage, state in states.items() if state.value is not None}
            self.notify(lambda: self._tell_passed(deployed, barrier, deployed.parts.written(states, files), values))

        self._writer.submit(write)

    def _tell_passed(self, deployed: Deployed, barrier: Barrier, files: Files, values: dict[int, Any]) -> None:
        measured = deployed.report(self.clock.now()) if barrier.drain and not deployed.closed else None
        self.tell(protocol.EpochPassed(deployed.number, self.index, barrier, files, values, measured))

    def _close(self) -> None:
        for deployed in self._deployed.values():
            if not deployed.closed:
                deployed.close()
        self._writer.shutdown(wait=False)
        if self.blocks is not None:
            self.blocks.close()
        self._endpoint.close()
