"""Lowering of joins of a stream with a static table; joins of two streams go on to `stream_joins`.

1. The stream's columns come first in the dataflow; where the user wrote the table first, a projection swaps them back.
   Where the table only decides which rows stay (semi, anti), a projection drops its columns. Where it says of each
   row whether there is a match (`IN` and `EXISTS` as values), one column is left of it, which says that.
2. Every equality between the two sides is a key. What else the condition says decides, row by row, what matches. If
   there is no key, all rows have the same one.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Literal
from headway.dataflow.graph import StaticJoin
from headway.errors import UnsupportedPlan
from headway.frontend.matching import all_of, matching
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, expr_id, lowers_relation
from headway.frontend.static import marked, static_side
from headway.frontend.stream_joins import stream_join
from headway.frontend.tree import parse

_HOW = {
    ("Cross", 0): "inner",
    ("Cross", 1): "inner",
    ("Inner", 0): "inner",
    ("Inner", 1): "inner",
    ("LeftOuter", 0): "left",
    ("RightOuter", 1): "left",
    ("LeftSemi", 0): "semi",
    ("LeftAnti", 0): "anti",
    ("ExistenceJoin", 0): "exists",
}
_SAME = Literal(T.IntegerType(), 0)


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
    if how == "exists":
        static = marked(static)
    found = matching(node, lower, stream, static)
    condition = all_of(map(lower.expressions(stream, static), found.others))
    if not found.left_keys:
        found.left_keys, found.right_keys = [_SAME], [_SAME]
    alone = how in ("left", "anti", "exists")
    schema = stream.schema + tuple(f._replace(nullable=f.nullable or alone) for f in static.schema)
    keys = tuple(found.left_keys), tuple(found.right_keys)
    relation = lower.intern(StaticJoin(schema, stream.relation, static.table, *keys, how, condition))
    joined = Lowered(relation, stream.ids + static.ids)
    width = len(stream.ids)
    if how == "exists":
        return _with_match(node, lower, joined, width)
    if how in ("semi", "anti"):
        return _in_order(lower, joined, range(width))
    table = range(width, width + len(static.ids) - static.marked)
    return _in_order(lower, joined, [*range(width), *table] if stream_side == 0 else [*table, *range(width)])


def _with_match(node: PlanNode, lower: PlanLowering, joined: Lowered, width: int) -> Lowered:
    """The stream's columns, and whether there is a match."""
    exists = parse(node.tree.fields["joinType"]["exists"])
    found = Call(T.BooleanType(), "IsNotNull", (Column(T.BooleanType(), len(joined.ids) - 1),))
    exprs = [*(Column(joined.schema[i].type, i) for i in range(width)), found]
    names = [*(joined.schema[i].name for i in range(width)), exists.fields["name"]]
    return lower.project(joined, exprs, names, [*joined.ids[:width], expr_id(exists)])


def _how(node: PlanNode, join_type: str) -> tuple[str, int]:
    """`StaticJoin.how`, and which child is the stream."""
    stream_side = 0 if node.children[0].streaming else 1
    how = _HOW.get((join_type, stream_side))
    if how is None:
        side = ("left", "right")[stream_side]
        raise UnsupportedPlan("plan node Join", f"{join_type} with the stream on the {side} is not supported")
    return how, stream_side


def _in_order(lower: PlanLowering, joined: Lowered, order: Sequence[int]) -> Lowered:
    """Those columns, in that order."""
    exprs = [Column(joined.schema[i].type, i) for i in order]
    return lower.project(joined, exprs, [joined.schema[i].name for i in order], [joined.ids[i] for i in order])
