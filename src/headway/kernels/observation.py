"""Metrics that `observe` asks for: counted where the rows pass, put together where progress is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headway.dataflow.graph import Aggregate, Observe, Relation
from headway.kernels.api import Chain
from headway.kernels.groups import Groups
from headway.kernels.merge import Merge
from headway.kernels.partials import Partials


class Observer:
    """A step that lets all rows pass and keeps their partial aggregate."""

    def __init__(self, relation: Observe) -> None:
        self.name = relation.name
        self._groups = Groups(Partials(_aggregate(relation.metrics)))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        self._groups.add(self._groups.partials.lift(batch))
        return batch

    def take(self) -> pa.RecordBatch | None:
        """What was observed since the last call, None if no rows were."""
        table = self._groups.take()
        return None if table is None else self._groups.partials.decode(table)


def observations(plan: Relation) -> dict[str, Relation]:
    """The metrics of every Observe in `plan`, by name."""
    found = {name: metrics for below in plan.inputs for name, metrics in observations(below).items()}
    return found | ({plan.name: plan.metrics} if isinstance(plan, Observe) else {})


def observed(metrics: Relation, partials: Sequence[pa.RecordBatch]) -> dict[str, Any]:
    """The values of `metrics` over all that observers took."""
    from headway.kernels.interpreted import InterpretedChain

    merge = Merge(_aggregate(metrics))
    for batch in partials:
        merge.merge(batch, None)
    rows = merge.emit("complete", None)
    if not isinstance(metrics, Aggregate):
        rows, _ = InterpretedChain(Chain(metrics.inputs[0], (metrics,))).process(rows)
    assert rows is not None
    return {name: _plain(column[0].as_py()) for name, column in zip(rows.schema.names, rows.columns, strict=True)}


def _aggregate(metrics: Relation) -> Aggregate:
    return metrics if isinstance(metrics, Aggregate) else _aggregate(metrics.inputs[0])


def _plain(value: Any) -> Any:
    """As JSON has it; what JSON has no word for as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
