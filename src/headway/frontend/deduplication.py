"""Lowering of dropDuplicates, dropDuplicatesWithinWatermark and, which Catalyst makes the first of, distinct."""

from __future__ import annotations

from headway.dataflow.graph import Deduplicate, DeduplicateWithin
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, event_time, expr_id, lowers_relation

_DELAY = "spark.watermarkDelayMs"


@lowers_relation("Deduplicate")
def _deduplicate(node: PlanNode, lower: PlanLowering) -> Lowered:
    below, keys = _below(node, lower)
    ends = next((key for key in keys if below.schema[key].event_time), None)
    relation = Deduplicate(below.schema, (below.relation,), (keys,), event_time(below), ends)
    return Lowered(lower.intern(relation), below.ids)


@lowers_relation("DeduplicateWithinWatermark")
def _within(node: PlanNode, lower: PlanLowering) -> Lowered:
    below, keys = _below(node, lower)
    time = event_time(below)
    assert time is not None, "Spark refuses it without a watermark"
    delay_us = node.jvm.child().output().apply(time).metadata().getLong(_DELAY) * 1000
    relation = DeduplicateWithin(below.schema, (below.relation,), (keys,), time, None, delay_us)
    return Lowered(lower.intern(relation), below.ids)


def _below(node: PlanNode, lower: PlanLowering) -> tuple[Lowered, tuple[int, ...]]:
    """The input, and which of its columns are the keys."""
    below = lower(node.children[0])
    return below, tuple(below.ids.index(expr_id(tree)) for tree in node.expressions("keys"))
