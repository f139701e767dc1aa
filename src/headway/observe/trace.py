"""A record of what operators ran when, as a file of JSON lines; `docs/simulator.md` says what is in it.

The simulator replays it under other policies, and the schedule can be drawn from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headway.dataflow.stages import ChainStage, MergeStage, Stage
from headway.dataflow.windows import windows_of


class OperatorRun(NamedTuple):
    """One run of an operator. `kind`: rows, mark or poll."""

    number: int
    stage: int
    start: float
    seconds: float
    rows: int
    p: int | None
    t: float
    kind: str


class TraceWriter:
    """Writes a trace: a header per query, before its first run, then its runs as they come."""

    def __init__(self, path: Path, nodes: int) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._nodes = nodes
        self._known: set[int] = set()

    def header(
        self,
        number: int,
        name: str,
        latency: float | None,
        members: Sequence[int],
        stages: Sequence[Stage],
        output_mode: str,
    ) -> None:
        if number not in self._known:
            self._known.add(number)
            described = [_described(stage, stages, members, output_mode) for stage in stages]
            self._line({"query": name, "number": number, "latency": latency, "nodes": self._nodes, "stages": described})

    def runs(self, node: int, runs: Sequence[OperatorRun]) -> None:
        for run in runs:
            if run.number in self._known:
                self._line({"node": node, **run._asdict()})

    def close(self) -> None:
        self._file.close()

    def _line(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value) + "\n")


def _described(stage: Stage, stages: Sequence[Stage], members: Sequence[int], output_mode: str) -> dict[str, Any]:
    collects = stages[stage.inputs[0].upstream] if isinstance(stage, MergeStage) else stage
    windows = windows_of(collects.chain, output_mode) if isinstance(collects, ChainStage) else None
    return {
        "id": stage.id,
        "kind": type(stage).__name__.removesuffix("Stage").lower(),
        "inputs": [{"upstream": edge.upstream, "edge": edge.kind} for edge in stage.inputs if edge.kind != "marks"],
        "windows": None if windows is None else windows._asdict(),
        "placement": list(members) if stage.placement == "everywhere" else [members[0]],
    }
