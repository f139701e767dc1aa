"""A workload on Pathway: the same query in its table expressions, run by its Rust engine in two threads.

1. No Python runs for a row. The engine makes rows of arrays of numbers that a Python connector sends.
2. An event takes effect when the commit that has it has gone through the query and all its results are out; latency is
   the time from when it was due until then, of events due every fifty milliseconds.
3. A window is a group by its start: the engine's own windows cost several times as much.
4. Two threads need no licence key. Without a key, and without a monitoring server, Pathway sends no telemetry; neither
   is inherited from the environment.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.lines import Line, lines_of
from bench.on_library import OnLibrary

THREADS = 2


class OnPathway(OnLibrary):
    """One process."""

    name = "pathway"
    version = "0.33.0"
    requirements = ("pathway==0.33.0",)
    program = "bench.libraries.pathway_flow"
    processes = 1
    settle = 2.0

    def told(self) -> dict[str, Any]:
        return {"threads": THREADS}

    def slots(self, queries: int) -> int:
        return queries

    def variables(self) -> dict[str, str]:
        return {"PATHWAY_THREADS": str(THREADS)}

    def written(self, folder: Path, query: int, through_us: int) -> list[Line]:
        path = folder / f"changes-{query}.csv"
        if not path.exists():
            return []
        with path.open(newline="") as changes:
            return final(csv.DictReader(changes), through_us)


def final(changes: Iterable[dict[str, str]], through_us: int) -> list[Line]:
    """Results (start, end, key, …) as they were changed to last, of windows that are over."""
    found: dict[tuple[str, str], str] = {}
    for change in changes:
        *fields, _, sign = change.values()
        if sign == "1":
            found[change["start"], change["key"]] = "\t".join(fields)
    return [line for line in lines_of("\n".join(found.values())) if line[1] <= through_us]
