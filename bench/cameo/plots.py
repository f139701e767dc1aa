"""The figures: from results to a PNG each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from bench.cameo.results import PERCENTS, CameoResult, of, values

COLOURS = {
    "llf": "#1b6ca8",
    "fifo": "#d1495b",
    "orleans": "#edae49",
    "edf": "#66a182",
    "sjf": "#8d6a9f",
    "llf-no-semantics": "#7fb3d5",
    "llf-constant": "#7fb3d5",
}
STYLES = {"p50": "-", "p99": "--"}


def colour(policy: str) -> str:
    return COLOURS.get(policy, "#555555")


def save(path: str, width: int, draw: list[Callable[[Any], None]], title: str) -> None:
    """A row of axes, each drawn by a function."""
    figure, axes = plt.subplots(1, len(draw), figsize=(width * len(draw), 4.2), squeeze=False)
    for axis, function in zip(axes[0], draw, strict=True):
        function(axis)
        axis.grid(visible=True, alpha=0.25)
    figure.suptitle(title)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def latency_over_x(results: list[CameoResult], path: str, title: str, label: str, target: float) -> None:
    """Per system: the latency of the urgent group by policy (median and p99), and the bulk group's rows/s."""
    draw = []
    for system in values(results, "system"):
        mine = of(results, system=system)
        draw.append(_lines(of(mine, group="ls"), label, f"{system}: latency of LS (ms)", target))
        if of(mine, group="ba"):
            draw.append(_throughput(of(mine, group="ba"), label, f"{system}: BA million rows/s"))
    save(path, 5, draw, title)


def _lines(results: list[CameoResult], label: str, name: str, target: float) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        xs = _ticks(axis, results)
        for policy in values(results, "policy"):
            for which, style in STYLES.items():
                mine = [r for r in of(results, policy=policy) if r.latency_ms]
                points = sorted((xs.index(r.x), r.latency_ms[which]) for r in mine)
                axis.plot(*_columns(points), style, marker="o", ms=3, color=colour(policy), label=f"{policy} {which}")
        axis.axhline(target, color="grey", ls=":", label="target")
        axis.set(yscale="log", xlabel=label, ylabel=name)
        axis.legend(fontsize=7)

    return draw


def _throughput(results: list[CameoResult], label: str, name: str) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        xs = _ticks(axis, results)
        for policy in values(results, "policy"):
            points = sorted((xs.index(r.x), r.rows_per_s / 1e6) for r in of(results, policy=policy))
            axis.plot(*_columns(points), marker="o", ms=3, color=colour(policy), label=policy)
        axis.set(xlabel=label, ylabel=name, ylim=(0, None))
        axis.legend(fontsize=7)

    return draw


def _ticks(axis: Any, results: list[CameoResult]) -> list[Any]:
    """The horizontal values in order, evenly spaced: some grow by factors, some by steps."""
    xs = sorted(values(results, "x"))
    axis.set_xticks(range(len(xs)), [f"{x:,}" for x in xs])
    return xs


def _columns(points: list[tuple[Any, Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*points, strict=True)] or [[], []]


def bars(results: list[CameoResult], path: str, title: str, groups: tuple[str, ...], target: float | None) -> None:
    """Median and p99 by horizontal value and policy, an axis per system and group."""
    draw = [
        _bars(of(results, system=system, group=group), f"{system}: latency of {group} (ms)", target)
        for system in values(results, "system")
        for group in groups
        if of(results, system=system, group=group)
    ]
    save(path, 5, draw, title)


def _bars(results: list[CameoResult], name: str, target: float | None) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        xs, policies = values(results, "x"), values(results, "policy")
        width = 0.8 / len(policies)
        for number, policy in enumerate(policies):
            mine = {r.x: r.latency_ms for r in of(results, policy=policy)}
            places = [at + (number - (len(policies) - 1) / 2) * width for at in range(len(xs))]
            tails = [mine.get(x, {}).get("p99", 0.0) for x in xs]
            medians = [mine.get(x, {}).get("p50", 0.0) for x in xs]
            axis.bar(places, tails, width * 0.9, color=colour(policy), alpha=0.35)
            axis.bar(places, medians, width * 0.9, color=colour(policy), label=policy)
        if target is not None:
            axis.axhline(target, color="grey", ls=":", label="target")
        axis.set_xticks(range(len(xs)), [str(x) for x in xs])
        axis.set(yscale="log", ylabel=f"{name}, median and p99")
        axis.legend(fontsize=7)

    return draw


def distributions(results: list[CameoResult], path: str, title: str, target: float | None = None) -> None:
    """Cumulative distributions of latency, an axis per system, group and horizontal value."""
    kinds = dict.fromkeys((r.system, r.group, r.x) for r in results if r.settings.get("cdf_ms"))
    draw = [_cdf(of(results, system=s, group=g, x=x), f"{s}: {g}, {x}", target) for s, g, x in kinds]
    save(path, 4, draw, title)


def _cdf(results: list[CameoResult], name: str, target: float | None) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        for result in results:
            shares = [percent / 100 for percent in PERCENTS]
            if result.settings.get("cdf_ms"):
                axis.plot(result.settings["cdf_ms"], shares, color=colour(result.policy), label=result.policy)
        if target is not None:
            axis.axvline(target, color="grey", ls=":", label="target")
        axis.set(xscale="log", xlabel="latency (ms)", ylabel="share of results", title=name)
        axis.legend(fontsize=7)

    return draw


def timelines(results: list[CameoResult], path: str, title: str, target: float) -> None:
    """The highest latency (p99) of all urgent jobs second by second, and the distribution."""
    urgent = [r for r in of(results, group="ls") if r.settings.get("timeline")]
    draw = []
    for system in values(urgent, "system"):
        mine = of(urgent, system=system)
        draw += [_timeline(of(mine, policy=p), f"{system}: {p}", target) for p in values(mine, "policy")]
        draw.append(_cdf(mine, f"{system}: LS", target))
    save(path, 4, draw, title)


def _timeline(results: list[CameoResult], name: str, target: float) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        for result in results:
            points = [(at, p99) for _, at, _, _, p99 in result.settings["timeline"] if p99 >= 0]
            axis.plot(*_columns(sorted(points)), ".", color=colour(result.policy), ms=4)
        axis.axhline(target, color="grey", ls=":")
        axis.set(yscale="log", xlabel="seconds", ylabel="latency of LS (ms)", title=name)

    return draw


def shares(results: list[CameoResult], path: str, title: str) -> None:
    """Per system: rows/s of each query over time, and its share."""
    draw = []
    for system in values(results, "system"):
        points = [(job, at, rate) for r in of(results, system=system) for job, at, rate, *_ in r.settings["timeline"]]
        draw += [_rates(points, f"{system}: million rows/s", False), _rates(points, f"{system}: share of rows", True)]
    save(path, 5, draw, title)


def _rates(points: list[tuple[str, float, float]], name: str, whole: bool) -> Callable[[Any], None]:
    total: dict[int, float] = {}
    for _, at, rate in points:
        total[round(at)] = total.get(round(at), 0.0) + rate

    def draw(axis: Any) -> None:
        for job in sorted({job for job, _, _ in points}):
            mine = sorted((at, rate) for other, at, rate in points if other == job)
            scaled = [(at, rate / max(1.0, total[round(at)]) if whole else rate / 1e6) for at, rate in mine]
            axis.plot(*_columns(scaled), label=job)
        axis.set(xlabel="seconds", ylabel=name, ylim=(0, None))
        axis.legend(fontsize=7)

    return draw
