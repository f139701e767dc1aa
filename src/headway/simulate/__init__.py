"""The scheduler under a virtual clock: large clusters in seconds. See docs/simulator.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from headway.scheduling import Policy, make_policy
from headway.simulate.build import build
from headway.simulate.engine import Engine
from headway.simulate.jobs import Arrivals, Bursts, Cluster, Cost, Job, Recorded, Spread, StageSpec, Window
from headway.simulate.load import load_scenario
from headway.simulate.result import Group, JobResult, Result, table, write
from headway.simulate.result import summarise as _summarise
from headway.simulate.scenario import Scenario
from headway.simulate.timeline import timeline as _timeline
from headway.simulate.trace import read_trace


def run(scenario: Scenario, policy: str | Policy = "llf", timeline: bool = False) -> Result:
    """Simulate a scenario under a policy, by name or as an object.

    >>> source = StageSpec("source", "source", arrivals=Arrivals(rate=10, phase=0.0))
    >>> job = Job("job", (source, StageSpec("work", cost=Cost(message=0.02))), latency=0.05)
    >>> result = run(Scenario("one operator", (job,), seconds=1.0), "llf")
    >>> round(result.groups[0].latency_ms["p99"]), result.groups[0].met, result.groups[0].correct
    (20, 1.0, True)
    """
    chosen = make_policy(policy, scenario.settings)
    jobs = build(scenario)
    measured = Engine(scenario, jobs, chosen, timeline).run()
    result = _summarise(scenario, chosen.name, jobs, measured)
    return replace(result, timeline=_timeline(jobs, measured)) if timeline else result


def load(path: str | Path) -> Scenario:
    """The scenario of a TOML file, or of a trace of JSON lines that nodes recorded."""
    return read_trace(path) if Path(path).suffix == ".jsonl" else load_scenario(path)


__all__ = [
    "Arrivals",
    "Bursts",
    "Cluster",
    "Cost",
    "Group",
    "Job",
    "JobResult",
    "Recorded",
    "Result",
    "Scenario",
    "Spread",
    "StageSpec",
    "Window",
    "load",
    "run",
    "table",
    "write",
]
