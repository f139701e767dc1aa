"""A workload on Headway and its peers, one after the other in one run, each in a process of its own."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import Result, append, write
from bench.search import measure
from bench.workload import Workload

SYSTEMS = ("headway", "spark", "flink", "bytewax", "pathway")


def add_arguments(parser: argparse.ArgumentParser, workload: type[Workload]) -> None:
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--rate", default="max", help="rows/s per query, or max")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the measured runs")
    parser.add_argument("--against", default="", help=f"peers to run too, by commas: {', '.join(able(workload)[1:])}")
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
    peers = peers_of(options, able(workload)[1:], workload.left_out)
    told = {name: getattr(options, name) for name in ("queries", "rate", "seconds", "seed", *workload.settings)}
    compare([in_process(workload.name, name, told, options.json) for name in ["headway", *peers]])


def able(workload: type[Workload]) -> tuple[str, ...]:
    """The systems that run a workload."""
    return tuple(name for name in SYSTEMS if name in workload.first_guess)


def peers_of(options: argparse.Namespace, known: tuple[str, ...], left_out: Mapping[str, str] = {}) -> list[str]:
    """The peers that were asked for; `left_out` has those that do not run this workload, and why."""
    peers = [name for name in options.against.split(",") if name]
    for name in peers:
        if name in left_out:
            sys.exit(f"{name} does not run this: {left_out[name]}; there are: {', '.join(known)}")
    unknown = set(peers) - set(known)
    if unknown:
        sys.exit(f"unknown peer {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    return peers


def in_process(benchmark: str, system: str, told: dict[str, Any], path: str | None = None) -> Result:
    """A system's result, measured by this program in a process of its own, and added to a file if one is named."""
    with TemporaryDirectory() as folder:
        out = f"{folder}/result.jsonl"
        command = [sys.executable, "-m", "bench", benchmark, "--system", system, "--json", out]
        for name, value in told.items():
            command += [f"--{name}", str(value)]
        subprocess.run(command, check=True)
        result = Result(**json.loads(Path(out).read_text()))
    append([result], path)
    return result


def system(name: str) -> Any:
    """The class that runs workloads on a system; a peer's libraries are imported only where it runs."""
    return getattr(import_module(f"bench.on_{name}"), f"On{name.capitalize()}")


def _measure(options: argparse.Namespace, workload: type[Workload]) -> Result:
    told = {name: getattr(options, name) for name in workload.settings}
    return timed(workload(options.seed, **told), options.system, options.queries, options)


def timed(workload: Workload, name: str, queries: int, options: argparse.Namespace) -> Result:
    """What a system does of a workload, in this process."""
    running = system(name)(workload, queries)
    try:
        result = measure(
            workload.name, running.name, queries, options.rate, options.seconds, running.run, running.first_guess,
            lambda line: print(line, flush=True),
        )  # fmt: skip
    finally:
        running.close()
    result.settings |= {"seed": workload.seed, **workload.told, **running.settings}
    return result


def compare(results: list[Result]) -> None:
    """Say how the first is better than the others."""
    ours = results[0]
    for peer in results[1:]:
        faster = ours.rows_per_s / peer.rows_per_s if peer.rows_per_s else float("inf")
        slower, sooner = peer.latency_ms.get("p99"), ours.latency_ms.get("p99")
        lower = f"{slower / sooner:.0f} times lower" if slower and sooner else "not known of both"
        print(f"headway against {peer.system}: {faster:.1f} times the rows/s, p99 latency {lower}")
