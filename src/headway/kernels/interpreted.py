"""The interpreted tier of a chain: every step is a function of a whole batch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import headway.kernels.expressions  # noqa: F401  registers the expressions
from headway.dataflow.graph import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Limit,
    Observe,
    Project,
    Relation,
    Sort,
    StaticJoin,
    Watermark,
)
from headway.dataflow.types import arrow_schema
from headway.dataflow.user_code import EvalPython, MapBatches
from headway.errors import UnsupportedPlan
from headway.kernels.api import Chain
from headway.kernels.expressions.changing import one_time
from headway.kernels.expressions.registry import evaluate
from headway.kernels.generate import generated
from headway.kernels.groups import Groups
from headway.kernels.hashing import deal
from headway.kernels.join import StaticProbe
from headway.kernels.observation import Observer
from headway.kernels.partials import Partials
from headway.kernels.projection import FilteredProjection, Projection
from headway.kernels.ranks import Ints, sort_keys
from headway.kernels.sessions import SessionPartials
from headway.kernels.user_code.steps import eval_step, map_step
from headway.memory import Rows, record_batch

Step = Callable[[pa.RecordBatch], pa.RecordBatch]
_STEPS: dict[type[Relation], Callable[[Relation], Step]] = {}


class InterpretedChain:
    """The kernel of `chain`. See `api.ChainKernel`."""

    def __init__(self, chain: Chain) -> None:
        self._steps = _steps(chain)
        self._watermark = next((i for i, r in enumerate(chain.steps) if isinstance(r, Watermark)), None)
        self._event_time = next((r.column for r in chain.steps if isinstance(r, Watermark)), 0)
        self._groups = Groups(_partials(chain.aggregate)) if chain.aggregate else None

    def process(self, rows: Rows) -> tuple[pa.RecordBatch | None, int | None]:
        with one_time():
            return self._process(record_batch(rows))

    def _process(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch | None, int | None]:
        highest = None
        for i, step in enumerate(self._steps):
            if batch.num_rows == 0:
                return None, highest
            if i == self._watermark:
                highest = latest(batch.column(self._event_time))
            else:
                batch = step(batch)
        if batch.num_rows == 0:
            return None, highest
        if self._groups is None:
            return batch, highest
        self._groups.add(self._groups.partials.lift(batch))
        return None, highest

    def flush(self, watermark: int | None) -> pa.RecordBatch | None:
        if self._groups is None:
            return None
        table = self._groups.take() if watermark is None else self._groups.take_ended(watermark)
        return self._groups.partials.decode(table) if table is not None and table.num_rows else None

    def flush_to(self, watermark: int | None, owners: int) -> list[pa.RecordBatch] | None:
        partials = self.flush(watermark)
        if partials is None or self._groups is None:
            return None
        return deal(partials, self._groups.partials.aggregate.exchange_keys, owners)

    def snapshot(self) -> pa.Table | None:
        if self._groups is None:
            return None
        table = self._groups.merged()
        if table is None:
            return self._groups.partials.schema.empty_table()
        return pa.Table.from_batches([self._groups.partials.decode(table)])

    def restore(self, state: pa.Table) -> None:
        if self._groups is None:
            return
        for batch in state.combine_chunks().to_batches():
            self._groups.add(self._groups.partials.encode(batch), merged=False)

    def observed(self) -> dict[str, pa.RecordBatch]:
        taken = {step.name: step.take() for step in self._steps if isinstance(step, Observer)}
        return {name: batch for name, batch in taken.items() if batch is not None}

    def holds_more_than(self, most: int) -> bool:
        # Groups are at most as many as rows of partials; to count them is to merge them all.
        return self._groups is not None and self._groups.rows > most and self.groups > most

    @property
    def groups(self) -> int:
        table = self._groups.merged() if self._groups else None
        return 0 if table is None else table.num_rows

    @property
    def bytes(self) -> int:
        return 0 if self._groups is None else self._groups.bytes


def _partials(aggregate: Aggregate) -> Partials:
    return SessionPartials(aggregate) if aggregate.session else Partials(aggregate)


def latest(times: pa.Array) -> int | None:
    """The highest of a column of timestamps in microseconds, None if all are null."""
    highest: int | None = pc.max(times.view(pa.int64())).as_py()
    return highest


def _steps(chain: Chain) -> list[Step]:
    """A step for every relation, so that their places tell which is which."""
    steps = [_step(relation) for relation in chain.steps]
    for at, (filter, project) in enumerate(pairwise(chain.steps)):
        if isinstance(filter, Filter) and isinstance(project, Project) and FilteredProjection.fits(project):
            steps[at], steps[at + 1] = FilteredProjection(filter, project), _same
    return steps


def _same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _step(relation: Relation) -> Step:
    build = _STEPS.get(type(relation))
    if build is None:
        raise UnsupportedPlan(type(relation).__name__, "it is not a step of a chain")
    return build(relation)


def _builds(kind: type[Relation]) -> Callable[[Callable[..., Step]], Callable[..., Step]]:
    def register(build: Callable[..., Step]) -> Callable[..., Step]:
        _STEPS[kind] = build
        return build

    return register


@_builds(Filter)
def _filter(relation: Filter) -> Step:
    return lambda batch: batch.filter(evaluate(relation.condition, batch))


@_builds(Project)
def _project(relation: Project) -> Step:
    return Projection(relation.exprs, len(relation.input.schema), arrow_schema(relation.schema))


@_builds(Expand)
def _expand(relation: Expand) -> Step:
    schema, width = arrow_schema(relation.schema), len(relation.input.schema)
    projections = [Projection(exprs, width, schema) for exprs in relation.projections]
    return lambda batch: pa.concat_batches([projected(batch) for projected in projections])


@_builds(Generate)
def _generate(relation: Generate) -> Step:
    schema = arrow_schema(relation.schema)
    return lambda batch: generated(relation, schema, batch)


@_builds(Sort)
def _sort(relation: Sort) -> Step:
    return lambda batch: batch.take(pa.array(_sorted(relation, batch)))


def _sorted(relation: Sort, batch: pa.RecordBatch) -> Ints:
    orders = reversed(relation.orders)
    keys = [key for o in orders for key in sort_keys(evaluate(o.by, batch), o.descending, o.nulls_first)]
    return np.lexsort(keys)


@_builds(Limit)
def _limit(relation: Limit) -> Step:
    return lambda batch: batch.slice(0, relation.count)


@_builds(Watermark)
def _watermark(relation: Watermark) -> Step:
    return _same


@_builds(StaticJoin)
def _static_join(relation: StaticJoin) -> Step:
    return StaticProbe(relation).probe


_builds(Observe)(Observer)
_builds(EvalPython)(eval_step)
_builds(MapBatches)(map_step)
