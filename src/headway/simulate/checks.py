"""Whether the jobs of a scenario make sense; an error names the key and the way out."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import get_args

from headway.simulate.jobs import WINDOWED, EdgeKind, Job, Kind, Recorded, StageSpec, invalid, whole


def check_jobs(jobs: Sequence[Job], nodes: int) -> None:
    if not jobs:
        raise invalid("jobs", "there is none; add a [[jobs]] table")
    seen: set[str] = set()
    for number, job in enumerate(jobs):
        where = f"jobs.{job.name or number}"
        _check_job(job, where, nodes)
        if seen & set(job.names()):
            raise invalid(f"{where}.name", "two jobs have this name; rename one")
        seen |= set(job.names())


def _check_job(job: Job, where: str, nodes: int) -> None:
    if not job.name:
        raise invalid(f"{where}.name", "it is empty; give the job a name")
    whole(f"{where}.count", job.count, 0)
    if job.latency is not None and not 0.0 < job.latency < inf:
        raise invalid(f"{where}.latency", f"{job.latency!r} will not do; use more than 0 s, or leave it out for bulk")
    if job.end is not None and job.end <= job.start:
        raise invalid(f"{where}.end", f"it is not after start, {job.start:g} s; use a later one")
    if not job.stages:
        raise invalid(f"{where}.stages", "there is none; begin with one of kind source")
    before: dict[str, StageSpec] = {}
    for stage in job.stages:
        _check_stage(stage, before, f"{where}.stages.{stage.name}", nodes)
        before[stage.name] = stage
    _check_ends(job, where)


def _check_stage(stage: StageSpec, before: dict[str, StageSpec], where: str, nodes: int) -> None:
    if not stage.name or stage.name in before:
        raise invalid(f"{where}.name", "it is empty or another stage's; give the stage a name of its own")
    if stage.kind not in get_args(Kind):
        raise invalid(f"{where}.kind", f"there is no kind {stage.kind!r}; use one of {', '.join(get_args(Kind))}")
    whole(f"{where}.parallelism", stage.parallelism, 1)
    if not 0.0 <= stage.selectivity < inf:
        raise invalid(f"{where}.selectivity", f"{stage.selectivity!r} will not do; use 0 or more")
    if stage.groups is not None and stage.groups < 1:
        raise invalid(f"{where}.groups", f"{stage.groups!r} will not do; use 1 or more, or leave it out")
    stage.cost.check(f"{where}.cost")
    if stage.nodes is not None and (not stage.nodes or any(not 0 <= node < nodes for node in stage.nodes)):
        raise invalid(f"{where}.nodes", f"{list(stage.nodes)} are not all nodes; the cluster has 0 to {nodes - 1}")
    _check_source(stage, where)
    _check_window(stage, where)
    if stage.kind != "source":
        _check_inputs(stage, before, where)


def _check_source(stage: StageSpec, where: str) -> None:
    if stage.kind != "source":
        if stage.arrivals is not None:
            raise invalid(f"{where}.arrivals", f"a {stage.kind} stage has none; use kind source, or take them out")
        return
    if stage.arrivals is None:
        raise invalid(f"{where}.arrivals", "a source needs them; add rate and rows")
    if stage.inputs or stage.edge is not None:
        raise invalid(f"{where}.inputs", "a source reads no stage; take inputs and edge out")
    stage.arrivals.check(f"{where}.arrivals")
    if isinstance(stage.arrivals, Recorded) and len(stage.arrivals.points) != stage.parallelism:
        raise invalid(f"{where}.arrivals", f"there are {len(stage.arrivals.points)} recordings; use one per operator")


def _check_window(stage: StageSpec, where: str) -> None:
    if stage.kind in WINDOWED:
        if stage.window is None:
            raise invalid(f"{where}.window", f"a {stage.kind} needs one; add window.size")
        stage.window.check(f"{where}.window")
        if stage.kind == "merge" and stage.window.copies != 1:
            raise invalid(f"{where}.window.size", "a merge has windows as long as their slide; use the slide for both")
    elif stage.window is not None:
        raise invalid(f"{where}.window", f"a {stage.kind} stage has none; use kind window, merge or join")


def _check_inputs(stage: StageSpec, before: dict[str, StageSpec], where: str) -> None:
    if not before:
        raise invalid(where, "the first stage must be of kind source")
    for name in stage.inputs:
        if name not in before:
            raise invalid(f"{where}.inputs", f"no stage before it is called {name!r}; there are {', '.join(before)}")
    if stage.kind == "join" and len(stage.inputs) < 2:
        raise invalid(f"{where}.inputs", "a join reads several stages; name them")
    if stage.edge is not None and stage.edge not in get_args(EdgeKind):
        raise invalid(f"{where}.edge", f"there is no edge {stage.edge!r}; use one of {', '.join(get_args(EdgeKind))}")
    if stage.edge == "one" and stage.parallelism != 1:
        raise invalid(f"{where}.edge", "it leads to one operator; use parallelism = 1, or another edge")
    fewest = min(upstream.parallelism for upstream in upstreams(stage, before))
    if stage.edge == "forward" and stage.parallelism > fewest:
        raise invalid(f"{where}.edge", f"{fewest} operators cannot feed {stage.parallelism} forward; use edge = 'key'")


def _check_ends(job: Job, where: str) -> None:
    read = {name for i, stage in enumerate(job.stages) for name in input_names(job, i)}
    for stage in job.stages:
        if stage.kind == "output" and stage.name in read:
            raise invalid(f"{where}.stages.{stage.name}.kind", "an output is read by a stage; use kind regular")
        if stage.kind == "source" and stage.name not in read:
            raise invalid(f"{where}.stages.{stage.name}", "nothing reads this source; add a stage, or take it out")


def upstreams(stage: StageSpec, before: dict[str, StageSpec]) -> list[StageSpec]:
    """The stages that `stage` reads: `before` are all before it, in order."""
    return [before[name] for name in stage.inputs] or list(before.values())[-1:]


def input_names(job: Job, number: int) -> tuple[str, ...]:
    """The names of the stages that the numbered one reads."""
    stage = job.stages[number]
    if stage.kind == "source":
        return ()
    return stage.inputs or (job.stages[number - 1].name,)


def edge_of(stage: StageSpec, upstream: StageSpec) -> EdgeKind:
    """How rows get from `upstream` to `stage`, where the scenario leaves it open too."""
    if stage.edge is not None:
        return stage.edge
    return "forward" if stage.parallelism == upstream.parallelism else "key"
