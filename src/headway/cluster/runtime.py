"""Headway's engine as the session sees it: nodes inside Spark, and queries submitted to them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import cloudpickle

from headway.cluster.coordinator import Coordinator
from headway.cluster.nodes import NodeJobs
from headway.cluster.protocol import NodeConfig
from headway.cluster.running import Life, RunningQuery
from headway.dataflow.query import QuerySpec
from headway.errors import HeadwayError, InvalidOption
from headway.memory import memory_settings
from headway.node.precedence import niceness
from headway.observe.trace import TraceWriter
from headway.scheduling import Policy, make_policy, thread_per_operator

START_TIMEOUT = 120.0
STOP_TIMEOUT = 10.0
RECORD_TIMEOUT = 10.0
TRIES = 3


class Runtime:
    """Runs queries on `nodes` long-lived Spark tasks."""

    def __init__(self, spark: Any, nodes: int, threads: int, policy: str | Policy, conf: dict[str, str]) -> None:
        self.policy = make_policy(policy, conf)
        memory_settings(conf)  # raises here, not in the nodes
        thread_per_operator(conf)
        niceness(conf)
        if threads != 1:
            raise InvalidOption(f"threads={threads}: a node has one worker thread; for more cores ask for more nodes")
        context = spark.sparkContext
        host = "127.0.0.1" if context.master.startswith("local") else context.getConf().get("spark.driver.host")
        self.coordinator = Coordinator(host, nodes, conf)
        keys = self.coordinator.keys
        configs = [
            NodeConfig(index, self.coordinator.address, keys.public, keys.secret, self.policy, conf)
            for index in range(nodes)
        ]
        self._jobs = NodeJobs(spark, configs, self._node_lost)

    def _node_lost(self, node: int, why: str) -> None:
        self.coordinator.call(lambda: self.coordinator.node_lost(node, why))

    def start(self) -> None:
        """Start the nodes and wait for them."""
        self.coordinator.start()
        self._jobs.start()
        deadline = time.monotonic() + START_TIMEOUT
        while not self.coordinator.wait_complete(0.2):
            failed = [why for why in self._jobs.failures.values() if len(why) >= TRIES]
            if failed:
                self.stop()
                raise HeadwayError(f"a node failed {TRIES} times while it was starting: {failed[0][-1]}")
            if time.monotonic() > deadline:
                self.stop()
                raise HeadwayError(
                    f"not all nodes started within {START_TIMEOUT:.0f} s: the cluster has too few free slots; give it "
                    "more, or ask for fewer nodes; Spark's web UI shows those that wait as jobs called 'Headway node'"
                )
        self._jobs.started()

    def submit(self, spec: QuerySpec) -> RunningQuery:
        """Run a query; what can be known to be wrong is raised here."""
        query = RunningQuery(self.coordinator, spec)
        self.coordinator.call(query.begin)
        return query

    def use_policy(self, policy: str | Policy) -> None:
        """Schedule by another policy from now on; nothing that waits is lost."""
        self.policy = make_policy(policy, self.coordinator.conf)
        pickled = cloudpickle.dumps(self.policy)
        self.coordinator.call(lambda: self.coordinator.use_policy(pickled))

    @contextmanager
    def record(self, path: Path) -> Iterator[None]:
        """Record the runs of operators in a file while the block runs."""
        trace = TraceWriter(path, self.coordinator.nodes)
        self.coordinator.call(lambda: self.coordinator.record(trace))
        try:
            yield
        finally:
            self.coordinator.call(lambda: self.coordinator.record(None))
            if not self.coordinator.wait_recorded(RECORD_TIMEOUT):
                raise HeadwayError(
                    f"not all nodes told their runs within {RECORD_TIMEOUT:.0f} s: {path} is not complete"
                )

    def stop(self) -> None:
        """Stop all queries and all nodes."""
        for query in self.coordinator._active():
            if query.life is not Life.ENDED:
                query.stop()
        self.coordinator.stop()
        self._jobs.stop(STOP_TIMEOUT)
