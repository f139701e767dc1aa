"""A workload on Headway and its peers, one after the other in one run, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import Result, write
from bench.search import measure
from bench.workload import Workload

SYSTEMS = ("headway", "spark", "flink")


def add_arguments(parser: argparse.ArgumentParser, workload: type[Workload]) -> None:
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--rate", default="max", help="rows/s per query, or max")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the measured runs")
    parser.add_argument("--against", default="", help=f"peers to run too, by commas: {', '.join(SYSTEMS[1:])}")
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", choices=SYSTEMS, help=argparse.SUPPRESS)
    for name, (default, meaning) in workload.settings.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=meaning)


def main(options: argparse.Namespace, workload: type[Workload]) -> None:
    """Run every system in a process of its own, so that none inherits another's memory or JVM."""
    if options.system is not None:
        write([_measure(options, workload)], options.json)
        return
    peers = [name for name in options.against.split(",") if name]
    unknown = set(peers) - set(SYSTEMS)
    if unknown:
        sys.exit(f"unknown peer {', '.join(sorted(unknown))}; there are: {', '.join(SYSTEMS[1:])}")
    results = [_in_process(name, options, workload) for name in ["headway", *peers]]
    append(results, options.json)
    for peer in results[1:]:
        _compare(results[0], peer)


def append(results: list[Result], path: str | None) -> None:
    """Add the results to a file, a line each."""
    if path is not None:
        with Path(path).open("a") as out:
            out.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def _in_process(system: str, options: argparse.Namespace, workload: type[Workload]) -> Result:
    with TemporaryDirectory() as folder:
        out = f"{folder}/result.jsonl"
        command = [sys.executable, "-m", "bench", workload.name, "--system", system, "--json", out]
        for name in ("queries", "rate", "seconds", "seed", *workload.settings):
            command += [f"--{name}", str(getattr(options, name))]
        subprocess.run(command, check=True)
        return Result(**json.loads(Path(out).read_text()))


def system(name: str) -> Any:
    """The class that runs workloads on a system; a peer's libraries are imported only where it runs."""
    if name == "headway":
        from bench.on_headway import OnHeadway

        return OnHeadway
    if name == "spark":
        from bench.on_spark import OnSpark

        return OnSpark
    from bench.on_flink import OnFlink

    return OnFlink


def _measure(options: argparse.Namespace, workload: type[Workload]) -> Result:
    told = {name: getattr(options, name) for name in workload.settings}
    running = system(options.system)(workload(options.seed, **told), options.queries)
    try:
        result = measure(
            workload.name, running.name, options.queries, options.rate, options.seconds, running.run,
            running.first_guess, lambda line: print(line, flush=True),
        )  # fmt: skip
    finally:
        running.close()
    result.settings |= {"seed": options.seed, **told, **running.settings}
    return result


def _compare(ours: Result, peer: Result) -> None:
    faster = ours.rows_per_s / peer.rows_per_s if peer.rows_per_s else float("inf")
    sooner = peer.latency_ms.get("p99", 0.0) / ours.latency_ms["p99"] if ours.latency_ms.get("p99") else float("inf")
    print(f"headway against {peer.system}: {faster:.1f} times the rows/s, p99 latency {sooner:.0f} times lower")
