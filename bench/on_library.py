"""A workload on a peer that is a Python library: a program of the peer's own Python for every trial.

1. The library is never imported here. The program and the bench share a folder: what to run, the ring of rows, a board
   of numbers (`bench.libraries.board`), and results as files.
2. Rows are due by the schedule. A rate is followed by the same rule as on Flink.
3. Queries run at once in one program.
4. How fast the source is alone is measured first and reported.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

import bench
from bench.lags import watch
from bench.libraries.board import Board
from bench.libraries.run import BOARD, RING, TOLD, now_us
from bench.lines import Line
from bench.on_spark import summary
from bench.peers import environment, python
from bench.search import Trial
from bench.workload import RingWorkload

WARM_UP = 6.0
ALONE_SECONDS = 4.0
OPENS_WITHIN, ENDS_WITHIN = 120.0, 20.0
SHOWN = 2000
"""Characters of what a program that failed has said."""
LATEST = 10.0
"""Seconds from when the rows of a window have been read until its results are out, at most: some wait for late rows."""


class Started:
    """The processes of a trial's program."""

    def __init__(self, folder: Path, commands: list[list[str]], variables: dict[str, str]) -> None:
        self._said = folder / "said"
        with self._said.open("wb") as out:
            self._processes = [
                subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
                for command in commands
            ]

    def check(self) -> None:
        """Raise if one of them has ended: none is to before it is told."""
        if any(process.poll() is not None for process in self._processes):
            raise self.failure("has failed")

    def failure(self, what: str) -> RuntimeError:
        """With what the program has said."""
        said = self._said.read_text(errors="replace")[-SHOWN:].strip()
        return RuntimeError(f"the peer's program {what}: {said or 'it does not say why'}")

    def wait(self) -> None:
        """Until they end by themselves, having been told to; not for long."""
        last = time.monotonic() + ENDS_WITHIN
        for process in self._processes:
            try:
                process.wait(max(0.0, last - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class OnLibrary(ABC):
    """`program` is the module that runs inside the peer's environment."""

    name: ClassVar[str]
    version: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]]
    program: ClassVar[str]
    processes: ClassVar[int]
    settle: ClassVar[float]
    """Seconds from when a program is open until row 0 is due."""

    def __init__(self, workload: RingWorkload, queries: int) -> None:
        self.first_guess = workload.first_guess[self.name] // queries
        self._workload = workload
        self._queries = queries
        self._job = workload.library()
        self._python = python(environment(self.name, self.version, self.requirements))
        self.settings: dict[str, Any] = {"version": self.version, **self.told()}
        self.settings["source_alone_rows_per_s"] = self._alone()

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """The settings that a result reports."""

    @abstractmethod
    def slots(self, queries: int) -> int:
        """The sources of so many queries."""

    def addresses(self) -> list[str]:
        """Of the processes, if they have to find each other."""
        return []

    def variables(self) -> dict[str, str]:
        """Of the program's environment, beside those of this process."""
        return {}

    @abstractmethod
    def written(self, folder: Path, query: int, through_us: int) -> list[Line]:
        """The results of a query, when all rows up to `through_us` have gone through it."""

    def _alone(self) -> float:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, self._running(folder, 0, 1, 60.0) as running:
            _, board, started = running
            _begin(board, self.settle, started.check)
            time.sleep(self.settle + WARM_UP / 2)
            began, before = time.time(), board.rows()
            time.sleep(ALONE_SECONDS)
            started.check()
            return (board.rows() - before) / (time.time() - began)

    def run(self, rate: int, seconds: float) -> Trial:
        """All queries at `rate` each."""
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            longest = OPENS_WITHIN + WARM_UP + seconds + ENDS_WITHIN
            with self._running(folder, rate, self._queries, longest) as (path, board, started):
                t0_us = _begin(board, self.settle, started.check)
                time.sleep(self.settle + WARM_UP)
                trial = _observed(board, started.check, rate, self._queries, seconds)
                if not board.rows():
                    raise started.failure("has read nothing")
            through = board.through_us()
            written = [self.written(path, query, through) for query in range(self._queries)]
        trial.correct = all(self._right(lines, t0_us, rate, through) for lines in written)
        return trial

    def _right(self, lines: list[Line], t0_us: int, rate: int, through_us: int) -> bool:
        """Whether a query's results are exact; there may be none until the first window's have to be out."""
        if not lines:
            return t0_us < through_us < t0_us + self._job.window_us + int(LATEST * 1e6)
        return self._workload.correct(lines, t0_us, rate)

    @contextmanager
    def _running(self, folder: str, rate: int, queries: int, longest: float) -> Iterator[tuple[Path, Board, Started]]:
        """The program, from its start to its end; a rate of 0 measures the source."""
        path = Path(folder)
        told = {
            "peer": self.name,
            "workload": self._workload.name,
            "rate": rate,
            "queries": queries,
            "slots": self.slots(queries),
            "alone": rate == 0,
            "window_us": self._job.window_us,
            "longest": longest,
            "addresses": self.addresses(),
            "told": self._job.told,
        }
        (path / TOLD).write_text(json.dumps(told))
        np.savez(path / RING, **{name: self._job.ring[name].to_numpy() for name in self._job.ring.column_names})
        board = Board(path / BOARD, self.slots(queries), new=True)
        command = [str(self._python), "-m", self.program, folder]
        started = Started(path, [[*command, str(n)] for n in range(self.processes)], self._environment())
        try:
            yield path, board, started
        finally:
            board.end()
            started.wait()

    def _environment(self) -> dict[str, str]:
        """Of this process, but for the modules that it finds; the program finds the bench's alone."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PATHWAY_"))}
        return kept | {"PYTHONPATH": str(Path(bench.__file__).parent.parent)} | self.variables()

    def close(self) -> None:  # noqa: B027
        """Nothing outlives a trial."""


def _begin(board: Board, settle: float, check: Any) -> int:
    """Have the sources begin when all are open; when row 0 is due."""
    last = time.monotonic() + OPENS_WITHIN
    while not board.all_open():
        check()
        if time.monotonic() > last:
            raise TimeoutError("the peer's program did not open its sources")
        time.sleep(0.05)
    t0_us = now_us() + int(settle * 1e6)
    board.begin_at(t0_us)
    return t0_us


def _observed(board: Board, check: Any, rate: int, queries: int, seconds: float) -> Trial:
    def lag_ms() -> float:
        check()
        return board.lag_us(now_us()) / 1000

    before = board.marked()
    trial, _ = watch(rate, queries, seconds, board.rows, lag_ms)
    return replace(trial, latency_ms=summary(board.latencies_ms(before)))
