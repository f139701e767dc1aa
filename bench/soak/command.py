"""`soak`: one workload for minutes near the highest load; memory, page faults and latency of every slice of it."""

from __future__ import annotations

import argparse
from typing import Any

from bench.cluster import Cluster, Group
from bench.cpu import Process, nodes
from bench.enjima.jobs import FLOOD, WORKLOADS, QueryJob, queries
from bench.report import Result, write
from headway.observe.histogram import LatencyHistogram

CALIBRATION = 10.0
WARM_UP = 20.0
"""Until heaps, blocks and kernels are as they stay."""
PERCENTS = (50.0, 99.0, 99.9)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workload", choices=list(WORKLOADS), default="ysb")
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--load", type=float, default=0.95, help="the part of the nodes' capacity that is offered")
    parser.add_argument("--rate", type=float, help="rows/s that stand for the capacity; default: measure it")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--slice", type=float, default=30.0, help="seconds of a line")
    parser.add_argument("--json", help="file to append the result to")


def main(options: argparse.Namespace) -> None:
    cluster = Cluster()
    try:
        capacity = options.rate or _capacity(cluster, options)
        rate = round(options.load * capacity / options.queries)
        print(
            f"{options.workload}: capacity {capacity / 1e6:.1f} M rows/s, offered {options.load:.0%} of it", flush=True
        )
        write([_run(cluster, options, queries(options.workload, options.queries, rate))], options.json)
    finally:
        cluster.close()


def _capacity(cluster: Cluster, options: argparse.Namespace) -> float:
    """Rows/s that the nodes take when there is always more."""
    told = cluster.run("llf", queries(options.workload, options.queries, FLOOD), CALIBRATION)
    return sum(group.rows_per_s for group in told.values())


def _run(cluster: Cluster, options: argparse.Namespace, jobs: list[QueryJob]) -> Result:
    slices, lines = [], []
    with cluster.trial("llf", jobs) as trial:
        trial.wait()
        trial.measure(WARM_UP)
        for number in range(max(1, round(options.seconds / options.slice))):
            before = nodes()
            slices.append(trial.measure(options.slice))
            lines.append(_slice(options.slice * number, slices[-1][options.workload], before, nodes()))
            print(_text(lines[-1]), flush=True)
        trial.finish(slices)
    groups = [told[options.workload] for told in slices]
    latency = _together(groups)
    seconds, rows = sum(group.seconds for group in groups), sum(group.rows for group in groups)
    return Result(
        f"soak-{options.workload}", "headway", len(jobs), sum(job.rows_per_s for job in jobs), rows / seconds,
        latency.summary() | {"p99.9": latency.at([99.9])[0]}, seconds, rows, groups[-1].correct,
        {"load": options.load, "slices": lines},
    )  # fmt: skip


def _together(groups: list[Group]) -> LatencyHistogram:
    whole = LatencyHistogram()
    for group in groups:
        whole.merge(group.markers)
    return whole


def _slice(at: float, group: Group, before: dict[int, Process], after: dict[int, Process]) -> dict[str, Any]:
    return {
        "seconds": at,
        "rows_per_s": group.rows_per_s,
        "latency_ms": dict(zip(PERCENTS, group.markers.at(PERCENTS), strict=True)),
        "resident_mib": [round(process.resident / 2**20) for process in after.values()],
        "faults_per_s": [
            round((process.faults - before[pid].faults) / group.seconds, 1)
            for pid, process in after.items()
            if pid in before
        ],
    }


def _text(told: dict[str, Any]) -> str:
    latency = ", ".join(f"p{percent:g} {ms:,.1f}" for percent, ms in told["latency_ms"].items())
    return (
        f"  {told['seconds']:6.0f} s  {told['rows_per_s'] / 1e6:8.1f} M rows/s  latency ms: {latency}  "
        f"MiB: {told['resident_mib']}  minor faults/s: {told['faults_per_s']}"
    )
