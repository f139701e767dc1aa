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
import logging
import pickle
import threading
import time
import traceback
import zlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from headway.cluster import protocol
from headway.cluster.checkpoints import CheckpointStore, Manifest
from headway.cluster.planning import checkpoint_interval, make_deployment, nodes_of, plan_stages
from headway.cluster.sink_side import Prepared, Published, Restored, RowsWritten, SinkFailed, SinkSide
from headway.cluster.target import Target
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import PlanStage, SinkStage
from headway.errors import StreamingQueryFailed
from headway.node.message import Barrier, Message
from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Result
from headway.observe.progress import ProgressContext, build_progress
from headway.observe.trace import TraceWriter

if TYPE_CHECKING:
    from headway.cluster.coordinator import Coordinator

_log = logging.getLogger("headway")
PROGRESS_KEPT = 100
PROGRESS_EVERY = 1.0


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
        self.stages, self._connectors = plan_stages(spec)
        assert spec.checkpoint is not None
        self.nodes = nodes_of(spec, coordinator.conf, coordinator.nodes)
        self._home = zlib.crc32(spec.id.encode()) % self.nodes
        """The node of the stages that run on one."""
        self._interval = checkpoint_interval(spec, coordinator.conf)
        self._store = CheckpointStore(spec.checkpoint)
        self._store.check_plan(self.stages)
        self.life = Life.RESTORING
        self.number = -1
        self._deployed: set[int] = set()
        self._epoch: _Epoch | None = None
        self._next_epoch = 0
        self._next_barrier = 0.0
        self._manifest: Manifest | None = None
        self._drains: list[threading.Event] = []
        self._draining: list[threading.Event] = []
        self._held: list[Result] = []
        """Results that show when their epoch commits."""
        self.target = Target(spec.latency, spec.auto_latency)
        self._metrics = QueryMetrics(spec.latency)
        """What is measured in the driver."""
        self._measured: dict[int, QueryMetrics] = {}
        """What nodes have measured since the last progress."""
        self._totals = QueryMetrics(spec.latency)
        self._facts: dict[str, Any] = {}
        self._progress: deque[dict[str, Any]] = deque(maxlen=PROGRESS_KEPT)
        self._callbacks: list[Callable[[dict[str, Any]], None]] = []
        self._progress_at = time.time()
        self._ended = threading.Event()
        self.error: Exception | None = None
        self._sink = SinkSide(
            spec.name or spec.id,
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

    def stop(self) -> None:
        self._coordinator.call(lambda: self._end(None))
        self._ended.wait()

    def process_all_available(self) -> None:
        done = threading.Event()
        self._coordinator.call(lambda: self._drains.append(done))
        while not done.wait(0.1) and self.active:
            pass

    def progress(self) -> list[dict[str, Any]]:
        return list(self._progress)

    def totals(self) -> QueryMetrics:
        """All counts since the last call of this, exact to the last progress."""
        taken, self._totals = self._totals, QueryMetrics(self.target.latency)
        return taken

    def add_progress_callback(self, callback: Callable[[dict[str, Any]], None]) -> None:
        self._callbacks.append(callback)

    def engine_facts(self) -> dict[str, Any]:
        return dict(self._facts)

    def explain_misses(self) -> str:
        return self.target.explain()

    # The life cycle.

    def begin(self) -> None:
        """Start, or start again after a node was lost."""
        if self.life is Life.ENDED:
            return
        if self.number >= 0:
            self._tell(protocol.Undeploy(self.number))
        self.life = Life.RESTORING
        self.number = self._coordinator.next_number(self)
        self._epoch = None
        self._held = []
        self._measured = {}
        self._drains, self._draining = self._drains + self._draining, []
        self._sink.restore(self.number, self._sink_nodes())

    def describe(self, trace: TraceWriter) -> None:
        """Write the header of this query to a trace, if it has none there."""
        spec, mode = self.spec, self.spec.output_mode.lower()
        trace.header(self.number, spec.name or spec.id, self.target.latency, self._home, self.stages, mode)

    def _tell(self, order: Any) -> None:
        """To all nodes of this query."""
        for node in range(self.nodes):
            self._coordinator.send(node, order)

    def _sink_nodes(self) -> int:
        last = self.stages[-1]
        assert isinstance(last, SinkStage)
        return self.nodes if last.placement == "everywhere" else 1

    def _restored(self, manifest: Manifest | None) -> None:
        self._manifest = manifest
        self._next_epoch = 0 if manifest is None else manifest.epoch + 1
        self.life = Life.WAITING
        self.nodes_changed()

    def nodes_changed(self) -> None:
        """Deploy, if all nodes are there."""
        if self.life is not Life.WAITING or not self._coordinator.complete:
            return
        self.life = Life.DEPLOYING
        self._deployed = set()
        try:
            deployment = make_deployment(
                self.spec, self.stages, self._connectors, self.number, self.nodes, self._home, self._manifest,
                self._store.root, self._coordinator.conf, self.target,
            )  # fmt: skip
            pickled = cloudpickle.dumps(deployment)
        except Exception as error:
            self._end(error)
            return
        self._tell(protocol.Deploy(pickled))

    def deployed(self, node: int) -> None:
        self._deployed.add(node)
        if len(self._deployed) == self.nodes and self.life is Life.DEPLOYING:
            self.life = Life.RUNNING
            self._next_barrier = time.time() + self._interval
            self._tell(protocol.Run(self.number))
            if self.spec.trigger.ends:
                self._drains.append(threading.Event())
            self.tick(time.time())

    def failed(self, failure: protocol.Failed) -> None:
        """An operator raised in a node."""
        error = StreamingQueryFailed(failure.text.strip())
        if failure.error is not None:
            error.__cause__ = pickle.loads(failure.error)
        self._end(error)

    def _end(self, error: Exception | None) -> None:
        if self.life is Life.ENDED:
            return
        self.life = Life.ENDED
        self.error = error
        self._tell(protocol.Undeploy(self.number))
        self._make_progress(time.time())
        self._sink.close(error is not None, lambda: self._coordinator.call(self._finish))

    def _finish(self) -> None:
        self._coordinator.forget(self)
        for waiting in self._drains + self._draining:
            waiting.set()
        self._ended.set()

    # Epochs.

    def tick(self, now: float) -> None:
        """Called often: end an epoch if it is time or somebody waits for all rows; make progress once a second."""
        if self.life is Life.RUNNING and self._epoch is None and (self._drains or now >= self._next_barrier):
            self._next_barrier = now + self._interval
            self._draining, self._drains = self._drains, []
            self._epoch = _Epoch(Barrier(self._next_epoch, bool(self._draining)))
            self._tell(protocol.Inject(self.number, self._epoch.barrier))
        if self.life is not Life.ENDED and now - self._progress_at >= PROGRESS_EVERY:
            self._make_progress(now)

    def epoch_passed(self, passed: protocol.EpochPassed) -> None:
        if passed.measured is not None:
            self.report(passed.node, *passed.measured)
        if self._epoch is not None and passed.barrier == self._epoch.barrier:
            self._epoch.passed[passed.node] = passed
            self._commit_if_complete(self._epoch)

    def _commit_if_complete(self, epoch: _Epoch) -> None:
        sink = self.spec.sink
        if len(epoch.passed) < self.nodes or (sink.to_driver and epoch.prepared is None):
            return
        manifest = Manifest(epoch.barrier.epoch)
        sink_stage = self.stages[-1].id
        for _, passed in sorted(epoch.passed.items()):
            for stage, name in passed.files.items():
                manifest.files.setdefault(stage, []).append(name)
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
        self._manifest = manifest
        self._next_epoch = manifest.epoch + 1
        now = time.time()
        for result in self._held:
            self._metrics.show(result, now)
        self._held = []
        plans = {stage.id for stage in self.stages if isinstance(stage, PlanStage)}
        positions = {stage: values[0] for stage, values in manifest.values.items() if stage in plans}
        self._tell(protocol.Committed(self.number, positions))
        if self._draining:
            self._make_progress(now)
        for waiting in self._draining:
            waiting.set()
        self._draining = []
        if self.spec.trigger.ends:
            self._end(None)

    # The sink's thread.

    def receive(self, number: int, node: int, stage: int, message: Message, size: int) -> None:
        """Rows or marks from a node for the driver's sink."""
        if number != self.number:
            return
        now = time.time()
        if message.marker:
            self._metrics.marker.record(now - message.first_t)
        else:
            self._sink.receive(number, node, stage, message.arrived(now), size, now)

    def _sink_says(self, result: Any) -> None:
        if isinstance(result, SinkFailed):
            error = StreamingQueryFailed("".join(traceback.format_exception(result.error)).strip())
            error.__cause__ = result.error
            self._end(error)
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
                self._metrics.show(result, now)

    # Progress.

    def report(self, node: int, metrics: QueryMetrics, facts: dict[str, Any]) -> None:
        """What a node has measured since its last report."""
        known = self._measured.setdefault(node, metrics)
        if known is not metrics:
            known.follow(metrics)
        self._facts.update(facts)

    def _take_metrics(self) -> QueryMetrics:
        """What happened since the last progress, everywhere; a node that has not reported stands where it stood."""
        metrics, self._metrics = self._metrics, QueryMetrics(self.target.latency)
        for node, measured in self._measured.items():
            metrics.merge(measured)
            self._measured[node] = measured.carried()
        return metrics

    def _make_progress(self, now: float) -> None:
        metrics = self._take_metrics()
        if self.target.observe(metrics, now):
            assert self.target.latency is not None
            self._tell(protocol.Aim(self.number, self.target.latency))
        too_slow = self.target.check(self._facts.get("serviceMs", 0.0) / 1000)
        if too_slow is not None:
            _log.warning("query %s: %s", self.spec.name or self.spec.id, too_slow)
        context = ProgressContext(
            self.spec.id,
            self.spec.run_id,
            self.spec.name,
            now,
            self._next_epoch,
            now - self._progress_at,
            type(self.spec.sink).__name__,
            {"state": self.life.value, **self._facts},
        )
        self._progress_at = now
        self._totals.follow(metrics)
        progress = build_progress(context, metrics)
        self._progress.append(progress)
        for callback in self._callbacks:
            callback(progress)
