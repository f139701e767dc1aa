"""A trial as a peer's program sees it: what the bench has put into the trial's folder.

A program ends when it is told to, and in any case so many seconds after it was started: nobody may be left to tell it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.libraries.board import Board

TOLD, RING, BOARD = "told.json", "ring.npz", "board"


def now_us() -> int:
    return time.time_ns() // 1000


@dataclass(frozen=True)
class Run:
    """`told` is what the workload's query has to know; `alone`: there is no query, the source is measured."""

    folder: Path
    peer: str
    workload: str
    rate: int
    queries: int
    slots: int
    alone: bool
    window_us: int
    longest: float
    addresses: list[str]
    told: dict[str, Any]

    @classmethod
    def read(cls, folder: str) -> Run:
        return cls(Path(folder), **json.loads(Path(folder, TOLD).read_text()))

    def ring(self) -> dict[str, Any]:
        with np.load(self.folder / RING) as columns:
            return {name: columns[name] for name in columns.files}

    def board(self) -> Board:
        return Board(self.folder / BOARD, self.slots)

    def query(self) -> Any:
        """The module with the workload's query for this peer."""
        return import_module(f"bench.{self.workload}.on_{self.peer}")


class Span:
    """From the start of a program to its end."""

    def __init__(self, run: Run, board: Board) -> None:
        self._board = board
        self._last = time.monotonic() + run.longest

    @property
    def over(self) -> bool:
        return self._board.over or time.monotonic() > self._last

    def begin_us(self) -> int:
        """Wait until it is known when row 0 is due; 0: it is over before."""
        while not self._board.begin_us and not self.over:
            time.sleep(0.001)
        return self._board.begin_us
