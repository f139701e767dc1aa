"""The processor time of this program's nodes: where others use the machine too, rows per second say less than rows per
second of processor time."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def node_seconds() -> float:
    """Processor seconds that the Python workers of this program's Spark have used, of those that live."""
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                worker = b"pyspark.worker" in (folder / "cmdline").read_bytes()
            except OSError:
                continue  # it ended
            parents[int(folder.name)] = int(fields[1])
            if worker:
                used[int(folder.name)] = (int(fields[11]) + int(fields[12])) / _TICKS
    return sum(seconds for pid, seconds in used.items() if _descends(pid, parents))


def _descends(pid: int, parents: dict[int, int]) -> bool:
    own = os.getpid()
    while pid > 1 and pid != own:
        pid = parents.get(pid, 0)
    return pid == own
