"""`ysb`: the Yahoo Streaming Benchmark on Headway and its peers, one after the other in one run."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Result, write
from bench.search import measure

SYSTEMS = ("headway", "spark")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, default=1)
    parser.add_argument("--rate", default="max", help="rows/s per query, or max")
    parser.add_argument("--seconds", type=float, default=20.0, help="length of the measured runs")
    parser.add_argument("--against", default="", help="peers to run too: spark")
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", choices=SYSTEMS, help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> None:
    """Run every system in a process of its own, so that none inherits another's memory or JVM."""
    if options.system is not None:
        write([_measure(options)], options.json)
        return
    peers = [name for name in options.against.split(",") if name]
    unknown = set(peers) - set(SYSTEMS)
    if unknown:
        sys.exit(f"unknown peer {', '.join(sorted(unknown))}; there are: {', '.join(SYSTEMS[1:])}")
    results = [_in_process(name, options) for name in ["headway", *peers]]
    if options.json is not None:
        with Path(options.json).open("a") as out:
            out.writelines(json.dumps(asdict(result)) + "\n" for result in results)
    for peer in results[1:]:
        _compare(results[0], peer)


def _in_process(system: str, options: argparse.Namespace) -> Result:
    with TemporaryDirectory() as folder:
        out = f"{folder}/result.jsonl"
        command = [sys.executable, "-m", "bench", "ysb", "--system", system, "--json", out]
        for name in ("queries", "rate", "seconds", "seed"):
            command += [f"--{name}", str(getattr(options, name))]
        subprocess.run(command, check=True)
        return Result(**json.loads(Path(out).read_text()))


def _measure(options: argparse.Namespace) -> Result:
    if options.system == "headway":
        from bench.ysb.on_headway import HeadwayYsb as System
    else:
        from bench.ysb.on_spark import SparkYsb as System  # type: ignore[assignment]
    system = System(options.queries, options.seed)
    try:
        return measure(
            "ysb", system.name, options.queries, options.rate, options.seconds, system.run, system.first_guess,
            lambda line: print(line, flush=True),
        )  # fmt: skip
    finally:
        system.close()


def _compare(ours: Result, peer: Result) -> None:
    faster = ours.rows_per_s / peer.rows_per_s if peer.rows_per_s else float("inf")
    sooner = peer.latency_ms["p99"] / ours.latency_ms["p99"] if ours.latency_ms.get("p99") else float("inf")
    print(f"headway against {peer.system}: {faster:.1f} times the rows/s, p99 latency {sooner:.0f} times lower")
