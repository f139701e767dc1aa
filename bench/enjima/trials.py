"""Runs of an experiment: every horizontal value under every choice of policy and mode, in one session of Spark.

1. Policies take turns on the same running queries, in an order that rotates: what else the machine does hits all alike.
   Modes are settings of a session: each has a run of its own. A turn is as long as a window, for the end of one is what
   takes longest, and begins when what waited is read. How far turns differ tells what a difference of policies is
   worth: means have their standard error.
2. Latency is that of events, by markers, as the papers measure; the first seconds do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import stdev
from typing import Any

from bench.cameo.results import CameoResult
from bench.cluster import SHORTEST_TURN, Cluster, Group
from bench.enjima.jobs import FLOOD, QueryJob, queries

CALIBRATION_SECONDS = {"ysb": 6.0, "lrb": 40.0, "nyt": 6.0}
"""Of Linear Road, windows of 20 seconds end twice meanwhile: that is a part of its work."""
SIX = 6
SLICE = 2.0
"""Seconds of a point in a timeline."""
LEAD = 15.0
"""Seconds of a timeline before it is measured: queries start, and catch up with what came meanwhile."""


@dataclass
class EnjimaResult(CameoResult):
    """One group under one policy in one mode at one horizontal value."""

    mode: str = "full"


@dataclass(frozen=True)
class Choice:
    """A policy, a mode (how memory and threads are used), and the settings of a session that make it so."""

    policy: str
    mode: str = "full"
    conf: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.policy if self.mode == "full" else self.mode


_QUEUES = {"headway.memory.mode": "queue"}
_THREADS = {"headway.scheduling.threads": "operators", "headway.fuse": "false"}
"""A thread for every operator of a query, as in the engines that this stands for, not for what they are fused into."""
POLICIES = tuple(Choice(name) for name in ("enjima", "fcfs", "ml", "mc", "rr", "hr"))
FULL = POLICIES[0]
TQ = Choice("arrival", "TQ", _QUEUES | _THREADS)
SQ = Choice("enjima", "SQ", _QUEUES)
TM = Choice("arrival", "TM", _THREADS)
MODES = (FULL, TQ, SQ, TM)
CHOICES = {choice.label: choice for choice in (*POLICIES, Choice("llf"), Choice("slack"), TQ, SQ, TM)}


class Trials:
    """Real nodes for one experiment; `say` takes lines for people. `rate`, if given, stands for every capacity."""

    def __init__(
        self,
        workload: str,
        seconds: float,
        say: Callable[[str], None],
        rate: float | None = None,
        nodes: int = 2,
        points: Sequence[str] | None = None,
    ) -> None:
        self.workload = workload
        self.seconds = seconds
        self.say = say
        self.results: list[CameoResult] = []
        self._rate = rate
        self._nodes = nodes
        self._points = points
        """The horizontal values that are asked for; None: all."""

    @cached_property
    def cluster(self) -> Cluster:
        return Cluster(self._nodes)

    def close(self) -> None:
        if "cluster" in self.__dict__:
            self.cluster.close()

    def capacity(self, name: str, count: int = SIX) -> float:
        """Rows/s that the nodes take of so many queries of a workload when there is always more."""
        if self._rate is not None:
            return self._rate
        told = self.cluster.run(FULL.policy, queries(name, count, FLOOD), CALIBRATION_SECONDS[name])
        taken = sum(group.rows_per_s for group in told.values())
        self.say(f"  capacity for {name}: {taken / 1e6:.2f} M rows/s")
        return taken

    def asked(self, x: float | str) -> bool:
        """Whether a horizontal value is wanted."""
        return self._points is None or str(x) in self._points

    def point(self, x: float | str, jobs: Sequence[QueryJob], choices: Sequence[Choice], **settings: Any) -> None:
        """Run the jobs under every choice; a result per choice and group."""
        if not self.asked(x):
            return
        alike: dict[str, list[Choice]] = {}
        for choice in choices:
            alike.setdefault(repr(choice.conf), []).append(choice)
        for same in alike.values():
            with self.cluster.trial(same[0].policy, jobs, conf=same[0].conf) as trial:
                if len(same) == 1:
                    told = {same[0].label: trial.run(self.seconds)}
                else:
                    policies = {choice.label: choice.policy for choice in same}
                    told = trial.alternate(policies, self.seconds, max(SHORTEST_TURN, *(job.window for job in jobs)))
            for choice in same:
                for name, group in told[choice.label].items():
                    mine = [job for job in jobs if job.group == name]
                    self.report(choice, x, name, group, sum(job.rows_per_s for job in mine), settings)

    def timeline(self, x: str, jobs: Sequence[QueryJob], choices: Sequence[Choice]) -> None:
        """Run the jobs under every choice, told in slices of time: (seconds, rows/s, mean latency, p99). What a result
        says besides is of the last slice, in which the rate is the highest."""
        offered = sum(job.rows_per_s for job in jobs)
        for choice in choices:
            slices = self._sliced(choice, jobs)
            points = [
                (SLICE * n, told.rows / told.seconds, *_latency(told.markers.summary()))
                for n, told in enumerate(slices)
            ]
            self.report(choice, x, jobs[0].group, slices[-1], offered, {"timeline": points})

    def _sliced(self, choice: Choice, jobs: Sequence[QueryJob]) -> list[Group]:
        """One group per slice; all are judged by what was written in the end."""
        slices: list[dict[str, Group]] = []
        with self.cluster.trial(choice.policy, jobs, conf=choice.conf) as trial:
            trial.wait(LEAD)
            slices.extend(trial.measure(SLICE) for _ in range(max(1, int(self.seconds / SLICE))))
            trial.finish(slices)
        return [group for groups in slices for group in groups.values()]

    def report(
        self, choice: Choice, x: float | str, name: str, group: Group, offered: float, settings: dict[str, Any]
    ) -> None:
        rows_per_s = group.rows_per_s
        result = EnjimaResult(
            self.workload, "headway", len(group.names), offered, rows_per_s, group.markers.summary(), group.seconds,
            group.rows, group.correct, {**_settings(group), **choice.conf, **settings}, choice.policy, name, x,
            group.share_met, choice.mode,
        )  # fmt: skip
        self.results.append(result)
        self.say(line(result))


def _settings(group: Group) -> dict[str, Any]:
    told: dict[str, Any] = {"windows_checked": group.windows}
    if len(group.turns) > 1:
        told |= {"turns_rows_per_s": group.turns, "turns_mean_ms": group.means}
    return told


def _error(turns: Sequence[float]) -> float:
    """The standard error of a mean over turns."""
    return stdev(turns) / len(turns) ** 0.5 if len(turns) > 1 else 0.0


def _latency(summary: dict[str, float]) -> tuple[float, float]:
    return summary.get("mean", -1.0), summary.get("p99", -1.0)


def label(result: CameoResult) -> str:
    """What a result is drawn as: a peer, a mode that is not the full one, or a policy."""
    if result.system != "headway":
        return result.system
    mode = getattr(result, "mode", "full")
    return result.policy if mode == "full" else str(mode)


def line(result: CameoResult) -> str:
    """For people."""
    latency = ", ".join(f"{name} {value:,.2f}" for name, value in result.latency_ms.items())
    errors = [_error(result.settings.get(name, ())) for name in ("turns_rows_per_s", "turns_mean_ms")]
    latency += f" (standard errors: {errors[0] / 1e6:.2f} M rows/s, mean {errors[1]:.2f} ms)" if any(errors) else ""
    return (
        f"  x={result.x!s:>6}  {label(result):<8} {result.group:<4} {result.rows_per_s / 1e6:8.2f} M rows/s of "
        f"{result.offered_rows_per_s / 1e6:.2f}  latency ms: {latency or 'none'}  correct: {result.correct}"
    )
