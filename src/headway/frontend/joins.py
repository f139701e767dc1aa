"""Lowering of joins of a stream with a static table; joins of two streams go on to `stream_joins`.

1. The stream's columns come first in the dataflow; where the user wrote the table first, a projection swaps them back.
2. Every equality between the two sides is a key. What else the condition says decides, row by row, what matches.
"""

from __future__ import annotations

from headway.dataflow.expr import Column
from headway.dataflow.graph import StaticJoin
from headway.errors import UnsupportedPlan
from headway.frontend.matching import all_of, matching
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, lowers_relation
from headway.frontend.static import static_side
from headway.frontend.stream_joins import stream_join

_HOW = {("Inner", 0): "inner", ("Inner", 1): "inner", ("LeftOuter", 0): "left", ("RightOuter", 1): "left"}


@lowers_relation("Join")
def _join(node: PlanNode, lower: PlanLowering) -> Lowered:
    # An object of Scala (Inner), or a class with fields (ExistenceJoin).
    written = node.tree.fields["joinType"]
    join_type = str(written.get("object") or written.get("product-class")).rsplit(".", 1)[-1].rstrip("$")
    if all(child.streaming for child in node.children):
        return stream_join(node, lower, join_type)
    return _static_join(node, lower, join_type)


def _static_join(node: PlanNode, lower: PlanLowering, join_type: str) -> Lowered:
    how, stream_side = _how(node, join_type)
    stream = lower(node.children[stream_side])
    static = static_side(node.children[1 - stream_side], lower)
    found = matching(node, lower, stream, static, "stream and table")
    condition = all_of(map(lower.expressions(stream, static), found.others))
    schema = stream.schema + tuple(f._replace(nullable=f.nullable or how == "left") for f in static.schema)
    keys = tuple(found.left_keys), tuple(found.right_keys)
    relation = lower.intern(StaticJoin(schema, stream.relation, static.table, *keys, how, condition))
    joined = Lowered(relation, stream.ids + static.ids)
    return joined if stream_side == 0 else _swapped(lower, joined, len(stream.ids))


def _how(node: PlanNode, join_type: str) -> tuple[str, int]:
    """`StaticJoin.how`, and which child is the stream."""
    stream_side = 0 if node.children[0].streaming else 1
    how = _HOW.get((join_type, stream_side))
    if how is None:
        side = ("left", "right")[stream_side]
        raise UnsupportedPlan("plan node Join", f"{join_type} with the stream on the {side} is not supported")
    return how, stream_side


def _swapped(lower: PlanLowering, joined: Lowered, width: int) -> Lowered:
    """The columns after the first `width`, then those."""
    order = [*range(width, len(joined.ids)), *range(width)]
    exprs = [Column(joined.schema[i].type, i) for i in order]
    return lower.project(joined, exprs, [joined.schema[i].name for i in order], [joined.ids[i] for i in order])
