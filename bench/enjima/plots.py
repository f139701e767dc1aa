"""From results to a PNG: mean latency and rows/s, by policy, mode or system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.cameo.plots import save
from bench.cameo.results import CameoResult, of, values
from bench.enjima.trials import label

COLOURS = {
    "enjima": "#1b6ca8", "fcfs": "#d1495b", "ml": "#edae49", "mc": "#66a182", "rr": "#8d6a9f", "hr": "#7a5c3e",
    "llf": "#7fb3d5", "TQ": "#333333", "SQ": "#999999", "TM": "#cc7722", "headway": "#1b6ca8", "spark": "#e25a1c",
    "flink": "#b5179e", "bytewax": "#c9a400", "pathway": "#2a9d8f",
}  # fmt: skip


def _labels(results: list[CameoResult]) -> list[str]:
    return list(dict.fromkeys(label(result) for result in results))


def _colour(name: str) -> str:
    return COLOURS.get(name, "#555555")


def over_x(results: list[CameoResult], path: str, title: str, name: str) -> None:
    """Mean latency and rows/s of all groups together, over the horizontal values."""
    draw = [
        _lines(results, name, "mean latency (ms)", _mean, log=True),
        _lines(results, name, "million rows/s", lambda rs: sum(r.rows_per_s for r in rs) / 1e6, log=False),
    ]
    save(path, 5, draw, title)


def _mean(results: list[CameoResult]) -> float | None:
    """Of events: groups count by their rows."""
    told = [(r.latency_ms["mean"], max(r.rows, 1)) for r in results if "mean" in r.latency_ms]
    return sum(mean * rows for mean, rows in told) / sum(rows for _, rows in told) if told else None


def _lines(
    results: list[CameoResult], name: str, what: str, value: Callable[[list[CameoResult]], float | None], log: bool
) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        xs = sorted(values(results, "x"))
        axis.set_xticks(range(len(xs)), [f"{x:,}" for x in xs])
        for which in _labels(results):
            mine = [r for r in results if label(r) == which]
            found = [(n, value(of(mine, x=x))) for n, x in enumerate(xs) if of(mine, x=x)]
            points = [(n, y) for n, y in found if y is not None]
            axis.plot(
                [n for n, _ in points], [y for _, y in points], marker="o", ms=3, color=_colour(which), label=which
            )
        axis.set(xlabel=name, ylabel=what, yscale="log" if log else "linear")
        axis.legend(fontsize=7)

    return draw


def bars(results: list[CameoResult], path: str, title: str) -> None:
    """The same by group, for one horizontal value."""
    draw = [
        _bars(results, "mean latency (ms)", lambda r: r.latency_ms.get("mean", 0.0), log=True),
        _bars(results, "million rows/s", lambda r: r.rows_per_s / 1e6, log=False),
    ]
    save(path, 5, draw, title)


def _bars(
    results: list[CameoResult], what: str, value: Callable[[CameoResult], float], log: bool
) -> Callable[[Any], None]:
    def draw(axis: Any) -> None:
        groups, names = values(results, "group"), _labels(results)
        width = 0.8 / len(names)
        for number, which in enumerate(names):
            mine = {r.group: value(r) for r in results if label(r) == which}
            places = [at + (number - (len(names) - 1) / 2) * width for at in range(len(groups))]
            axis.bar(places, [mine.get(g, 0.0) for g in groups], width * 0.9, color=_colour(which), label=which)
        axis.set_xticks(range(len(groups)), groups)
        axis.set(ylabel=what, yscale="log" if log else "linear")
        axis.legend(fontsize=7)

    return draw


def timelines(results: list[CameoResult], path: str, title: str) -> None:
    """Mean latency and rows/s over time."""

    def draw(column: int, what: str, log: bool) -> Callable[[Any], None]:
        def on(axis: Any) -> None:
            for result in results:
                points = [(p[0], p[column]) for p in result.settings.get("timeline", []) if p[column] >= 0]
                ys = [y / 1e6 if column == 1 else y for _, y in points]
                axis.plot([x for x, _ in points], ys, color=_colour(label(result)), label=label(result))
            axis.set(xlabel="seconds", ylabel=what, yscale="log" if log else "linear")
            axis.legend(fontsize=7)

        return on

    save(path, 6, [draw(2, "mean latency (ms)", True), draw(1, "million rows/s", False)], title)
