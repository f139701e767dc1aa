"""`lrb`: Linear Road on Headway and its peers, one after the other in one run."""

from __future__ import annotations

import argparse

from bench import race
from bench.lrb.workload import Lrb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    race.add_arguments(parser, Lrb)


def main(options: argparse.Namespace) -> None:
    race.main(options, Lrb)
