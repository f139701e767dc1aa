"""A query as the coordinator runs it: its life cycle, its epochs, its progress. All but the public part runs in the
coordinator's thread.

    RESTORING  the sink goes back to the last committed epoch (or the beginning)
    WAITING    for all nodes to be there
    DEPLOYING  nodes build the operators
    RUNNING    rows flow; epochs end and commit, one at a time
    ENDED      stopped or failed

A lost node leads from any of the first four back to RESTORING; stop and failures lead to ENDED.
"""

from __future__ import annotations

import enum
import math
import pickle
import threading
import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from headway.cluster import protocol
from headway.cluster.checkpoints import CheckpointStore, Manifest
from headway.cluster.code_failures import CodeFailures
from headway.cluster.failed import query_failed, sink_failed
from headway.cluster.measured import Measured
from headway.cluster.planning import begin_at, checkpoint_interval, make_deployment, members_of, plan_stages
from headway.cluster.sink_side import Prepared, Published, Restored, RowsWritten, SinkFailed, SinkSide
from headway.cluster.target import Target
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import PlanStage, SinkStage, stateful
from headway.errors import StreamingQueryFailed
from headway.node.message import Barrier, Message
from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Result
from headway.observe.trace import TraceWriter

if TYPE_CHECKING:
    from headway.cluster.coordinator import Coordinator

REPORTED_EVERY = 1.0
"""Nodes tell so often what has happened."""
LEAD = 0.02
"""Seconds. A drain is asked for so much ahead: all nodes know of it before they read what comes later."""


class Life(enum.Enum):
    """See the module."""

    RESTORING = "Restoring"
    WAITING = "Waiting for nodes"
    DEPLOYING = "Deploying"
    RUNNING = "Running"
    ENDED = "Ended"


class _Epoch:
    """An epoch that is being ended."""

    def __init__(self, barrier: Barrier) -> None:
        self.barrier = barrier
        self.passed: dict[int, protocol.EpochPassed] = {}
        self.prepared: Prepared | None = None


class RunningQuery:
    """What `Runtime.submit` gives; see `headway.runs.RunningQuery` for the public part."""

    def __init__(self, coordinator: Coordinator, spec: QuerySpec) -> None:
        self.spec = spec
        self._coordinator = coordinator
        self.stages, self._connectors = plan_stages(spec, coordinator.conf)
        assert spec.checkpoint is not None
        self._members = members_of(spec, coordinator.conf, coordinator.nodes)
        self._interval = checkpoint_interval(spec, coordinator.conf)
        self._store = CheckpointStore(spec.checkpoint)
        self._store.check_plan(self.stages)
        self._beginning = begin_at(self._store, self.stages, self._connectors)
        self.life = Life.RESTORING
        self.number = -1
        self._deployed: set[int] = set()
        self._epoch: _Epoch | None = None
        self._next_epoch = 0
        self._first_epoch: int | None = None
        """Of this run; None before it is known."""
        self._next_barrier = 0.0
        self._stirred = True
        """Something may have happened since the last barrier; while it has not, no epoch ends."""
        self._manifest: Manifest | None = None
        self._drains: list[threading.Event] = []
        self._draining: list[threading.Event] = []
        self._held: list[Result] = []
        """Results that show when their epoch commits."""
        self._code = CodeFailures(spec.name or spec.id, self.stages)
        self.target = Target(spec.latency, spec.auto_latency)
        self._measured = Measured(spec, self.target, time.time(), stateful(self.stages))
        self.progress = self._measured.progress
        self.totals = self._measured.totals
        self.add_progress_callback = self._measured.add_callback
        self.engine_facts = self._measured.facts
        self._ended = threading.Event()
        self._end_callbacks: list[Callable[[], None]] = []
        self.error: StreamingQueryFailed | None = None
        self._sink = SinkSide(
            coordinator.threads,
            spec.sink,
            spec.output_mode.lower() == "complete",
            self._store,
            lambda result: coordinator.call(lambda: self._sink_says(result)),
        )

    # What a user's thread calls.

    @property
    def active(self) -> bool:
        return not self._ended.is_set()

    def wait(self, timeout: float | None) -> bool:
        return self._ended.wait(timeout)

    def ask_to_stop(self) -> None:
        self._coordinator.call(lambda: self._end(None))

    def stop(self) -> None:
        self.ask_to_stop()
        self._ended.wait()

    def process_all_available(self) -> None:
        done = threading.Event()
        self._coordinator.call(lambda: self._drain(done))
        while not done.wait(0.1) and self.active:
            pass

    def on_end(self, callback: Callable[[], None]) -> None:
        """Have this called, in a thread where it may block, when the query has ended."""
        self._coordinator.call(lambda: self._call_at_end(callback))

    def explain_misses(self) -> str:
        return self.target.explain()

    # The life cycle.

    def begin(self) -> None:
        """Start, or start again after a node was lost."""
        if self.life is Life.ENDED:
            return
        if self.number >= 0:
            self._tell(protocol.Undeploy(self.number))
        self._change(Life.RESTORING)
        self._coordinator.number(self)
        self._epoch = None
        self._held = []
        self._measured.forget_nodes()
        self._drains, self._draining = self._drains + self._draining, []
        self._sink.restore(self.number, self._sink_nodes())

    def node_lost(self, node: int) -> None:
        if node in self._members and self.life in (Life.DEPLOYING, Life.RUNNING):
            self._code.node_lost()
        self.begin()

    def _change(self, life: Life) -> None:
        self.life = life
        self._measured.changed()
        self._coordinator.agenda.at(self.due(), self)

    def describe(self, trace: TraceWriter) -> None:
        """Write the header of this query to a trace, if it has none there."""
        spec, mode = self.spec, self.spec.output_mode.lower()
        trace.header(self.number, spec.name or spec.id, self.target.latency, self._members, self.stages, mode)

    def _tell(self, order: Any) -> None:
        """To all nodes of this query."""
        for node in self._members:
            self._coordinator.send(node, order)

    def _sink_nodes(self) -> int:
        last = self.stages[-1]
        assert isinstance(last, SinkStage)
        return len(self._members) if last.placement == "everywhere" else 1

    def _restored(self, manifest: Manifest | None) -> None:
        self._manifest = manifest
        self._next_epoch = 0 if manifest is None else manifest.epoch + 1
        self._first_epoch = self._next_epoch if self._first_epoch is None else self._first_epoch
        self._change(Life.WAITING)
        self.nodes_changed()

    def nodes_changed(self) -> None:
        """Deploy, if all nodes are there."""
        if self.life is not Life.WAITING or not self._coordinator.complete:
            return
        self._change(Life.DEPLOYING)
        self._deployed = set()
        try:
            deployment = make_deployment(
                self.spec, self.stages, self._connectors, self.number, self._members, self._manifest,
                self._beginning, self._store.root, self._coordinator.conf, self.target, self._first_epoch or 0,
            )  # fmt: skip
            pickled = cloudpickle.dumps(self._code.deployment(deployment))
        except Exception as error:
            self._end(query_failed(self.spec, error, "".join(traceback.format_exception(error))))
            return
        self._tell(protocol.Deploy(self.number, pickled))

    def deployed(self, node: int) -> None:
        self._deployed.add(node)
        if len(self._deployed) == len(self._members) and self.life is Life.DEPLOYING:
            self._next_barrier = time.time() + self._interval
            self._stirred = True
            self._tell(protocol.Run(self.number))
            if self.spec.trigger.ends:
                self._drains.append(threading.Event())
            self._change(Life.RUNNING)

    def failed(self, failure: protocol.Failed) -> None:
        """An operator raised in a node."""
        if self._code.crashed(failure):
            self.begin()
            return
        cause = None if failure.error is None else pickle.loads(failure.error)
        self._end(query_failed(self.spec, cause, self._code.story(failure)))

    def _end(self, error: StreamingQueryFailed | None) -> None:
        if self.life is Life.ENDED:
            return
        untold = self._measured.news
        self._change(Life.ENDED)
        self.error = error
        self._tell(protocol.Undeploy(self.number))
        if untold:
            self._make_progress(time.time())
        self._sink.close(error is not None, lambda: self._coordinator.call(self._finish))

    def _finish(self) -> None:
        self._coordinator.forget(self)
        for waiting in self._drains + self._draining:
            waiting.set()
        self._ended.set()
        for callback in self._end_callbacks:
            self._coordinator.threads.run(callback)

    def _call_at_end(self, callback: Callable[[], None]) -> None:
        if self._ended.is_set():
            self._coordinator.threads.run(callback)
        else:
            self._end_callbacks.append(callback)

    # Epochs.

    def due(self) -> float:
        """When `tick` is to be called."""
        if self.life is Life.ENDED:
            return math.inf
        return min(self._epoch_due(), self._measured.due())

    def _epoch_due(self) -> float:
        if self.life is not Life.RUNNING or self._epoch is not None:
            return math.inf
        if self._drains:
            return 0.0
        return self._next_barrier if self._stirred else math.inf

    def tick(self, now: float) -> None:
        """End an epoch if it is time or somebody waits for all rows; make progress if it is time."""
        if self._epoch_due() <= now:
            self._next_barrier = now + self._interval
            self._stirred = self._always_stirred
            self._draining, self._drains = self._drains, []
            self._epoch = _Epoch(Barrier(self._next_epoch, bool(self._draining), now + LEAD))
            self._tell(protocol.Inject(self.number, self._epoch.barrier))
        if self.life is not Life.ENDED and self._measured.due() <= now:
            self._make_progress(now)
        self._coordinator.agenda.at(self.due(), self)

    @property
    def _always_stirred(self) -> bool:
        """Where results show with the epoch they cannot wait for the nodes to report that something happened."""
        sink = self.spec.sink
        return sink.visible_at_commit and not sink.to_driver and self._interval < REPORTED_EVERY

    def _stir(self) -> None:
        self._stirred = True
        self._coordinator.agenda.at(self.due(), self)

    def _drain(self, done: threading.Event) -> None:
        self._drains.append(done)
        self._coordinator.agenda.at(self.due(), self)

    def epoch_passed(self, passed: protocol.EpochPassed) -> None:
        if passed.measured is not None:
            self.report(passed.node, *passed.measured)
        if self._epoch is not None and passed.barrier == self._epoch.barrier:
            self._epoch.passed[passed.node] = passed
            self._commit_if_complete(self._epoch)

    def _commit_if_complete(self, epoch: _Epoch) -> None:
        sink = self.spec.sink
        if len(epoch.passed) < len(self._members) or (sink.to_driver and epoch.prepared is None):
            return
        manifest = Manifest(epoch.barrier.epoch)
        sink_stage = self.stages[-1].id
        for _, passed in sorted(epoch.passed.items()):
            for stage, names in passed.files.items():
                manifest.files.setdefault(stage, []).extend(names)
            for stage, value in passed.values.items():
                if stage == sink_stage:
                    receipt, results = value
                    manifest.receipts.append(receipt)
                    self._held += results
                else:
                    manifest.values.setdefault(stage, []).append(value)
        kept = None
        if epoch.prepared is not None:
            manifest.receipts = [] if sink.keeps_history else [epoch.prepared.value]
            kept = epoch.prepared.value if sink.keeps_history else None
        self._sink.publish(self.number, manifest, kept)

    def _published(self, manifest: Manifest) -> None:
        self._epoch = None
        self._code.committed()
        self._manifest = manifest
        now = time.time()
        for result in self._held:
            self._measured.show(result, now)
        self._held = []
        plans = {stage.id for stage in self.stages if isinstance(stage, PlanStage)}
        positions = {stage: values[0] for stage, values in manifest.values.items() if stage in plans}
        self._tell(protocol.Committed(self.number, positions))
        if self._draining:
            self._make_progress(now)
        self._next_epoch = manifest.epoch + 1
        for waiting in self._draining:
            waiting.set()
        self._draining = []
        if self.spec.trigger.ends:
            self._end(None)
        self._coordinator.agenda.at(self.due(), self)

    # The sink's thread.

    def receive(self, number: int, node: int, stage: int, message: Message, size: int) -> None:
        """Rows or marks from a node for the driver's sink."""
        if number != self.number:
            return
        now = time.time()
        if message.marker:
            self._measured.marker(now - message.first_t)
        else:
            if message.batch is not None:
                self._stir()
            self._sink.receive(number, node, stage, message.arrived(now), size, now)

    def _sink_says(self, result: Any) -> None:
        if isinstance(result, SinkFailed):
            self._end(sink_failed(self.spec, result.error))
        elif result.number != self.number or self.life is Life.ENDED:
            return
        elif isinstance(result, Restored):
            self._restored(result.manifest)
        elif isinstance(result, RowsWritten):
            self._rows_written(result)
        elif isinstance(result, Prepared) and self._epoch is not None:
            self._epoch.prepared = result
            self._commit_if_complete(self._epoch)
        elif isinstance(result, Published):
            self._published(result.manifest)

    def _rows_written(self, written: RowsWritten) -> None:
        now = time.time()
        for part in written.parts:
            message = part.message
            assert message.batch is not None
            self._coordinator.send(part.node, protocol.RowsTaken(part.number, part.stage, part.size))
            spent = message.spent.and_then(service=now - part.received)
            result = Result(message.first_t, message.t, message.polled, message.batch.num_rows, now, spent)
            if self.spec.sink.visible_at_commit:
                self._held.append(result)
            else:
                self._measured.show(result, now)
        self._coordinator.agenda.at(self.due(), self)

    # Progress.

    def report(self, node: int, metrics: QueryMetrics, facts: dict[str, Any]) -> None:
        """What a node has measured since its last report."""
        if self._measured.report(node, metrics, facts):
            self._stirred = True
        self._coordinator.agenda.at(self.due(), self)

    def _make_progress(self, now: float) -> None:
        if self._measured.make(now, self._next_epoch, self.life.value):
            assert self.target.latency is not None
            self._tell(protocol.Aim(self.number, self.target.latency))
