"""A workload on Bytewax: its windowing operators over rows that are tuples, in two processes of one worker each.

1. Processes, not threads: what a dataflow does is Python, and workers of one process would take turns at it.
2. An event's latency is the time from when it was due until the window operator takes it, so that it includes how far
   the source lags. Marked rows tell, one in every fifty milliseconds of each source's schedule.
3. There is no recovery store, hence nothing is written but results.
"""

from __future__ import annotations

import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.lines import Line, lines_of
from bench.on_library import OnLibrary


class OnBytewax(OnLibrary):
    """Two processes find each other on loopback."""

    name = "bytewax"
    version = "0.21.1"
    requirements = ("bytewax==0.21.1", "numpy")
    program = "bench.libraries.bytewax_flow"
    processes = 2
    settle = 0.5

    def told(self) -> dict[str, Any]:
        return {"processes": self.processes, "workers_per_process": 1}

    def slots(self, queries: int) -> int:
        return self.processes * queries

    def addresses(self) -> list[str]:
        """Ports that are free now; all are held until all are known, so that they differ."""
        with ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in range(self.processes)]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            return [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]

    def written(self, folder: Path, query: int, through_us: int) -> list[Line]:
        return [line for path in sorted(folder.glob(f"lines-{query}-*")) for line in lines_of(path.read_text())]
