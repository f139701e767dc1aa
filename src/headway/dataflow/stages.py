"""The physical dataflow: the relations of a query cut into stages, which nodes run as operators.

1. A stage reads edges, does one kind of work, and feeds the stages that name it as upstream.
2. Stateless steps fuse into one chain; it ends where rows fan out, fan in, meet a second watermark, or are grouped.
   Functions of the user's have chains of their own, so that what is before and after them can be compiled, and what
   they cost, or break, is told apart.
3. An aggregation is two steps: partial at the end of a chain, on every node, then a merge by key bucket.
4. A relation that keeps state by key is a stage of its own, behind an exchange by key of each of its inputs.
5. A query has one watermark, the least of all its streams': state hears of those streams too whose rows it does not
   get, by edges of marks.
6. Equal relations are one stage, so that a stream used twice is read once, and aggregations that differ in what they
   compute alone are one (see `sharing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from headway.dataflow.graph import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Keyed,
    Limit,
    Observe,
    Project,
    Relation,
    Sort,
    Source,
    StaticJoin,
    Union,
    Watermark,
)
from headway.dataflow.sharing import simplified
from headway.dataflow.user_code import EvalPython, MapBatches, runs_user_code
from headway.kernels.api import Chain

EdgeKind = Literal["forward", "by_key", "spread", "marks"]
"""forward: to the same node; by_key: by the rows' key bucket; spread: tasks by their source partition; marks: no rows,
but watermarks and barriers, to all nodes."""

Placement = Literal["everywhere", "one"]
WatermarkPolicy = Literal["min", "max"]
_STEPS = (Filter, Project, Expand, Generate, Watermark, StaticJoin, EvalPython, MapBatches, Sort, Observe)


@dataclass(frozen=True)
class Edge:
    """Where rows come from, and how they are dealt to nodes: by the columns `keys` iff `kind` is by_key."""

    upstream: int
    kind: EdgeKind
    keys: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stage:
    """A part of the dataflow that one operator per node runs."""

    id: int
    inputs: tuple[Edge, ...]
    placement: Placement


@dataclass(frozen=True)
class InlineStage(Stage):
    """Polls the partitions of an inline source that its node was dealt."""

    source: Source


@dataclass(frozen=True)
class PlanStage(Stage):
    """Finds what is new in a planned source."""

    source: Source


@dataclass(frozen=True)
class ReadStage(Stage):
    """Reads the tasks of a plan stage."""

    source: Source


@dataclass(frozen=True)
class ChainStage(Stage):
    """Runs a chain; its inputs are the branches of a union, or one. `whole`: its batches are whole results."""

    chain: Chain
    whole: bool = False


@dataclass(frozen=True)
class MergeStage(Stage):
    """Merges partial aggregates of its key buckets and emits results."""

    aggregate: Aggregate


@dataclass(frozen=True)
class KeyedStage(Stage):
    """Keeps the state of its key buckets; its inputs are those of the relation."""

    relation: Keyed


@dataclass(frozen=True)
class SinkStage(Stage):
    """Hands results to the sink."""


@dataclass
class _Builder:
    """Cuts relations into stages, upstream first."""

    inline: frozenset[Source]
    single_merge: bool
    fuse: bool
    stages: list[Stage] = field(default_factory=list)
    made: dict[int, int] = field(default_factory=dict)
    uses: Counter[int] = field(default_factory=Counter)

    def add(self, stage: Stage) -> int:
        self.stages.append(stage)
        return stage.id

    @property
    def next_id(self) -> int:
        return len(self.stages)

    def stage_of(self, relation: Relation) -> int:
        """The stage whose output is `relation`."""
        found = self.made.get(id(relation))
        if found is None:
            found = self.made[id(relation)] = self._make(relation)
        return found

    def _make(self, relation: Relation) -> int:
        if isinstance(relation, Source):
            return self._source(relation)
        if isinstance(relation, Aggregate):
            return self._merge(relation)
        if isinstance(relation, Keyed) and not self._limits_results(relation):
            return self._keyed(relation)
        return self._chain(relation, None)

    def _source(self, source: Source) -> int:
        if source in self.inline:
            return self.add(InlineStage(self.next_id, (), "everywhere", source))
        plan = self.add(PlanStage(self.next_id, (), "one", source))
        return self.add(ReadStage(self.next_id, (Edge(plan, "spread"),), "everywhere", source))

    def _merge(self, aggregate: Aggregate) -> int:
        partial = self._chain(aggregate.input, aggregate)
        placement: Placement = "one" if self.single_merge or not aggregate.exchange_keys else "everywhere"
        edge = Edge(partial, "by_key", aggregate.exchange_keys)
        return self.add(MergeStage(self.next_id, (edge,), placement, aggregate))

    def _keyed(self, relation: Keyed) -> int:
        pairs = zip(relation.streams, relation.keys, strict=True)
        edges = tuple(Edge(self.stage_of(stream), "by_key", keys) for stream, keys in pairs)
        return self.add(KeyedStage(self.next_id, edges, "everywhere" if relation.keys[0] else "one", relation))

    def _chain(self, relation: Relation, aggregate: Aggregate | None) -> int:
        steps: list[Relation] = []
        at = relation
        while self._is_step(at) and self._fuses(at, steps, aggregate):
            steps.append(at)
            at = at.inputs[0]
        if isinstance(at, Union):
            upstream = tuple(Edge(self.stage_of(branch), "forward") for branch in at.branches)
        else:
            upstream = (Edge(self.stage_of(at), "forward"),)
        placement = self._placement(upstream)
        chain = Chain(at, tuple(reversed(steps)), aggregate)
        return self.add(ChainStage(self.next_id, upstream, placement, chain, self._gives_results(at)))

    def _is_step(self, relation: Relation) -> bool:
        return isinstance(relation, _STEPS) or self._limits_results(relation)

    def _limits_results(self, relation: Relation) -> bool:
        return isinstance(relation, Limit) and self._gives_results(relation)

    def _gives_results(self, relation: Relation) -> bool:
        """Whether every batch of `relation` is all there is to say now, instead of what was said before."""
        return self.single_merge and (
            isinstance(relation, Aggregate) or any(self._gives_results(below) for below in relation.inputs)
        )

    def _fuses(self, step: Relation, after: list[Relation], aggregate: Aggregate | None) -> bool:
        """Whether `step` joins a chain whose later steps are `after`: not if others use it too (it is a stage then)."""
        if not self.fuse:
            return not after and aggregate is None
        if after and self.uses[id(step)] > 1 and not self._multiplies(step):
            return False
        user_code = runs_user_code(step)
        if (user_code and aggregate is not None) or any(runs_user_code(s) != user_code for s in after):
            return False
        return not (isinstance(step, Watermark) and any(isinstance(s, Watermark) for s in after))

    def _multiplies(self, step: Relation) -> bool:
        """Whether `step` makes several rows of one by simple means: then to make them again costs less than to hand
        them on, and what is behind it may be compiled with it."""
        if not isinstance(step, Expand):
            return False
        below = step.input
        while isinstance(below, Filter | Project | Watermark) and self.uses[id(below)] == 1:
            below = below.input
        return isinstance(below, Source)

    def _placement(self, upstream: tuple[Edge, ...]) -> Placement:
        return "one" if all(self.stages[e.upstream].placement == "one" for e in upstream) else "everywhere"


def cut(
    root: Relation,
    inline: frozenset[Source],
    output_mode: str,
    watermarks: WatermarkPolicy = "min",
    fuse: bool = True,
) -> tuple[Stage, ...]:
    """The stages of `root`, upstream first, the sink last. `inline` are the sources that nodes poll themselves.

    In complete mode every emission is the whole result, so one operator merges all keys. Of several `watermarks` the
    least counts for all, or, with "max", the highest of those upstream. Without `fuse`, every step is a stage.
    """
    root = simplified(root)
    builder = _Builder(inline, single_merge=output_mode == "complete", fuse=fuse)
    _count_uses(root, builder.uses, set())
    last = builder.stage_of(root)
    builder.add(SinkStage(builder.next_id, (Edge(last, "forward"),), builder.stages[last].placement))
    return tuple(builder.stages if watermarks == "max" else _with_marks(builder.stages))


def has_watermark(stage: Stage) -> bool:
    """Whether event time becomes a watermark in a stage."""
    return isinstance(stage, ChainStage) and any(isinstance(step, Watermark) for step in stage.chain.steps)


def _with_marks(stages: list[Stage]) -> Iterator[Stage]:
    """Rule 5: state that has a watermark hears of all. A stream's watermark is never behind state that has one."""
    begin = [stage.id for stage in stages if has_watermark(stage)]
    heard: dict[int, set[int]] = {}
    for stage in stages:
        heard[stage.id] = {stage.id} if stage.id in begin else set()
        heard[stage.id].update(*(heard[edge.upstream] for edge in stage.inputs))
        missing = [id for id in begin if heard[stage.id] and id not in heard[stage.id]]
        keeps_state = isinstance(stage, MergeStage | KeyedStage)
        yield replace(stage, inputs=stage.inputs + tuple(Edge(id, "marks") for id in missing)) if keeps_state else stage


def _count_uses(relation: Relation, uses: Counter[int], visited: set[int]) -> None:
    uses[id(relation)] += 1
    if id(relation) not in visited:
        visited.add(id(relation))
        for child in relation.inputs:
            _count_uses(child, uses, visited)


def stateful(stages: tuple[Stage, ...]) -> tuple[int, ...]:
    """The stages that keep state, in the order in which Spark tells of them: the last first, left before right."""
    found: dict[int, None] = {}

    def visit(stage: Stage) -> None:
        if isinstance(stage, MergeStage | KeyedStage):
            found.setdefault(stage.id)
        for edge in stage.inputs:
            if edge.kind != "marks":
                visit(stages[edge.upstream])

    visit(stages[-1])
    return tuple(found)


def relations(stages: tuple[Stage, ...]) -> Iterator[Relation]:
    """What stages compute, but for aggregations."""
    for stage in stages:
        if isinstance(stage, ChainStage):
            yield from stage.chain.steps
        elif isinstance(stage, KeyedStage):
            yield stage.relation


def sources(root: Relation) -> tuple[Source, ...]:
    """The distinct sources below `root`, in a stable order."""
    found: dict[Source, None] = {}

    def visit(relation: Relation) -> None:
        if isinstance(relation, Source):
            found[relation] = None
        for child in relation.inputs:
            visit(child)

    visit(root)
    return tuple(found)
