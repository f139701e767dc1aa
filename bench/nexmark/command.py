"""`nexmark`: the queries of Nexmark on Headway and Spark, each checked and then measured."""

from __future__ import annotations

import argparse
from typing import Any

from bench import race
from bench.nexmark.queries import QUERIES
from bench.nexmark.workload import Nexmark
from bench.report import Result, write
from headway.errors import UnsupportedPlan

PEERS = ("spark",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", default=",".join(QUERIES), help="by commas; default: all")
    parser.add_argument("--rate", default="max", help="rows/s of all streams that a query reads, or max")
    parser.add_argument("--seconds", type=float, default=10.0, help="length of the measured runs")
    parser.add_argument("--against", default="", help=f"peers to run too: {', '.join(PEERS)}")
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--system", choices=("headway", *PEERS), help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> None:
    """Every query and system in a process of its own."""
    if options.system is not None:
        write([_measure(options)], options.json)
        return
    peers, fallen = race.peers_of(options, PEERS), {}
    for name in _asked(options.queries):
        told = {"queries": name, "rate": options.rate, "seconds": options.seconds, "seed": options.seed}
        print(f"{name}: {(QUERIES[name].make.__doc__ or '').strip()}", flush=True)
        ours = race.in_process("nexmark", "headway", told, options.json)
        reason = ours.settings.get("fallback")
        if reason:
            fallen[name] = reason
        else:
            race.compare([ours, *(race.in_process("nexmark", peer, told, options.json) for peer in peers)])
    for name, reason in fallen.items():
        print(f"{name} falls back to Spark: {reason}")


def _asked(names: str) -> list[str]:
    asked = names.split(",")
    for name in asked:
        if name not in QUERIES:
            raise SystemExit(f"there is no {name}; the queries are {', '.join(QUERIES)}")
    return asked


def _measure(options: argparse.Namespace) -> Result:
    query = QUERIES[options.queries]
    told: dict[str, Any] = {"mode": query.mode, "streams": list(query.kinds)}
    try:
        result = race.timed(Nexmark(query.name, options.seed), options.system, 1, options)
    except UnsupportedPlan as error:
        told["fallback"] = str(error).splitlines()[0]
        result = Result("nexmark", options.system, 1, 0.0, 0.0, {}, 0.0, 0, False)
    result.query = query.name
    result.settings |= told
    return result
