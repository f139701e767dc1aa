"""`cameo`: Cameo's experiments, a figure each, on real nodes and in the simulator."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cameo.figures import FIGURES, Figure, print_example
from bench.cameo.results import CameoResult, append
from bench.cameo.simulated import simulate
from bench.cameo.trials import Trials, choices


def add_arguments(parser: argparse.ArgumentParser) -> None:
    named = ", ".join(f"{name} ({figure.title})" for name, figure in FIGURES.items())
    parser.add_argument("figure", choices=list(FIGURES), metavar="figure", help=named)
    parser.add_argument("--json", help="file to append results to")
    parser.add_argument("--plot", help="PNG to draw; default: beside the JSON")
    parser.add_argument("--seconds", type=float, help="length of each measured run on real nodes")
    parser.add_argument("--capacity", type=float, help="rows/s of bulk jobs that the real nodes take; else measured")
    parser.add_argument("--policies", help="by commas, instead of the figure's own")
    parser.add_argument("--points", help="horizontal values by commas, of those that the figure has on real nodes")
    parser.add_argument("--real", action="store_true", help="real nodes only")
    parser.add_argument("--simulate", action="store_true", help="the simulator only")


def main(options: argparse.Namespace) -> None:
    figure = FIGURES[options.figure]
    if options.figure == "fig4":
        print_example()
        return
    results = []
    if not options.simulate:
        results += _real(figure, options)
    if not options.real:
        results += simulate(options.figure, _policies(figure, options), _say)
    append(results, options.json)
    print(f"{options.figure}: {figure.title}")
    print("\n".join(figure.table(results)))
    path = options.plot or (options.json and str(Path(options.json).with_suffix("")) + f"-{options.figure}.png")
    if path and figure.draw is not None and results:
        figure.draw(results, path)
        print(f"drawn: {path}")


def _policies(figure: Figure, options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(options.policies.split(",")) if options.policies else figure.policies


def _real(figure: Figure, options: argparse.Namespace) -> list[CameoResult]:
    if figure.real is None:
        return []
    seconds = options.seconds or figure.seconds
    points = options.points.split(",") if options.points else None
    trials = Trials(f"cameo-{options.figure}", seconds, _say, capacity=options.capacity, points=points)
    try:
        figure.real(trials, choices(_policies(figure, options)))
    finally:
        trials.close()
    return trials.results


def _say(text: str) -> None:
    print(text, flush=True)
