"""Reality and simulator beside each other: a recorded run, replayed under every policy.

Jobs of 1.5 times the nodes' capacity run on real nodes, under one policy after the other. What ran under the first is
recorded, and the simulator replays the record under each. Both must rank the policies alike by the 95th percentile of
the latency-sensitive jobs' latency (early in an overload the median has not felt it yet); their milliseconds differ,
for a record has the batches of its own run.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.cameo.jobs import LS_TARGET, Job, mix
from bench.cameo.results import CameoResult, line, measured
from bench.cameo.trials import Choice, Trials
from bench.cluster import Group
from headway.scheduling import make_policy
from headway.simulate import Result, load, run

LOAD = 1.5
BULK_JOBS = 6
CLEAR = 1.5
"""Latencies that differ by less than this factor are taken as equal."""


def replay(trials: Trials, policies: dict[str, Choice]) -> None:
    """Adds a result per policy and system."""
    jobs = mix(BULK_JOBS, LOAD * trials.capacity())
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.trace.jsonl")
        for name, groups in _measured(trials, policies, jobs, path).items():
            offered = sum(job.rows_per_s for job in jobs if job.group == "ls")
            _add(trials, measured(trials.workload, name, LOAD, "ls", groups["ls"], offered, {"bulk_load": LOAD}))
        for name in policies:
            _add(trials, _simulated(trials.workload, name, run(load(path), name)))


def _measured(trials: Trials, policies: dict[str, Choice], jobs: list[Job], path: Path) -> dict[str, dict[str, Group]]:
    """By policy, what each group did on the running jobs; what ran under the first is recorded in `path`.

    The record begins early: later, most of what runs has waited since before it."""
    chosen = {name: make_policy(policy, conf) for name, (policy, conf) in policies.items()}
    groups: dict[str, dict[str, Group]] = {}
    with trials.cluster.trial(next(iter(chosen.values())), jobs) as trial:
        trial.wait()
        for name, policy in chosen.items():
            if groups:
                trial.take(policy)
            with nullcontext() if groups else trial.headway.recordTrace(path):
                groups[name] = trial.measure(trials.seconds)
        trial.finish(list(groups.values()))
    return groups


def _add(trials: Trials, result: CameoResult) -> None:
    trials.results.append(result)
    trials.say(line(result))


def _simulated(workload: str, policy: str, result: Result) -> CameoResult:
    jobs = [job for name, job in result.jobs.items() if name.startswith("ls")]
    latency = 1000 * np.concatenate([job.latency for job in jobs])
    p50, p95, p99 = np.percentile(latency, [50, 95, 99])
    told = {"mean": latency.mean(), "p50": p50, "p95": p95, "p99": p99, "max": latency.max()}
    rows = sum(sum(job.reads.values()) for job in jobs)
    correct = all(group.correct for group in result.groups)
    return CameoResult(
        workload, "simulator", len(jobs), rows / result.end, rows / result.end,
        {name: float(value) for name, value in told.items()}, result.end, rows, correct, {}, policy, "ls", LOAD,
        float(np.mean(latency <= 1000 * LS_TARGET)),
    )  # fmt: skip


def ranks(results: list[CameoResult], system: str) -> set[tuple[str, str]]:
    """Pairs of policies of which the first is clearly faster."""
    slow = {r.policy: r.latency_ms["p95"] for r in results if r.system == system and r.latency_ms}
    return {(a, b) for a in slow for b in slow if CLEAR * slow[a] < slow[b]}


def table(results: list[CameoResult]) -> list[str]:
    """Who is clearly better than whom, in reality and in the simulator."""
    told = {
        system: ", ".join(f"{a} before {b}" for a, b in sorted(ranks(results, system))) or "all alike"
        for system in ("headway", "simulator")
    }
    return [f"  {system:<9} {order}" for system, order in told.items()]
