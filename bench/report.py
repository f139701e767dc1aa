"""What a benchmark reports: one JSON object per system and run, and a table for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Result:
    """A run. Rates are of all queries together; latency is that of events, from their arrival to their effect."""

    workload: str
    system: str
    queries: int
    offered_rows_per_s: float
    rows_per_s: float
    latency_ms: dict[str, float]
    seconds: float
    rows: int
    correct: bool
    settings: dict[str, Any] = field(default_factory=dict)
    query: str = field(default="", kw_only=True)
    """Of a workload that has several."""


def write(results: list[Result], path: str | None) -> None:
    """Append the results to a file, a line each, and print them."""
    for result in results:
        print(_line(result), flush=True)
    append(results, path)


def append(results: list[Result], path: str | None) -> None:
    """Add the results to a file, a line each."""
    if path is not None:
        with Path(path).open("a") as out:
            out.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def _line(result: Result) -> str:
    latency = ", ".join(f"{name} {value:,.2f}" for name, value in result.latency_ms.items())
    return (
        f"{result.system:>8}  {result.queries} quer{'y' if result.queries == 1 else 'ies'}  "
        f"{result.rows_per_s / 1e6:,.2f} M rows/s  latency ms: {latency}  correct: {result.correct}"
    )
