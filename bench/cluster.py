"""Jobs on real nodes: they run together under one policy, and what they did is told by group.

1. Results go to files of lines by `foreach`; results that are complete are compared with the exact answer.
2. A result's latency is the query's own count of it. A window that was due and did not come within the run counts as
   missed.
3. The nodes start anew for every trial, so that none inherits another's backlog; the Spark session stays.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

import headway
from bench.cpu import node_seconds
from bench.lines import Line, Lines, read_lines
from headway.java import ensure_java
from headway.observe.histogram import LatencyHistogram
from headway.observe.metrics import QueryMetrics

WARM_UP = 3.0
CATCH_UP = 60.0
"""Seconds, at most, before a policy's turn: else it would work off what waited under the one before."""
CAUGHT_UP = 50.0
"""Mean latency in milliseconds."""
SETTLE = 1.5
SHORTEST_TURN = 4.0
TOLD = 2.5
"""Seconds after which what happened before a change of policy has been told: nodes report every second, and so do
progresses."""
CONF = {"headway.compile": "first", "headway.idleTimeout": "1 hour", "headway.checkpointInterval": "5 seconds"}
"""Sources that have nothing until all queries run are not idle: the first of them to begin would be ahead of others.
The driver, which shares the cores here, keeps out of the way: dozens of queries every other second would be its
work."""


class Job(Protocol):
    """A query with its stream and its target, in seconds; jobs of one group are reported together."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def target(self) -> float: ...
    @property
    def written(self) -> bool:
        """Results are kept and judged; else they go nowhere."""

    def frame(self, spark: SparkSession, t0_us: int) -> DataFrame:
        """The query, over a stream whose first row is due at `t0_us`."""

    def check(self, lines: list[Line], t0_us: int) -> tuple[bool, int]:
        """Whether what was written is right, and how many windows were complete."""

    def due(self, seconds: float) -> int:
        """Results that must come in so many seconds, with the target's time."""


@dataclass
class Group:
    """What the jobs of one group did together. `timeline` has (job, seconds, rows/s, median, p99) of progresses."""

    names: set[str] = field(default_factory=set)
    rows: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """Processor seconds that the nodes had meanwhile, for all groups."""
    busy: float = 0.0
    """Seconds of the nodes' workers that this group took."""
    turns: list[float] = field(default_factory=list)
    """Rows/s of each turn that it was measured in."""
    means: list[float] = field(default_factory=list)
    """Mean latency of events in each of them, milliseconds."""
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)
    """Of results."""
    markers: LatencyHistogram = field(default_factory=LatencyHistogram)
    """Of events."""
    met: int = 0
    results: int = 0
    due: int = 0
    """Results that should have come in the run, with the target's time."""
    correct: bool = True
    windows: int = 0
    """Windows that were compared with the exact answer."""
    timeline: list[tuple[str, float, float, float, float]] = field(default_factory=list)

    @property
    def rows_per_s(self) -> float:
        # Nodes tell every second what they have read: what is not told in the end makes up for what came late.
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def share_met(self) -> float:
        return self.met / max(self.results, self.due, 1)

    def deviation(self) -> float:
        """Standard deviation of latency in milliseconds."""
        counts = self.latency._counts
        total = max(1, self.latency.count)
        mean = sum(micros * count for micros, count in counts.items()) / total
        return math.sqrt(sum(count * (micros - mean) ** 2 for micros, count in counts.items()) / total) / 1000


class Cluster:
    """A Spark session in which nodes are started under one policy after another."""

    def __init__(self, nodes: int = 2) -> None:
        ensure_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(f"local[{nodes + 2}]").appName("bench")
        self.spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        self.nodes = nodes
        self._start_takes = 0.4
        """Seconds per query, as measured last."""

    def run(
        self,
        policy: Any,
        jobs: Sequence[Job],
        seconds: float,
        nodes: int | None = None,
        conf: dict[str, str] | None = None,
    ) -> dict[str, Group]:
        """All jobs together for `seconds`; what each group did."""
        with self.trial(policy, jobs, nodes, conf) as trial:
            return trial.run(seconds)

    @contextmanager
    def trial(
        self, policy: Any, jobs: Sequence[Job], nodes: int | None = None, conf: dict[str, str] | None = None
    ) -> Iterator[Trial]:
        """The jobs, started on new nodes."""
        with (
            headway.start(self.spark, nodes=nodes or self.nodes, policy=policy, conf=CONF | (conf or {})) as running,
            TemporaryDirectory(ignore_cleanup_errors=True) as root,
        ):
            trial = Trial(self, running, jobs, Path(root))
            trial.start()
            yield trial

    def close(self) -> None:
        self.spark.stop()


class Trial:
    """One run of a set of jobs."""

    def __init__(self, cluster: Cluster, running: headway.Headway, jobs: Sequence[Job], root: Path) -> None:
        self._cluster = cluster
        self.headway = running
        self._jobs = jobs
        self._root = root
        self._queries: dict[str, Any] = {}
        self._t0_us = 0

    def wait(self, seconds: float = WARM_UP) -> None:
        """Until the streams have run for so long."""
        time.sleep(max(0.0, self._t0_us / 1e6 + seconds - time.time()))

    def run(self, seconds: float) -> dict[str, Group]:
        """Measure for so long, then stop the nodes; what each group did."""
        self.wait()
        groups = self.measure(seconds)
        self.finish([groups])
        return groups

    def alternate(
        self, policies: dict[str, Any], seconds: float, turn: float = SHORTEST_TURN
    ) -> dict[str, dict[str, Group]]:
        """Every policy for `seconds` in all, taking turns on the running jobs, so that what else goes on at the machine
        hits all alike; another one begins each round, so that none always follows the same, nor ever itself. Before
        each turn the first policy reads what waits, unless it cannot. Then stop the nodes. By policy, what each group
        did."""
        self.wait()
        groups: dict[str, dict[str, Group]] = {}
        rounds = max(1, int(seconds / turn))
        order = list(policies)
        first, follows = policies[order[0]], True
        for _ in range(rounds):
            for name in order:
                follows = follows and self._catch_up(first)
                self.take(policies[name])
                self.measure(seconds / rounds, groups.setdefault(name, {}))
            order = order[1:] + order[:1]
        self.finish(list(groups.values()))
        return groups

    def _catch_up(self, policy: Any) -> bool:
        """Go on under a policy until next to nothing waits, if it comes to that."""
        self.take(policy)
        until = time.time() + CATCH_UP
        while time.time() < until:
            if all(group.means and group.means[-1] < CAUGHT_UP for group in self.measure(1.0).values()):
                return True
        return False

    def take(self, policy: Any) -> None:
        """Go on under another policy."""
        self.headway.policy = policy
        time.sleep(TOLD)

    def measure(self, seconds: float, groups: dict[str, Group] | None = None) -> dict[str, Group]:
        """Add what happens in the next `seconds` to the groups."""
        groups = {} if groups is None else groups
        self.totals()
        before = {name: (group.rows, group.markers.total) for name, group in groups.items()}
        began, cpu = time.time(), node_seconds()
        time.sleep(seconds)
        totals, ended, cpu = self.totals(), time.time(), node_seconds() - cpu
        for job in self._jobs:
            group = groups.setdefault(job.group, Group())
            self._count(group, job, totals[job.name], ended - began)
            _add_timeline(group, job, self._queries[job.name].recentProgress, began, self._t0_us / 1e6)
        for name, group in groups.items():
            rows, (count, micros) = before.get(name, (0, (0, 0)))
            group.turns.append((group.rows - rows) / (ended - began))
            counted, in_all = group.markers.total
            if counted > count:
                group.means.append((in_all - micros) / (counted - count) / 1000)
            group.seconds += ended - began
            group.cpu += cpu
        return groups

    def finish(self, runs: list[dict[str, Group]]) -> None:
        """Stop the nodes and compare what was written; what is wrong is wrong for all who ran."""
        self.headway.stop()
        for job in self._jobs:
            if job.written:
                right, windows = job.check(read_lines(Path(self._root, job.name)), self._t0_us)
                for groups in runs:
                    groups[job.group].correct = groups[job.group].correct and right
                    groups[job.group].windows += windows

    def start(self) -> None:
        """Start all queries; the first message is due when they run."""
        began = time.time()
        self._t0_us = int((began + SETTLE + self._cluster._start_takes * len(self._jobs)) * 1e6)
        for job in self._jobs:
            Path(self._root, job.name).mkdir()
            self._queries[job.name] = self._start_one(job)
        while not all(query.lastProgress for query in self._queries.values()):
            self._raise_errors()
            time.sleep(0.1)
        self._cluster._start_takes = (time.time() - began) / len(self._jobs) + 0.02

    def _start_one(self, job: Job) -> Any:
        writer = self.headway.writeStream(job.frame(self._cluster.spark, self._t0_us)).queryName(job.name)
        if job.written:
            writer = writer.outputMode("append").foreach(Lines(str(Path(self._root, job.name))))
        else:
            writer = writer.format("noop")
        return writer.latency(f"{job.target} seconds").start(fallback=False)

    def _raise_errors(self) -> None:
        for running in self._queries.values():
            if running.exception() is not None:
                raise running.exception()

    def totals(self) -> dict[str, QueryMetrics]:
        """What each job counted since the last call."""
        self._raise_errors()
        return {name: running._run._running.totals() for name, running in self._queries.items()}

    def _count(self, group: Group, job: Job, totals: QueryMetrics, seconds: float) -> None:
        group.names.add(job.name)
        group.rows += totals.input_rows
        group.busy += totals.busy
        group.latency.merge(totals.e2e)
        group.markers.merge(totals.marker)
        group.met += totals.met
        group.results += totals.met + totals.missed
        group.due += job.due(seconds)


def _add_timeline(group: Group, job: Job, progress: list[Any], began: float, t0: float) -> None:
    for p in progress:
        at, length = _time(p), max(p["batchDuration"] / 1000, 1e-3)
        if at > began:
            latency = p["headway"]["latency"]["e2eLatencyMs"]
            point = round(at - t0, 3), round(p["numInputRows"] / length), latency.get("P50", -1), latency.get("P99", -1)
            group.timeline.append((job.name, *point))


def _time(progress: Any) -> float:
    return datetime.fromisoformat(progress["timestamp"]).timestamp()
