"""Nodes as Spark tasks: one single-task job per node, in its own job group, started again when it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark import InheritableThread

from headway.cluster.protocol import NodeConfig

RETRY_PAUSE = 0.2


def _node_task(config: NodeConfig) -> None:
    from headway.node.task import run_node

    run_node(config)


class NodeJobs:
    """Keeps one Spark job running per node until `stop`. Spark's web UI shows each by its description."""

    def __init__(self, spark: Any, configs: list[NodeConfig], lost: Callable[[int, str], None]) -> None:
        self._context = spark.sparkContext
        self._configs = configs
        self._lost = lost
        self._stopping = threading.Event()
        self.failures: dict[int, list[str]] = {config.index: [] for config in configs}
        """Why a node's task ended, over and over; emptied by `started`."""
        self._threads = [InheritableThread(target=self._keep, args=(config,), daemon=True) for config in configs]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def group(self, index: int) -> str:
        return f"headway-node-{index}-{id(self)}"

    def started(self) -> None:
        """All nodes are there: what failed before does not matter."""
        for failures in self.failures.values():
            failures.clear()

    def _keep(self, config: NodeConfig) -> None:
        while not self._stopping.is_set():
            self._context.setJobGroup(self.group(config.index), f"Headway node {config.index}", True)
            try:
                self._context.parallelize([config], 1).setName(f"headway node {config.index}").foreach(_node_task)
                why = "the node's task ended"
            except Exception as error:
                why = str(error)
            if not self._stopping.is_set():
                self.failures[config.index].append(why)
                self._lost(config.index, why)
                time.sleep(RETRY_PAUSE)

    def stop(self, timeout: float) -> None:
        """Wait for the nodes, which were told to end, then cancel what is left."""
        self._stopping.set()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        for config, thread in zip(self._configs, self._threads, strict=True):
            if thread.is_alive():
                self._context.cancelJobGroup(self.group(config.index))
                thread.join(5.0)
