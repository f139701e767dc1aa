"""Results in files: what a benchmark's query wrote, to be compared with the exact answer.

A memory table would be filled through the JVM, whose work at a window's end would be measured beside ours. For the
same reason rows are written as they are, and become lines when they are read.
"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

_PARTIAL = ".partial"
Line = tuple[Any, ...]
"""A result, its fields in order: structs are their fields, timestamps are microseconds, decimals are text."""


class Lines:
    """A `foreach` writer: the rows of an operator and epoch in a file."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def open(self, partition: int, epoch: int) -> bool:
        self._path = Path(self._folder, f"{partition}-{epoch}")
        self._rows: list[Any] = []
        return True

    def process(self, row: Any) -> None:
        self._rows.append(row)

    def close(self, error: Exception | None) -> None:
        if error is None:
            partial = self._path.with_suffix(_PARTIAL)
            partial.write_bytes(pickle.dumps(self._rows))
            partial.rename(self._path)


def flat(row: Any) -> list[Any]:
    """The fields of a row, those of structs in their place."""
    fields: list[Any] = []
    for value in row:
        if isinstance(value, tuple):
            fields += flat(value)
        elif isinstance(value, datetime):
            fields.append(micros(value))
        else:
            fields.append(str(value) if isinstance(value, Decimal) else value)
    return fields


def micros(at: datetime) -> int:
    """Microseconds since the epoch, exactly: a float of seconds would round them."""
    whole = at.astimezone(UTC).replace(microsecond=0)
    return int(whole.timestamp()) * 1_000_000 + at.microsecond


def read_lines(folder: Path) -> list[Line]:
    """What a query wrote, epoch by epoch: of results that replace each other, the newest is the last."""
    whole = [file for file in folder.iterdir() if file.suffix != _PARTIAL]
    files = sorted(whole, key=lambda file: int(file.name.rpartition("-")[2]))
    return [tuple(flat(row)) for file in files for row in pickle.loads(file.read_bytes())]


def lines_of(text: str) -> list[Line]:
    """Lines of numbers, their fields apart by tabs: what a peer wrote."""
    return [tuple(_number(field) for field in line.split("\t")) for line in text.splitlines()]


def _number(text: str) -> int | float:
    return float(text) if "." in text or "e" in text.lower() else int(text)


def windows(lines: list[Line]) -> tuple[dict[tuple[int, int], Any], bool]:
    """Results of (window start, window end, key, value) by (window start, key), and whether every key came once."""
    found = {(start, key): value for start, _, key, value in lines}
    return found, len(found) == len(lines)
