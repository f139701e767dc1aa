"""The command `headway`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from headway.errors import HeadwayError, InvalidOption
from headway.simulate import Result, Scenario, load, run, table, write
from headway.simulate.load import load_scenario


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        _simulate(options)
    except HeadwayError as error:
        print(f"headway: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headway", description="Punctual streaming on Spark.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    simulate = commands.add_parser("simulate", help="run the scheduler under a virtual clock")
    simulate.add_argument("scenario", help="a scenario (.toml) or a trace of a real run (.jsonl)")
    simulate.add_argument("--policy", default="llf,fifo,orleans", help="policies, by commas (default %(default)s)")
    simulate.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key")
    simulate.add_argument("--x", type=float, help="the horizontal value of the JSON lines")
    simulate.add_argument("--seconds", type=float, help="simulated length, instead of the scenario's")
    simulate.add_argument("--json", metavar="FILE", help="append a JSON object per policy and group to it")
    simulate.add_argument("--timeline", metavar="FILE", help="write the schedule to it, for chrome://tracing")
    return parser


def _simulate(options: argparse.Namespace) -> None:
    scenario = _scenario(options)
    results = [_run(scenario, name.strip(), options) for name in options.policy.split(",")]
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(table(scenario, results))
    if options.json is not None:
        write(results, options.json)


def _scenario(options: argparse.Namespace) -> Scenario:
    changes = dict(_change(text) for text in options.set)
    scenario = load_scenario(options.scenario, changes) if changes else load(options.scenario)
    if options.seconds is not None:
        scenario = replace(scenario, seconds=options.seconds)
    return scenario if options.x is None else replace(scenario, x=options.x)


def _change(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidOption(f"--set {text}: there is no value; write key=value")
    return key, value


def _run(scenario: Scenario, policy: str, options: argparse.Namespace) -> Result:
    begun = time.perf_counter()
    result = run(scenario, policy, timeline=options.timeline is not None)
    took = time.perf_counter() - begun
    print(f"{policy}: {result.runs:,} runs simulated in {took:.1f} s", file=sys.stderr)
    if options.timeline is not None:
        path = Path(options.timeline)
        several = "," in options.policy
        path = path.with_name(f"{path.stem}.{policy}{path.suffix}") if several else path
        path.write_text(json.dumps(result.timeline))
    return result


if __name__ == "__main__":
    sys.exit(main())
