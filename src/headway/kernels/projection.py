"""Projections, and filters before projections.

1. A filter before a projection filters just the columns that this reads: texts that nobody reads are long too.
2. What the condition has computed, the projection does not compute again.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headway.dataflow.expr import Column, Expr, moved, walk
from headway.dataflow.graph import Filter, Project
from headway.dataflow.types import arrow_schema
from headway.kernels.expressions.registry import RowError, evaluate
from headway.kernels.expressions.several import Several, Sharing, parts_of
from headway.kernels.partials import batch_of


class Projection:
    """Expressions over batches of `width` columns as a batch of `schema`."""

    def __init__(self, exprs: Sequence[Expr], width: int, schema: pa.Schema) -> None:
        self._values = Several(exprs, width)
        self._schema = schema

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch_of(self._values(batch), self._schema, batch.num_rows)


class FilteredProjection:
    """A filter and the projection behind it as one step."""

    def __init__(self, filter: Filter, project: Project) -> None:
        width, schema = len(filter.schema), arrow_schema(project.schema)
        self._nothing = pa.RecordBatch.from_pylist([], schema)
        self._condition = filter.condition
        self._projection = Projection(project.exprs, width, schema)
        known = set(parts_of(filter.condition))
        self._sharing = Sharing((part for e in project.exprs for part in parts_of(e) if part in known), width)
        exprs = [self._sharing.rewritten(expr) for expr in project.exprs]
        self._shared_condition = self._sharing.rewritten(filter.condition)
        self._read = sorted({e.index for expr in exprs for e in walk(expr) if isinstance(e, Column)})
        places = {old: new for new, old in enumerate(self._read)}
        self._narrow = Projection([moved(e, places) for e in exprs], len(places), schema)

    @staticmethod
    def fits(project: Project) -> bool:
        """Whether the projection reads columns at all: a batch without them has no rows."""
        return any(isinstance(e, Column) for expr in project.exprs for e in walk(expr))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            wide = self._sharing.widened(batch)
            kept = wide.select(self._read).filter(evaluate(self._shared_condition, wide))
            return self._narrow(kept) if kept.num_rows else self._nothing
        except RowError:  # maybe on a row that the filter leaves out
            return self._projection(batch.filter(evaluate(self._condition, batch)))
