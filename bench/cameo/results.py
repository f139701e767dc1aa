"""What an experiment reports: the benchmarks' fields, and those that a figure is drawn from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import stdev
from typing import Any

from bench.cluster import Group
from bench.report import Result

PERCENTS = [*range(1, 100), 99.5, 99.9, 100]


@dataclass
class CameoResult(Result):
    """One group under one policy at one horizontal value."""

    policy: str = ""
    group: str = ""
    x: float | str = 0.0
    met: float = 0.0
    """The share of results within the target, of those that came or should have come."""


def measured(
    workload: str, policy: str, x: float | str, name: str, group: Group, offered: float, settings: dict[str, Any]
) -> CameoResult:
    """The result of a group on real nodes; its distribution and timeline are among the settings."""
    histogram = group.latency
    extra = {
        "sd_ms": group.deviation(),
        "cdf_ms": histogram.at([float(percent) for percent in PERCENTS]) if histogram.count else [],
        "windows_checked": group.windows,
        "results": group.results,
        "results_due": group.due,
        "node_cpu_seconds": group.cpu,
        "turns_rows_per_s": group.turns,
        "workers_taken": group.busy / group.seconds if group.seconds else 0.0,
    }
    return CameoResult(
        workload, "headway", len(group.names), offered, group.rows_per_s, histogram.summary(), group.seconds,
        group.rows, group.correct, {**settings, **extra}, policy, name, x, group.share_met,
    )  # fmt: skip


def line(result: CameoResult) -> str:
    """For people."""
    latency = ", ".join(f"{name} {value:,.1f}" for name, value in result.latency_ms.items())
    return (
        f"  x={result.x!s:>6}  {result.policy:<16} {result.group}  {result.rows_per_s / 1e6:6.2f} M rows/s  "
        f"latency ms: {latency or 'no result'}  met {result.met:.1%}  correct: {result.correct}"
    )


def append(results: Iterable[CameoResult], path: str | None) -> None:
    """Add the results to a file, a line each."""
    if path is not None:
        with Path(path).open("a") as out:
            out.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def of(results: Iterable[CameoResult], **wanted: Any) -> list[CameoResult]:
    """Those whose fields are as wanted."""
    return [r for r in results if all(getattr(r, name) == value for name, value in wanted.items())]


def values(results: Iterable[CameoResult], name: str) -> list[Any]:
    """The different values of a field, in the order in which they came."""
    return list(dict.fromkeys(getattr(result, name) for result in results))


def ratios(results: list[CameoResult], base: str = "llf") -> list[str]:
    """A line per system, horizontal value and policy: how many times higher its latencies are than the base's."""
    lines = []
    for system in values(results, "system"):
        for x in values(of(results, system=system), "x"):
            for other in of(results, system=system, x=x, group="ls"):
                ours = of(results, system=system, x=x, group="ls", policy=base)
                if ours and other.policy != base:
                    lines.append(f"  {system:<9} x={x!s:>6}  {other.policy:<16} {_against(ours[0], other, results)}")
    return lines


def _against(ours: CameoResult, other: CameoResult, results: list[CameoResult]) -> str:
    def times(name: str) -> str:
        mine, theirs = ours.latency_ms.get(name), other.latency_ms.get(name)
        return f"{theirs / mine:7.1f}x" if mine and theirs else "      ?"

    spread = other.settings.get("sd_ms", 0.0) / max(ours.settings.get("sd_ms", 0.0), 1e-9)
    told = f"median {times('p50')}  p99 {times('p99')}  sd {spread:6.1f}x  met {other.met:.1%} against {ours.met:.1%}"
    mine, theirs = (of(results, system=r.system, x=r.x, group="ba", policy=r.policy) for r in (ours, other))
    if mine and theirs and theirs[0].rows_per_s:
        told += f"  bulk rows/s of {ours.policy} {mine[0].rows_per_s / theirs[0].rows_per_s - 1:+.1%}"
        told += _error(mine[0], theirs[0]) + _time((ours, mine[0]), (other, theirs[0]))
    return told


def _error(ours: CameoResult, other: CameoResult) -> str:
    """How far this may be off by chance: the standard error over the turns that the two took side by side."""
    pairs = zip(*(r.settings.get("turns_rows_per_s", []) for r in (ours, other)), strict=False)
    parts = [mine / theirs for mine, theirs in pairs if theirs]
    return f" ± {stdev(parts) / math.sqrt(len(parts)):.1%}" if len(parts) > 1 else ""


def _time(ours: tuple[CameoResult, CameoResult], others: tuple[CameoResult, CameoResult]) -> str:
    """The part of the nodes' busy time that bulk had beside the urgent queries, if that was measured.

    It does not depend on how fast the machine was meanwhile."""
    taken = [[r.settings.get("workers_taken", 0.0) for r in pair] for pair in (ours, others)]
    if not all(bulk for _, bulk in taken):
        return ""
    mine, theirs = (bulk / (urgent + bulk) for urgent, bulk in taken)
    return f", of the nodes' time {mine:.1%} against {theirs:.1%}"
