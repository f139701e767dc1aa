"""`nyt`: New York taxi trips on Headway and its peers, one after the other in one run."""

from __future__ import annotations

import argparse

from bench import race
from bench.nyt.workload import Nyt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    race.add_arguments(parser, Nyt)


def main(options: argparse.Namespace) -> None:
    race.main(options, Nyt)
