"""`python -m bench NAME …` runs a benchmark; `--help` lists them."""

from __future__ import annotations

import argparse

from bench.cameo import command as cameo
from bench.enjima import command as enjima
from bench.lrb import command as lrb
from bench.nexmark import command as nexmark
from bench.nyt import command as nyt
from bench.soak import command as soak
from bench.tenants import command as tenants
from bench.ysb import command as ysb

_BENCHMARKS = {
    "ysb": ysb,
    "nyt": nyt,
    "lrb": lrb,
    "nexmark": nexmark,
    "cameo": cameo,
    "enjima": enjima,
    "tenants": tenants,
    "soak": soak,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    commands = parser.add_subparsers(dest="name", required=True)
    for name, module in _BENCHMARKS.items():
        module.add_arguments(commands.add_parser(name, help=module.__doc__))
    options = parser.parse_args()
    _BENCHMARKS[options.name].main(options)


if __name__ == "__main__":
    main()
