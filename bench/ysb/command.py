"""`ysb`: the Yahoo Streaming Benchmark on Headway and its peers, one after the other in one run."""

from __future__ import annotations

import argparse

from bench import race
from bench.ysb.workload import Ysb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    race.add_arguments(parser, Ysb)


def main(options: argparse.Namespace) -> None:
    race.main(options, Ysb)
