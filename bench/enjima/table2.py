"""Table 2: how long the operators of LRB run per second, for three lengths of windows, from a trace of the nodes.

Headway fuses stateless operators into stages and cuts aggregations in two, so there are stages where the paper has
operators.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.cameo.plots import save
from bench.cameo.results import CameoResult, values
from bench.enjima.jobs import queries
from bench.enjima.trials import Choice, Trials

WINDOWS = (60, 40, 20)
LOAD = 0.5


def run(trials: Trials, choices: Sequence[Choice]) -> None:
    """One query at half of what the nodes take of it."""
    rate = round(LOAD * trials.capacity("lrb", 1))
    for window in WINDOWS:
        _trace(trials, choices[0], window, rate)


def _trace(trials: Trials, choice: Choice, window: int, rate: int) -> None:
    jobs = queries("lrb", 1, rate, window=window)
    with trials.cluster.trial(choice.policy, jobs, conf=choice.conf) as trial, TemporaryDirectory() as folder:
        path = Path(folder, "run.trace.jsonl")
        trial.wait()
        with trial.headway.recordTrace(path):
            groups = trial.measure(trials.seconds)
        spent = milliseconds(path, trials.seconds)
        trial.finish([groups])
    trials.report(choice, window, "lrb", groups["lrb"], float(rate), {"ms_per_s": spent})
    for stage, ms in spent.items():
        trials.say(f"    {stage:<40} {ms:8.2f} ms/s")


def milliseconds(path: str | Path, seconds: float) -> dict[str, float]:
    """What the stages of a trace ran, in milliseconds per second, on all nodes together."""
    names: dict[tuple[int, int], str] = {}
    spent: dict[str, float] = defaultdict(float)
    for line in Path(path).read_text().splitlines():
        told: dict[str, Any] = json.loads(line)
        for stage in told.get("stages", []):
            names[told["number"], stage["id"]] = f"{stage['id']} {stage['kind']}"
        if "stage" in told:
            spent[names[told["number"], told["stage"]]] += told["seconds"] * 1000 / seconds
    return dict(spent)


def draw(results: list[CameoResult], path: str) -> None:
    """A bar per stage and length of windows."""

    def bars(axis: Any) -> None:
        told = {r.x: r.settings["ms_per_s"] for r in results if "ms_per_s" in r.settings}
        stages = list(dict.fromkeys(stage for spent in told.values() for stage in spent))
        for number, x in enumerate(values(results, "x")):
            places = [at + 0.25 * number for at in range(len(stages))]
            axis.barh(places, [told.get(x, {}).get(stage, 0.0) for stage in stages], 0.22, label=f"{x} s")
        axis.set_yticks(range(len(stages)), stages, fontsize=6)
        axis.set(xlabel="ms per second")
        axis.legend(fontsize=7)

    save(path, 8, [bars], "Table 2: LRB")
