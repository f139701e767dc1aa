"""Fig. 10: six queries of YSB at the paper's rate, while one setting varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bench.enjima.jobs import paper_rate, queries
from bench.enjima.trials import Choice, Trials

QUERIES = 6
CHUNKS = (2, 4, 8, 16, 32)
BLOCKS = (64, 256, 1024, 4096, 16_384, 65_536)
"""A columnar block wants to be larger than the paper's 64 to 8,192 rows."""
PERIODS = (1, 2, 5, 10, 20, 50)


def _vary(trials: Trials, choices: Sequence[Choice], setting: str, values: Sequence[int], unit: str = "") -> None:
    rate = paper_rate("ysb", trials.capacity("ysb"))
    for value in values:
        varied = [replace(choice, conf={**choice.conf, setting: f"{value}{unit}"}) for choice in choices]
        trials.point(value, queries("ysb", QUERIES, rate), varied)


def chunks(trials: Trials, choices: Sequence[Choice]) -> None:
    """Blocks per chunk."""
    _vary(trials, choices, "headway.memory.blocksPerChunk", CHUNKS)


def blocks(trials: Trials, choices: Sequence[Choice]) -> None:
    """Rows per block."""
    _vary(trials, choices, "headway.memory.rowsPerBlock", BLOCKS)


def periods(trials: Trials, choices: Sequence[Choice]) -> None:
    """The length of a scheduling epoch."""
    _vary(trials, choices, "headway.scheduling.period", PERIODS, " ms")
