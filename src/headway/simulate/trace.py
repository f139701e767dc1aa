"""Traces that nodes record, and how they become scenarios: the arrivals, costs and topology of a real run.

The format is written down in docs/simulator.md. The functions that make its lines are here, so that those who write and
those who read cannot differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import floor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headway.errors import InvalidOption
from headway.scheduling import Windows
from headway.simulate.jobs import Cluster, Cost, EdgeKind, Job, Recorded, StageSpec, Window
from headway.simulate.scenario import Scenario

KINDS = ("rows", "mark", "poll")
_EDGES: dict[str, EdgeKind] = {"forward": "forward", "by_key": "key", "spread": "key"}


class Run(NamedTuple):
    """A run of an operator; its fields are those of a line."""

    node: int
    number: int
    stage: int
    start: float
    seconds: float
    rows: int
    p: int | None
    t: float
    kind: str


@dataclass(frozen=True)
class TracedStage:
    id: int
    inputs: tuple[tuple[int, str], ...]
    """(upstream, edge)"""
    windows: Windows | None
    nodes: tuple[int, ...]


@dataclass
class Traced:
    """A query's header, and its runs."""

    query: str
    number: int
    latency: float | None
    nodes: int
    workers: int
    stages: tuple[TracedStage, ...]
    runs: list[Run] = field(default_factory=list)

    def polled(self) -> list[int]:
        return sorted({run.stage for run in self.runs if run.kind == "poll"})


def header_line(query: str, number: int, latency: float | None, nodes: int, workers: int, stages: Sequence[Any]) -> str:
    """A query's header; `stages` as in the format."""
    header = {"query": query, "number": number, "latency": latency, "nodes": nodes, "workers": workers}
    return json.dumps({**header, "stages": list(stages)}) + "\n"


def run_line(run: Run) -> str:
    """The line of a run."""
    return json.dumps(run._asdict()) + "\n"


def read_trace(path: str | Path) -> Scenario:
    """The scenario that a trace replays."""
    path = Path(path)
    try:
        with path.open() as lines:
            queries = [query for query in _parse(lines, path) if query.polled()]
    except OSError as error:
        raise InvalidOption(f"cannot read the trace {path}: {error.strerror}; name a file that is there") from None
    if not queries:
        raise InvalidOption(f"{path} has no query with a poll; record while sources bring rows")
    base = floor(min(run.t for query in queries for run in query.runs if run.kind == "poll"))
    end = max(run.t for query in queries for run in query.runs if run.kind == "poll") - base
    cluster = Cluster(max(query.nodes for query in queries), max(query.workers for query in queries))
    jobs = tuple(_job(query, base) for query in queries)
    return Scenario(path.name.removesuffix(".jsonl"), jobs, cluster, seconds=floor(end) + 1.0)


def _parse(lines: Iterable[str], path: Path) -> list[Traced]:
    queries: dict[int, Traced] = {}
    for place, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if "stages" in entry:
                queries[entry["number"]] = _header(entry)
            else:
                run = Run(**entry)
                if run.kind not in KINDS:
                    raise ValueError(f"kind {run.kind!r} is none of {', '.join(KINDS)}")
                queries[run.number].runs.append(run)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidOption(f"{path}, line {place}: {error!r}; see docs/simulator.md for the format") from None
    return list(queries.values())


def _header(entry: dict[str, Any]) -> Traced:
    stages = tuple(
        TracedStage(
            stage["id"],
            tuple((edge["upstream"], edge["edge"]) for edge in stage["inputs"]),
            None if stage["windows"] is None else Windows(**stage["windows"]),
            _nodes(stage["placement"], entry["nodes"]),
        )
        for stage in entry["stages"]
    )
    workers = entry.get("workers", 1)
    return Traced(entry["query"], entry["number"], entry["latency"], entry["nodes"], workers, stages)


def _nodes(placement: Any, nodes: int) -> tuple[int, ...]:
    if isinstance(placement, str):
        return tuple(range(nodes)) if placement == "everywhere" else (0,)
    return tuple(placement)


def _job(query: Traced, base: int) -> Job:
    sources = query.polled()
    kept = sorted(_below(query, sources))
    stages = tuple(
        _source(query, stage, base) if stage.id in sources else _stage(query, stage, base, kept)
        for stage in query.stages
        if stage.id in kept
    )
    group = "ba" if query.latency is None else "ls"
    return Job(f"{query.query} {query.number}", stages, query.latency, group)


def _below(query: Traced, sources: Sequence[int]) -> set[int]:
    """The stages that get rows of the sources, and these."""
    found = set(sources)
    for stage in query.stages:
        if any(upstream in found for upstream, _ in stage.inputs):
            found.add(stage.id)
    return found


def _source(query: Traced, stage: TracedStage, base: int) -> StageSpec:
    seen = _event_times(query, stage.id)
    polls: dict[int, list[Run]] = {node: [] for node in stage.nodes}
    for run in sorted(query.runs, key=lambda run: run.t):
        if run.kind == "poll" and run.stage == stage.id:
            polls[run.node].append(run)
    points = tuple(tuple(_points(runs, seen, base)) for runs in polls.values())
    # A source's operators are scheduled if they have a cost; what polls took takes its place.
    return StageSpec(str(stage.id), "source", len(points), arrivals=Recorded(points), nodes=tuple(polls))


def _points(runs: list[Run], seen: dict[tuple[int, float], int], base: int) -> Iterator[tuple[float, int, int, float]]:
    times = [run.p if run.p is not None else seen.get((run.node, run.t), round(run.t * 1e6)) for run in runs]
    for run, p in zip(runs, accumulate(times, max), strict=True):
        yield run.t - base, max(1, run.rows), p - base * 1_000_000, run.seconds


def _event_times(query: Traced, source: int) -> dict[tuple[int, float], int]:
    """By node and arrival, the event time that was found downstream."""
    seen: dict[tuple[int, float], int] = {}
    for run in query.runs:
        if run.kind == "rows" and run.stage != source and run.p is not None:
            seen.setdefault((run.node, run.t), run.p)
    return seen


def _stage(query: Traced, stage: TracedStage, base: int, kept: Sequence[int]) -> StageSpec:
    runs = [run for run in query.runs if run.stage == stage.id]
    inputs = [(upstream, edge) for upstream, edge in stage.inputs if upstream in kept]
    window = _window(query, stage, base)
    merges = window is not None and any(query_windows(query, upstream) for upstream, _ in inputs)
    return StageSpec(
        str(stage.id),
        "regular" if window is None else "merge" if merges else "window",
        len(stage.nodes),
        _cost(runs, stage.windows),
        tuple(str(upstream) for upstream, _ in inputs),
        _EDGES[inputs[0][1]] if len(stage.nodes) > 1 else "key",
        window,
        nodes=stage.nodes,
    )


def query_windows(query: Traced, stage: int) -> Windows | None:
    """The windows of a stage."""
    return next(found.windows for found in query.stages if found.id == stage)


def _window(query: Traced, stage: TracedStage, base: int) -> Window | None:
    if stage.windows is None:
        return None
    first, slide, delay = stage.windows
    if any(query_windows(query, upstream) for upstream, _ in stage.inputs):
        delay = 0  # the windows upstream have waited for it
    return Window(slide / 1e6, None, delay / 1e6, (first - base * 1_000_000) % slide / 1e6)


def _cost(runs: list[Run], windows: Windows | None) -> Cost:
    """A line through the seconds of runs over their rows; see the format's rules for marks."""
    taking = [run for run in runs if run.kind == "rows"]
    if not taking:
        return Cost()
    rows, seconds = np.array([run.rows for run in taking], float), np.array([run.seconds for run in taking])
    row = float(np.cov(rows, seconds, bias=True)[0, 1] / rows.var()) if rows.var() > 0.0 else 0.0
    row = min(max(row, 0.0), float(seconds.sum() / rows.sum())) if rows.sum() > 0.0 else 0.0
    message = max(0.0, float(seconds.mean() - row * rows.mean()))
    fitted = message + row * rows
    scv = float((((seconds - fitted) / np.maximum(fitted, 1e-9)) ** 2).mean())
    marks = sum(run.seconds for run in runs if run.kind == "mark")
    ended = _ended(taking, windows)
    trigger = marks / ended if ended else 0.0
    return Cost(message if ended else message + marks / len(taking), row, trigger, min(scv, 4.0))


def _ended(runs: list[Run], windows: Windows | None) -> int:
    """About how many times windows ended, over all of the stage's operators."""
    times = [run.p for run in runs if run.p is not None]
    if windows is None or not times:
        return 0
    return (windows.number(max(times)) - windows.number(min(times))) * len({run.node for run in runs})
