"""`tenants`: a thousand queries in one session, most of them idle, some in a burst."""

from __future__ import annotations

import argparse
import json

from bench.report import write
from headway.scheduling import DEFAULT


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--count", type=int, default=1000, help="tenants, a query each")
    parser.add_argument("--seconds", type=float, default=30.0, help="length of the tenants' schedules")
    parser.add_argument("--target", default="200 ms", help="latency target of every query")
    parser.add_argument("--policy", default=DEFAULT, help="which operator runs next")
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--seed", type=int, default=1)


def main(options: argparse.Namespace) -> None:
    from bench.tenants.on_headway import Tenants

    tenants = Tenants(options.count, options.seconds, options.target, options.policy, options.seed)
    try:
        result = tenants.run()
    finally:
        tenants.close()
    write([result], options.json)
    print(json.dumps(result.settings, indent=1))
