"""The experiments on real nodes: one function a figure, from a run's length and policies to its points.

Each says how it differs from the paper's beyond the sizes of `bench.cameo.jobs`.
"""

from __future__ import annotations

from typing import Any

from bench.cameo.arrivals import Arrivals
from bench.cameo.jobs import BA_TARGET, LS_TARGET, ROWS, SOURCES, Job, mix, single
from bench.cameo.queries import SHAPES
from bench.cameo.trials import Choice, Point, Trials, choices

EDGE_JOBS = 12
"""Bulk jobs that fill the nodes, as in the paper's Fig. 8b."""
OVERLOAD = 1.5


def _load(share: float, capacity: float, **more: Any) -> dict[str, Any]:
    return {"bulk_load": share, "capacity_rows_per_s": capacity, **more}


def fig7(trials: Trials, policies: dict[str, Choice]) -> None:
    """IPQ1 to IPQ4, each alone at 80 % of what the nodes take of it, all with the target of 800 ms."""
    for shape in SHAPES:
        capacity = trials.capacity([single(shape, 1e6)])
        point = Point(shape, [single(shape, 0.8 * capacity)], {"load": 0.8, "capacity_rows_per_s": capacity})
        trials.sweep([point], policies)


def fig8a(trials: Trials, policies: dict[str, Choice]) -> None:
    """Eight bulk jobs; their volume per source grows from half of the nodes' capacity to twice as much."""
    capacity = trials.capacity()
    points = []
    for load in (0.5, 1.0, 2.0):
        jobs = mix(8, load * capacity)
        points.append(Point(round(load * capacity / (8 * SOURCES)), jobs, _load(load, capacity)))
    trials.sweep(points, policies)


def fig8b(trials: Trials, policies: dict[str, Choice]) -> None:
    """Bulk jobs of a twelfth of the nodes' capacity each: 6, 12 and 24, twice what the nodes can take."""
    capacity = trials.capacity()
    points = [Point(n, mix(n, n * capacity / EDGE_JOBS), _load(n / EDGE_JOBS, capacity)) for n in (6, 12, 24)]
    trials.sweep(points, policies)


def fig8c(trials: Trials, policies: dict[str, Choice]) -> None:
    """Twelve bulk jobs that take 70 % of two nodes, on two nodes and on one; a node is a core with one worker."""
    capacity = trials.capacity()
    jobs = mix(EDGE_JOBS, 0.7 * capacity)
    points = [Point(n, jobs, _load(0.7 * trials.nodes / n, capacity), n) for n in range(trials.nodes, 0, -1)]
    trials.sweep(points, policies)


def fig9(trials: Trials, policies: dict[str, Choice]) -> None:
    """Eight bulk jobs of Pareto distributed volume (see `bench.cameo.arrivals`), on average 45 % of the capacity."""
    capacity = trials.capacity()
    trials.sweep(
        [Point("pareto", mix(8, 0.45 * capacity, process="pareto"), _load(0.45, capacity))], policies, alone=True
    )


def fig10(trials: Trials, policies: dict[str, Choice]) -> None:
    """Four jobs of type 1 and four of type 2 at once, windows of a second, target 800 ms, as much as the nodes take.

    Type 2 has half the volume of type 1, and its sources differ 200-fold. The types are the groups "type1", "type2".
    """
    capacity = trials.capacity()
    jobs = []
    for number in range(8):
        kind, process, share = ("type1", "constant", 2 / 3) if number < 4 else ("type2", "skewed", 1 / 3)
        volume = capacity * share / 4
        arrivals = Arrivals(400 + number, SOURCES, volume / (SOURCES * ROWS), ROWS, process)
        jobs.append(Job(f"{kind}-{number}", kind, arrivals, 1, 1, LS_TARGET))
    trials.sweep([Point("skew", jobs, {"load": 1.0, "capacity_rows_per_s": capacity})], policies, alone=True)


def fig11(trials: Trials, policies: dict[str, Choice]) -> None:
    """Left: as Fig. 7a. Right: four latency-sensitive and 18 bulk jobs of 1.5 times the nodes' capacity ("multi")."""
    capacity = trials.capacity()
    trials.sweep([Point("multi", mix(18, OVERLOAD * capacity), _load(OVERLOAD, capacity))], policies)
    fig7(trials, policies)


def fig13(trials: Trials, policies: dict[str, Choice]) -> None:
    """Bulk messages of 1,000 to 40,000 rows at the same rows/s, 1.5 times the capacity."""
    capacity = trials.capacity()
    points = [
        Point(rows, mix(8, OVERLOAD * capacity, rows), _load(OVERLOAD, capacity))
        for rows in (1000, 5000, 10_000, 20_000, 40_000)
    ]
    trials.sweep(points, policies)


def fig14(trials: Trials, policies: dict[str, Choice]) -> None:
    """With and without the windows' knowledge, 18 bulk jobs of 90 % of the capacity, so that their windows end."""
    capacity = trials.capacity()
    blind: Choice = ("llf", {"headway.scheduling.semantics": "false"})
    known = {name: choice for name, choice in policies.items() if name == "llf"}
    others = {name: choice for name, choice in policies.items() if name != "llf"}
    points = [Point("semantics", mix(18, 0.9 * capacity), _load(0.9, capacity))]
    trials.sweep(points, {**known, "llf-no-semantics": blind, **others})


def fig15(trials: Trials, policies: dict[str, Choice]) -> None:
    """Costs with a normal error of 0 to 1000 ms, 18 bulk jobs of 1.5 times the capacity."""
    capacity = trials.capacity()
    for error in (0, 1, 10, 100, 1000):
        perturbed = {
            name: (p, {**c, "headway.scheduling.costError": f"{error} ms"}) for name, (p, c) in policies.items()
        }
        trials.sweep([Point(error, mix(18, OVERLOAD * capacity), _load(OVERLOAD, capacity))], perturbed)


def compared(*names: str) -> dict[str, Choice]:
    return choices(names)


TARGETS = {"ls": LS_TARGET * 1000, "ba": BA_TARGET * 1000}
