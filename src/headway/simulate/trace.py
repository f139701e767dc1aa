"""Traces that nodes record, and how they become scenarios: the arrivals, costs and topology of a real run.

The format is written down in docs/simulator.md, and so is what a replay makes of it.
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

MOST_SCV = 4.0
"""Beyond it, what was seen is a pause or two of the machine rather than a distribution."""
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
    """A stage of a header."""

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
    runs: dict[int, list[Run]] = field(default_factory=dict)
    """By stage."""

    def of(self, stage: int) -> list[Run]:
        return self.runs.get(stage, [])

    def polls(self) -> list[Run]:
        return [run for runs in self.runs.values() for run in runs if run.kind == "poll"]

    def polled(self) -> list[int]:
        """The stages that are sources."""
        return sorted({run.stage for run in self.polls()})


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
    begun = min(run.start for query in queries for runs in query.runs.values() for run in runs)
    times = [max(run.t, begun) for query in queries for run in query.polls()]
    base = floor(min(times))
    end = max(times) - base
    cluster = Cluster(max(query.nodes for query in queries), max(query.workers for query in queries))
    jobs = tuple(_job(query, base, begun) for query in queries)
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
                queries[run.number].runs.setdefault(run.stage, []).append(run)
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


def _job(query: Traced, base: int, begun: float) -> Job:
    sources = query.polled()
    kept = sorted(_below(query, sources))
    stages = tuple(
        _source(query, stage, base, begun) if stage.id in sources else _stage(query, stage, base, kept)
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


def _source(query: Traced, stage: TracedStage, base: int, begun: float) -> StageSpec:
    seen = _event_times(query, stage.id)
    polls: dict[int, list[Run]] = {node: [] for node in stage.nodes}
    for run in sorted(query.of(stage.id), key=lambda run: run.t):
        if run.kind == "poll":
            polls[run.node].append(run)
    more = sum(_marks(query.of(other.id), other.windows)[1] for other in query.stages) / len(query.polls())
    points = tuple(tuple(_points(runs, seen, base, begun, more)) for runs in polls.values())
    # A source's operators are scheduled if they have a cost; what polls took takes its place.
    return StageSpec(str(stage.id), "source", len(points), arrivals=Recorded(points), nodes=tuple(polls))


def _points(
    runs: list[Run], seen: dict[tuple[int, float], int], base: int, begun: float, more: float
) -> Iterator[tuple[float, int, int, float]]:
    """A source operator's arrivals, and what its polls took, each with `more` for the marks that it caused.

    What came before the record began waits when it begins: else a backlog would be worked off before the rest comes."""
    times = [run.p if run.p is not None else seen.get((run.node, run.t), round(run.t * 1e6)) for run in runs]
    for run, p in zip(runs, accumulate(times, max), strict=True):
        yield max(run.t, begun) - base, max(1, run.rows), p - base * 1_000_000, run.seconds + more


def _event_times(query: Traced, source: int) -> dict[tuple[int, float], int]:
    """By node and arrival, the event time that was found downstream."""
    seen: dict[tuple[int, float], int] = {}
    for stage, runs in query.runs.items():
        for run in runs:
            if run.kind == "rows" and stage != source and run.p is not None:
                seen.setdefault((run.node, run.t), run.p)
    return seen


def _stage(query: Traced, stage: TracedStage, base: int, kept: Sequence[int]) -> StageSpec:
    inputs = [(upstream, edge) for upstream, edge in stage.inputs if upstream in kept]
    window = _window(query, stage, base)
    merges = window is not None and any(_by_id(query, upstream).windows for upstream, _ in inputs)
    return StageSpec(
        str(stage.id),
        "regular" if window is None else "merge" if merges else "window",
        len(stage.nodes),
        _cost(query.of(stage.id), stage.windows, _messages(query, stage)),
        tuple(str(upstream) for upstream, _ in inputs),
        _EDGES[inputs[0][1]] if len(stage.nodes) > 1 else "key",
        window,
        selectivity=_selectivity(query, stage, kept),
        nodes=stage.nodes,
    )


def _window(query: Traced, stage: TracedStage, base: int) -> Window | None:
    if stage.windows is None:
        return None
    first, slide, delay = stage.windows
    if any(_by_id(query, upstream).windows for upstream, _ in stage.inputs):
        delay = 0  # the windows upstream have waited for it
    return Window(slide / 1e6, None, delay / 1e6, (first - base * 1_000_000) % slide / 1e6)


def _messages(query: Traced, stage: TracedStage) -> int:
    """How many messages the stage will get: unlike in the nodes, one for each that a stage above it takes."""
    return sum(
        _given(query, _by_id(query, upstream)) * (1 if edge == "forward" else len(stage.nodes))
        for upstream, edge in stage.inputs
    )


def _given(query: Traced, stage: TracedStage) -> int:
    runs = query.of(stage.id)
    polls = sum(run.kind == "poll" for run in runs)
    return polls or _ended(runs, stage.windows) or _messages(query, stage)


def _by_id(query: Traced, stage: int) -> TracedStage:
    return next(found for found in query.stages if found.id == stage)


def _selectivity(query: Traced, stage: TracedStage, kept: Sequence[int]) -> float:
    """Rows that stages below took, per row that it took."""
    below = [found.id for found in query.stages if found.id in kept and any(stage.id == up for up, _ in found.inputs)]
    taken = sum(run.rows for run in query.of(stage.id))
    given = sum(run.rows for number in below for run in query.of(number))
    return given / taken / len(below) if taken and below else 1.0


def _cost(runs: list[Run], windows: Windows | None, messages: int) -> Cost:
    """A line through the seconds of runs over their rows, so that `messages` of them take as long as all did."""
    taking = [run for run in runs if run.kind == "rows"]
    if not taking:
        return Cost()
    rows, seconds = np.array([run.rows for run in taking], float), np.array([run.seconds for run in taking])
    row = float(np.cov(rows, seconds, bias=True)[0, 1] / rows.var()) if rows.var() > 0.0 else 0.0
    row = min(max(row, 0.0), float(seconds.sum() / rows.sum())) if rows.sum() > 0.0 else 0.0
    fitted = np.maximum(seconds.mean() + row * (rows - rows.mean()), 1e-9)
    scv = float((((seconds - fitted) / fitted) ** 2).mean())
    rest = max(0.0, float(seconds.sum() - row * rows.sum()))
    return Cost(rest / max(messages, 1), row, _marks(runs, windows)[0], min(scv, MOST_SCV))


def _marks(runs: list[Run], windows: Windows | None) -> tuple[float, float]:
    """What a mark takes that ends windows: the costliest do; and what the others took together."""
    ended = _ended(runs, windows)
    seconds = sorted((run.seconds for run in runs if run.kind == "mark"), reverse=True)
    return sum(seconds[:ended]) / max(ended, 1), sum(seconds[ended:])


def _ended(runs: list[Run], windows: Windows | None) -> int:
    """About how many times windows ended, over all of the stage's operators."""
    times = [run.p for run in runs if run.kind == "rows" and run.p is not None]
    if windows is None or not times:
        return 0
    return (windows.number(max(times)) - windows.number(min(times))) * len({run.node for run in runs})
