"""Fig. 7c: when which operator ran, drawn from a trace that the nodes recorded (its format: docs/simulator.md)."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.cameo.jobs import single
from bench.cameo.plots import save
from bench.cameo.results import CameoResult, measured
from bench.cameo.trials import Choice, Trials

LOAD = 0.8
SHOWN = 2.0
"""Seconds that the drawing shows."""


class Run(NamedTuple):
    """An operator's run: when, and the window (number of seconds of event time) that its message belongs to."""

    start: float
    operator: tuple[int, int]
    """(stage, node)."""
    window: int | None


def read_runs(path: str | Path) -> list[Run]:
    """The runs of a trace that took rows."""
    lines = [json.loads(line) for line in Path(path).read_text().splitlines() if line]
    return [
        Run(line["start"], (line["stage"], line["node"]), None if line["p"] is None else line["p"] // 1_000_000)
        for line in lines
        if "stage" in line and line["kind"] != "mark"
    ]


def fig7c(trials: Trials, policies: dict[str, Choice]) -> None:
    """IPQ1 alone at 80 % of what the nodes take of it while they record."""
    job = single("ipq1", LOAD * trials.capacity([single("ipq1", 1e6)], recorded=True))
    for name, (policy, conf) in policies.items():
        with trials.cluster.trial(policy, [job], conf=conf) as trial, TemporaryDirectory() as folder:
            path = Path(folder, "run.trace.jsonl")
            trial.wait()
            with trial.headway.recordTrace(path):
                groups = trial.measure(SHOWN + 2.0)
            runs = read_runs(path)
            trial.finish([groups])
        settings = {"load": LOAD, "runs": [[run.start, *run.operator, run.window] for run in _middle(runs)]}
        trials.results.append(measured(trials.workload, name, "ipq1", "ls", groups["ls"], job.rows_per_s, settings))
        trials.say(f"  {name}: {len(runs)} runs recorded")


def _middle(runs: list[Run]) -> list[Run]:
    begin = min((run.start for run in runs), default=0.0) + 0.5
    return [run for run in runs if begin <= run.start < begin + SHOWN]


def draw(results: list[CameoResult], path: str) -> None:
    """A dot per run; its colour is the stage, pale where its window is an odd one."""
    recorded = [result for result in results if result.settings.get("runs")]
    save(path, 5, [lambda axis, r=r: _dots(axis, r) for r in recorded], "Fig. 7c: when operators ran, IPQ1")  # type: ignore[misc]


def _dots(axis: Any, result: CameoResult) -> None:
    runs = result.settings["runs"]
    operators = sorted({(stage, node) for _, stage, node, _ in runs})
    begin = min(start for start, *_ in runs)
    for odd in (0, 1):
        mine = [(start, stage, node) for start, stage, node, window in runs if (window or 0) % 2 == odd]
        places = [operators.index((stage, node)) for _, stage, node in mine]
        colours = ["#bbbbbb" if odd else f"C{stage}" for _, stage, _ in mine]
        axis.scatter([start - begin for start, *_ in mine], places, s=3, c=colours)
    axis.set_yticks(range(len(operators)), [f"stage {stage}, node {node}" for stage, node in operators], fontsize=7)
    axis.set(xlabel="seconds", title=result.policy)
