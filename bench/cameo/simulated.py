"""The experiments in the simulator: every scenario of a figure under every policy, as results like those of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bench.cameo.results import PERCENTS, CameoResult, line
from bench.cameo.scenarios import BLIND, SCENARIOS, SHARES, TOKENS
from headway.simulate import Group, Result, Scenario, run

TIMELINE_POINTS = 2000


def simulate(figure: str, policies: tuple[str, ...], say: Callable[[str], None]) -> list[CameoResult]:
    """What the simulator gives for a figure; nothing if it has no scenario."""
    results: list[CameoResult] = []
    for x, scenario in SCENARIOS[figure]() if figure in SCENARIOS else []:
        if figure == "fig6":
            return _shares(scenario, say)
        for name in policies:
            results += _results(run(scenario, name), name, x, scenario, say)
        if figure == "fig14":
            blind = replace(scenario, settings=BLIND)
            results += _results(run(blind, "llf"), "llf-no-semantics", x, blind, say)
    return results


def _results(
    made: Result, policy: str, x: float | str, scenario: Scenario, say: Callable[[str], None]
) -> list[CameoResult]:
    results = [_result(group, made, policy, x, scenario) for group in made.groups]
    for result in results:
        say(line(result))
    return results


def _result(group: Group, made: Result, policy: str, x: float | str, scenario: Scenario) -> CameoResult:
    jobs = [job for job in made.jobs.values() if job.group == group.group]
    latency = np.concatenate([job.latency for job in jobs]) * 1000
    points = [
        (job.name, float(t), 0.0, float(ms), float(ms))
        for job in jobs
        for t, ms in zip(job.time, job.latency * 1000, strict=True)
    ]
    settings = {
        "nodes": scenario.cluster.nodes,
        "workers": scenario.cluster.workers,
        "utilisation": group.utilisation,
        "sd_ms": float(latency.std()) if len(latency) else 0.0,
        "cdf_ms": [float(ms) for ms in np.percentile(latency, PERCENTS)] if len(latency) else [],
        "timeline": points[:: max(1, len(points) // TIMELINE_POINTS)],
    }
    return CameoResult(
        group.workload, "simulator", group.queries, group.offered_rows_per_s, group.rows_per_s, group.latency_ms,
        group.seconds, group.rows, group.correct, settings, policy, group.group, x, group.met or 0.0,
    )  # fmt: skip


def _shares(scenario: Scenario, say: Callable[[str], None]) -> list[CameoResult]:
    """Fig. 6: rows by second of each dataflow, and its share while so many run."""
    made = run(scenario, TOKENS)
    starts = [job.start for job in scenario.jobs] + [scenario.seconds]
    results = []
    for phase in range(1, len(starts)):
        seconds = range(int(starts[phase - 1]) + 5, int(starts[phase]))
        reads = {job.name: sum(job.reads.get(second, 0) for second in seconds) for job in made.jobs.values()}
        for name, rows in reads.items():
            base = _result(made.group(name), made, "tokens", phase, scenario)
            share = rows / max(1, sum(reads.values()))
            timeline = [(name, second, count, -1, -1) for second, count in made.jobs[name].reads.items()]
            told: dict[str, Any] = {"share": share, "tokens": SHARES[name], "timeline": timeline if phase == 3 else []}
            results.append(replace(base, rows_per_s=rows / len(seconds), settings=base.settings | told))
            say(f"  {phase} running  {name}: {rows / len(seconds) / 1e6:6.2f} M rows/s, {share:.1%} of all")
    return results
