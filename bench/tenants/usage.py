"""How much of a core processes use, as the operating system counts it."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """What all threads of a process have used, in it and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Usage:
    """Of several processes, from when it is made."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._pids = pids
        self._began = time.monotonic()
        self._used = {name: cpu_seconds(pid) for name, pid in pids.items()}

    def percent(self) -> dict[str, float]:
        """Percent of a core, by process."""
        seconds = time.monotonic() - self._began
        return {
            name: round(100 * (cpu_seconds(pid) - self._used[name]) / seconds, 1) for name, pid in self._pids.items()
        }
