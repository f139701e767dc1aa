"""`enjima`: Enjima's experiments, a figure or a table each, on real nodes."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cameo.results import append
from bench.enjima import table1
from bench.enjima.figures import FIGURES
from bench.enjima.trials import CHOICES, Choice, Trials


def add_arguments(parser: argparse.ArgumentParser) -> None:
    named = ", ".join(f"{name} ({figure.title})" for name, figure in FIGURES.items())
    parser.add_argument("figure", choices=["table1", *FIGURES], metavar="figure", help=f"table1, {named}")
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--plot", help="PNG to draw; default: beside the JSON")
    parser.add_argument("--seconds", type=float, help="length of each measured run")
    parser.add_argument("--policies", help=f"policies and modes by commas, of {', '.join(CHOICES)}")
    parser.add_argument("--points", help="horizontal values by commas, of those that the figure has")
    parser.add_argument("--rate", type=float, help="rows/s that stand for the nodes' capacity; default: measure it")


def main(options: argparse.Namespace) -> None:
    if options.figure == "table1":
        for name, order in table1.table().items():
            print(f"{name:>7}: {' '.join(order)}  ({len(order)} decisions)")
        return
    figure = FIGURES[options.figure]
    points = options.points.split(",") if options.points else None
    seconds = options.seconds or figure.seconds
    trials = Trials(f"enjima-{options.figure}", seconds, _say, options.rate, points=points)
    try:
        figure.run(trials, _choices(options.policies) or figure.choices)
    finally:
        trials.close()
    append(trials.results, options.json)
    path = options.plot or (options.json and str(Path(options.json).with_suffix("")) + f"-{options.figure}.png")
    if path and trials.results:
        figure.draw(trials.results, path)
        print(f"drawn: {path}")


def _choices(names: str | None) -> list[Choice]:
    if not names:
        return []
    unknown = set(names.split(",")) - set(CHOICES)
    if unknown:
        raise SystemExit(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(CHOICES)}")
    return [CHOICES[name] for name in names.split(",")]


def _say(text: str) -> None:
    print(text, flush=True)
