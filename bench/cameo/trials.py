"""Runs of an experiment: every horizontal value under every policy, in one session of Spark.

1. Policies take turns, in an order that rotates from value to value: what else the machine does hits all alike.
2. Volumes are told in parts of the nodes' capacity: rows/s that bulk jobs get when their sources never run dry,
   measured first. So a run means the same on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.cameo.jobs import Job, bulk, flooded
from bench.cameo.results import CameoResult, line, measured
from bench.cluster import Cluster, Group
from headway.scheduling import Policy, make_policy

COMPARED = ("llf", "fifo", "orleans")
CALIBRATION_JOBS = 6
CALIBRATION_SECONDS = 6.0


@dataclass(frozen=True)
class Point:
    """One horizontal value: what runs, on how many nodes (None: all), and what the report says of it."""

    x: float | str
    jobs: list[Job]
    settings: dict[str, Any] = field(default_factory=dict)
    nodes: int | None = None


Choice = tuple[Any, dict[str, str]]
"""A policy and settings of the session."""


class Trials:
    """Real nodes for one experiment; `say` takes lines for people."""

    def __init__(
        self,
        workload: str,
        seconds: float,
        say: Callable[[str], None],
        nodes: int = 2,
        capacity: float | None = None,
        points: Sequence[str] | None = None,
    ) -> None:
        self.workload = workload
        self.seconds = seconds
        self.say = say
        self.nodes = nodes
        self._capacity = capacity
        """Of bulk jobs, if it is known."""
        self._points = points
        """The horizontal values that are asked for; None: all."""
        self.results: list[CameoResult] = []

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self.nodes)

    def close(self) -> None:
        if "cluster" in self.__dict__:
            self.cluster.close()

    def capacity(self, jobs: list[Job] | None = None, nodes: int | None = None, recorded: bool = False) -> float:
        """Rows/s that the nodes take of such jobs (bulk ones by default) when there is always more; `recorded`: while
        they record what runs, which takes its time."""
        if jobs is None and nodes is None and self._capacity is not None:
            return self._capacity
        chosen = [flooded(job) for job in jobs or [bulk(n, 1e6) for n in range(CALIBRATION_JOBS)]]
        with self.cluster.trial("fifo", chosen, nodes) as trial, TemporaryDirectory() as folder:
            trial.wait()
            with trial.headway.recordTrace(Path(folder, "trace.jsonl")) if recorded else nullcontext():
                groups = trial.measure(CALIBRATION_SECONDS)
            trial.finish([groups])
        rows_per_s = sum(group.rows_per_s for group in groups.values())
        names = ", ".join(dict.fromkeys(job.shape for job in chosen))
        self.say(f"  capacity of {nodes or self.nodes} nodes for {names}: {rows_per_s / 1e6:.2f} M rows/s")
        return rows_per_s

    def sweep(self, points: list[Point], policies: dict[str, Choice], alone: bool = False) -> None:
        """Every point under every policy. They take turns on the same running jobs, or, `alone`, each has its own run
        of the same arrivals from their beginning. Results are kept in `results`."""
        chosen = {name: make_policy(policy, conf) for name, (policy, conf) in policies.items()}
        for turn, point in enumerate(points):
            if self._points is not None and str(point.x) not in self._points:
                continue
            names = list(chosen)
            rotated = {name: chosen[name] for name in names[turn % len(names) :] + names[: turn % len(names)]}
            groups = self._alone(point, rotated) if alone else self._together(point, rotated)
            for name, told in groups.items():
                self._report(point, name, told)

    def _together(self, point: Point, policies: dict[str, Policy]) -> dict[str, dict[str, Group]]:
        with self.cluster.trial(next(iter(policies.values())), point.jobs, point.nodes) as trial:
            return trial.alternate(policies, self.seconds)

    def _alone(self, point: Point, policies: dict[str, Policy]) -> dict[str, dict[str, Group]]:
        return {
            name: self.cluster.run(policy, point.jobs, self.seconds, point.nodes) for name, policy in policies.items()
        }

    def _report(self, point: Point, name: str, groups: dict[str, Group]) -> None:
        settings = {"nodes": point.nodes or self.nodes, **_sizes(point.jobs), **point.settings}
        for group in sorted(groups, reverse=True):
            offered = sum(job.rows_per_s for job in point.jobs if job.group == group)
            told = settings | {"timeline": groups[group].timeline}
            self.results.append(measured(self.workload, name, point.x, group, groups[group], offered, told))
            self.say(line(self.results[-1]))


def choices(names: tuple[str, ...]) -> dict[str, Choice]:
    """Policies by their names alone."""
    return {name: (name, {}) for name in names}


def _sizes(jobs: list[Job]) -> dict[str, Any]:
    """How this run differs from the paper's 32 nodes and 64 sources."""
    groups = {job.group: job.arrivals for job in jobs}
    return {
        "sources_per_job": {group: arrivals.sources for group, arrivals in groups.items()},
        "rows_per_message": {group: arrivals.rows for group, arrivals in groups.items()},
        "messages_per_s_per_source": {group: arrivals.rate for group, arrivals in groups.items()},
        "process": {group: arrivals.process for group, arrivals in groups.items()},
        "seed": jobs[0].arrivals.seed,
    }
