"""The figures and tables: what each runs, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from bench import race
from bench.cameo.results import CameoResult
from bench.enjima import plots, sensitivity, table2
from bench.enjima.jobs import PER_QUERY, WORKLOADS, mixed, paper_rate, queries, steps
from bench.enjima.trials import FULL, LEAD, MODES, POLICIES, SIX, TQ, Choice, EnjimaResult, Trials

COUNTS = (1, 2, 4, 6, 8, 10)
Run = Callable[[Trials, Sequence[Choice]], None]
Draw = Callable[[list[CameoResult], str], None]


@dataclass(frozen=True)
class Figure:
    """`seconds` is the length of one measured run."""

    title: str
    run: Run
    draw: Draw
    seconds: float = 20.0
    choices: tuple[Choice, ...] = POLICIES


def fig1(trials: Trials, choices: Sequence[Choice]) -> None:
    """A query of Linear Road alone, at 5/6 of what the nodes take of it."""
    trials.point("lrb", queries("lrb", 1, round(5 / 6 * trials.capacity("lrb", 1))), choices)


def _scaling(name: str) -> Run:
    def run(trials: Trials, choices: Sequence[Choice]) -> None:
        counts = list(filter(trials.asked, COUNTS))
        capacity = trials.capacity(name, max(counts, default=SIX))
        for count in counts:
            trials.point(count, queries(name, count, paper_rate(name, capacity, count)), choices)

    return run


def _varying(name: str, millions: Sequence[float]) -> Run:
    """Six queries whose rate is raised in steps; a step is a quarter of the run."""

    def run(trials: Trials, choices: Sequence[Choice]) -> None:
        unit = paper_rate(name, trials.capacity(name)) / PER_QUERY[name] * 1e6
        rates = steps([value * unit for value in millions], trials.seconds, LEAD)
        trials.timeline("steps", queries(name, SIX, rates), choices)

    return run


def fig6c(trials: Trials, choices: Sequence[Choice]) -> None:
    """Six queries of YSB; every quarter of the run the share of views changes from a third to two thirds or back."""
    rate = paper_rate("ysb", trials.capacity("ysb"))
    period = max(1, round(trials.seconds / 4))
    trials.timeline("drift", queries("ysb", SIX, rate, drift=period), choices)


def _peers(name: str) -> Run:
    """Every system that can, in a process of its own, one to ten queries at the paper's rate."""

    def run(trials: Trials, choices: Sequence[Choice]) -> None:
        capacity = trials.capacity(name)
        trials.close()
        for count in filter(trials.asked, COUNTS):
            for system in race.able(WORKLOADS[name]):
                told = {
                    "queries": count,
                    "rate": paper_rate(name, capacity, count),
                    "seconds": trials.seconds,
                    "seed": 1,
                }
                result = race.in_process(name, system, told)
                fields = asdict(result) | {"workload": trials.workload}
                trials.results.append(EnjimaResult(**fields, policy=FULL.policy, group=name, x=count))

    return run


def fig8a(trials: Trials, choices: Sequence[Choice]) -> None:
    """A mix of the three workloads, 6 to 15 queries."""
    capacities = {name: trials.capacity(name) for name in PER_QUERY}
    for count in (6, 9, 12, 15):
        trials.point(count, mixed(count, capacities), choices)


def fig8b(trials: Trials, choices: Sequence[Choice]) -> None:
    """The mix of nine queries, by workload."""
    trials.point(9, mixed(9, {name: trials.capacity(name) for name in PER_QUERY}), choices)


def _ablation(name: str, shares: Sequence[float]) -> Run:
    """One query at growing parts of what the nodes take of it, in all modes."""

    def run(trials: Trials, choices: Sequence[Choice]) -> None:
        capacity = trials.capacity(name, 1)
        for share in shares:
            trials.point(share, queries(name, 1, round(share * capacity)), choices, load=share)

    return run


def _over(title: str, label: str) -> Draw:
    return lambda results, path: plots.over_x(results, path, title, label)


def _times(title: str) -> Draw:
    return lambda results, path: plots.timelines(results, path, title)


def _bars(title: str) -> Draw:
    return lambda results, path: plots.bars(results, path, title)


WITH_TQ = (*POLICIES, TQ)
LOADS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
FIGURES: dict[str, Figure] = {
    "fig1": Figure("a query of LRB alone", fig1, _bars("Fig. 1: LRB, one query"), choices=(FULL, TQ)),
    "fig5a": Figure("LRB, 1 to 10 queries", _scaling("lrb"), _over("Fig. 5a: LRB", "queries"), choices=WITH_TQ),
    "fig5b": Figure("YSB, 1 to 10 queries", _scaling("ysb"), _over("Fig. 5b: YSB", "queries"), choices=WITH_TQ),
    "fig5c": Figure("NYT, 1 to 10 queries", _scaling("nyt"), _over("Fig. 5c: NYT", "queries"), choices=WITH_TQ),
    # The paper's system took 3.0 of the 3.6 M that it was offered in the end.
    "fig6a": Figure("LRB, growing rate", _varying("lrb", (0.25, 0.5, 1.5, 3.0)), _times("Fig. 6a: LRB"), 240.0),
    "fig6b": Figure("YSB, growing rate", _varying("ysb", (1, 2, 6, 12)), _times("Fig. 6b: YSB"), 240.0),
    "fig6c": Figure("YSB, changing selectivity", fig6c, _times("Fig. 6c: YSB with drift"), 240.0),
    "fig7a": Figure("LRB, systems", _peers("lrb"), _over("Fig. 7a: LRB", "queries")),
    "fig7b": Figure("YSB, systems", _peers("ysb"), _over("Fig. 7b: YSB", "queries")),
    "fig7c": Figure("NYT, systems", _peers("nyt"), _over("Fig. 7c: NYT", "queries")),
    "fig8a": Figure("mixed workloads", fig8a, _over("Fig. 8a: mixed", "queries"), choices=WITH_TQ),
    "fig8b": Figure("mixed workloads, by workload", fig8b, _bars("Fig. 8b: nine queries"), choices=WITH_TQ),
    "fig9a": Figure("LRB, ablation", _ablation("lrb", LOADS), _over("Fig. 9a: LRB", "load"), choices=MODES),
    "fig9b": Figure("YSB, ablation", _ablation("ysb", LOADS), _over("Fig. 9b: YSB", "load"), choices=MODES),
    "fig10ab": Figure("chunk size", sensitivity.chunks, _over("Fig. 10a, b", "blocks per chunk"), choices=(FULL,)),
    "fig10cd": Figure("block size", sensitivity.blocks, _over("Fig. 10c, d", "rows per block"), choices=(FULL,)),
    "fig10ef": Figure("period", sensitivity.periods, _over("Fig. 10e, f", "ms"), choices=(FULL,)),
    "table2": Figure("operators of LRB", table2.run, table2.draw, choices=(FULL,)),
}
