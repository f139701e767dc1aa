"""What a chain's windows are: when they end, and which column of its input says how far event time is."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructType

from headway.dataflow.expr import Call, Column, Expr, walk
from headway.dataflow.graph import Aggregate, Expand, Filter, Project, Relation, Watermark
from headway.kernels.api import Chain
from headway.scheduling.progress import Windows


def groups_end(relation: Relation) -> bool:
    """Whether the groups of every aggregation end by the watermark. In append mode those that never end say nothing."""
    ends = not isinstance(relation, Aggregate) or relation.event_key is not None
    return ends and all(groups_end(below) for below in relation.inputs)


def waits_for_watermark(chain: Chain, output_mode: str) -> bool:
    """Whether the groups of a chain leave by watermark alone."""
    return output_mode == "append" and chain.aggregate is not None and chain.aggregate.event_key is not None


def windows_of(chain: Chain, output_mode: str) -> Windows | None:
    """The windows in which rows wait in a chain, if they do."""
    ends = window_ends(chain) if waits_for_watermark(chain, output_mode) else None
    delay = next((step.delay_us for step in chain.steps if isinstance(step, Watermark)), 0)
    return None if ends is None else Windows(*ends, delay)


def window_ends(chain: Chain) -> tuple[int, int] | None:
    """When windows of a chain's aggregation can end: at a time, and every so many microseconds before and after it.

    Between two ends a watermark changes nothing downstream. None if the groups do not end by windows of one kind.
    """
    aggregate = chain.aggregate
    if (
        aggregate is None
        or aggregate.event_key is None
        or aggregate.session
        or not isinstance(aggregate.keys[aggregate.event_key].type, StructType)
    ):
        return None
    calls = {
        (call.option("offset") + call.option("duration"), call.option("slide"))
        for step in chain.steps
        for expr in _expressions(step)
        for call in walk(expr)
        if isinstance(call, Call) and call.function == "TimeWindow"
    }
    return calls.pop() if len(calls) == 1 else None


def event_column(chain: Chain) -> int | None:
    """Which column of a chain's input is the event time of its watermark step, None if it is computed on the way."""
    at = next((i for i, step in enumerate(chain.steps) if isinstance(step, Watermark)), None)
    if at is None:
        return None
    step = chain.steps[at]
    assert isinstance(step, Watermark)
    column = step.column
    for before in reversed(chain.steps[:at]):
        if isinstance(before, Project):
            expr = before.exprs[column]
            if not isinstance(expr, Column):
                return None
            column = expr.index
        elif not isinstance(before, Filter):
            return None
    return column


def _expressions(step: Relation) -> Sequence[Expr]:
    if isinstance(step, Project):
        return step.exprs
    return [expr for row in step.projections for expr in row] if isinstance(step, Expand) else ()
