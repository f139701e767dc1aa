"""What the operating system counts of this program's nodes: processor time, memory, page faults.

Where others use the machine too, rows per second say less than rows per second of processor time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def stolen() -> float:
    """Processor seconds that this machine wanted and the host gave to others, since it began; 0 where nobody counts."""
    counts = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(counts[8]) / _TICKS if len(counts) > 8 else 0.0


@dataclass(frozen=True)
class Process:
    """Since it began: processor seconds and page faults that needed no disk. Now: bytes of memory."""

    seconds: float
    faults: int
    resident: int


def nodes() -> dict[int, Process]:
    """The Python workers of this program's Spark that live, by process id."""
    parents: dict[int, int] = {}
    found: dict[int, Process] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                worker = b"pyspark.worker" in (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it ended
            parents[int(folder.name)] = int(fields[1])
            if worker:
                used = (int(fields[11]) + int(fields[12])) / _TICKS
                found[int(folder.name)] = Process(used, int(fields[7]), int(fields[21]) * _PAGE)
    return {pid: process for pid, process in found.items() if _descends(pid, parents)}


def node_seconds() -> float:
    """Processor seconds that they have used."""
    return sum(process.seconds for process in nodes().values())


def _descends(pid: int, parents: dict[int, int]) -> bool:
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parents.get(pid, 0)
    return pid == own
