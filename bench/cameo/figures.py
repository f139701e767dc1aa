"""The figures: what each runs on real nodes and in the simulator, under which policies, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.cameo import example, overhead, plots, real, replay, timeline, tokens
from bench.cameo.jobs import LS_TARGET
from bench.cameo.results import CameoResult, ratios
from bench.cameo.trials import COMPARED, Choice, Trials

Real = Callable[[Trials, dict[str, Choice]], None]
Draw = Callable[[list[CameoResult], str], None]
TARGET_MS = LS_TARGET * 1000


@dataclass(frozen=True)
class Figure:
    """`seconds` is the length of one measured run on real nodes; `scenario` whether the simulator runs it too."""

    title: str
    real: Real | None
    draw: Draw | None
    seconds: float = 15.0
    policies: tuple[str, ...] = COMPARED
    table: Callable[[list[CameoResult]], list[str]] = ratios


def _over_x(title: str, label: str) -> Draw:
    return lambda results, path: plots.latency_over_x(results, path, title, label, TARGET_MS)


def _bars(title: str, *groups: str) -> Draw:
    return lambda results, path: plots.bars(results, path, title, groups, TARGET_MS)


def success(results: list[CameoResult]) -> list[str]:
    """The share of results in time."""
    return [f"  {r.system:<9} {r.policy:<16} {r.group}: {r.met:.1%} of results in time" for r in results]


FIGURES: dict[str, Figure] = {
    "fig4": Figure("the worked example", None, None),
    "fig6": Figure(
        "token shares",
        lambda trials, policies: tokens.fig6(trials),
        lambda results, path: plots.shares(results, path, "Fig. 6: shares by tokens 20, 40, 40"),
        45.0,
        ("tokens",),
        tokens.table,
    ),
    "fig7a": Figure("IPQ1 to IPQ4 alone", real.fig7, _bars("Fig. 7a: a query alone", "ls"), 12.0),
    "fig7b": Figure(
        "distribution of IPQ1 to IPQ4",
        real.fig7,
        lambda results, path: plots.distributions(results, path, "Fig. 7b: a query alone", TARGET_MS),
        8.0,
    ),
    "fig7c": Figure("schedule of operators", timeline.fig7c, timeline.draw),
    "fig8a": Figure("bulk volume", real.fig8a, _over_x("Fig. 8a: bulk volume", "bulk rows/s per source")),
    "fig8b": Figure("bulk jobs", real.fig8b, _over_x("Fig. 8b: bulk jobs", "bulk jobs")),
    "fig8c": Figure("fewer workers", real.fig8c, _over_x("Fig. 8c: fewer workers", "workers"), 20.0),
    "fig9": Figure(
        "Pareto volume",
        real.fig9,
        lambda results, path: plots.timelines(results, path, "Fig. 9: Pareto volume", TARGET_MS),
        45.0,
    ),
    "fig10": Figure(
        "skewed sources", real.fig10, _bars("Fig. 10: skewed sources", "type1", "type2"), 30.0, table=success
    ),
    "fig11": Figure("LLF, EDF, SJF", real.fig11, _bars("Fig. 11: policies", "ls"), 12.0, ("llf", "edf", "sjf")),
    "fig12": Figure(
        "overhead",
        lambda trials, policies: overhead.fig12(trials),
        overhead.draw,
        1.5,
        ("fifo", "llf-constant", "llf"),
        overhead.table,
    ),
    "fig13": Figure(
        "message size", real.fig13, _over_x("Fig. 13: rows per message", "rows per bulk message"), 15.0, ("llf",)
    ),
    "fig14": Figure("without semantics", real.fig14, _bars("Fig. 14: without semantics", "ls", "ba"), 30.0),
    "fig15": Figure(
        "cost errors", real.fig15, _over_x("Fig. 15: cost error", "standard deviation, ms"), 15.0, ("llf",)
    ),
    "replay": Figure(
        "a recorded run in the simulator", replay.replay, None, 8.0, ("fifo", "orleans", "llf"), replay.table
    ),
}


def print_example() -> None:
    print("Fig. 4: start and end of each message's run, ms")
    print(example.table())
