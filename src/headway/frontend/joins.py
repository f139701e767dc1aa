"""Lowering of joins of a stream with a static table.

1. The stream's columns come first in the dataflow; where the user wrote the table first, a projection swaps them back.
2. Every equality between the two sides is a key, `<=>` as Spark itself does it: two keys, one of which never is null.
   What else the condition says decides, row by row, what matches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import StaticJoin
from headway.errors import UnsupportedPlan
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Expressions, Lowered, PlanLowering, expr_id, lowers_relation
from headway.frontend.static import Static, static_side
from headway.frontend.tree import Tree

_HOW = {("Inner", 0): "inner", ("Inner", 1): "inner", ("LeftOuter", 0): "left", ("RightOuter", 1): "left"}
_ZERO: dict[type[T.DataType], Any] = {
    T.BooleanType: False,
    T.ByteType: 0,
    T.ShortType: 0,
    T.IntegerType: 0,
    T.LongType: 0,
    T.FloatType: 0.0,
    T.DoubleType: 0.0,
    T.DecimalType: Decimal(0),
    T.StringType: "",
    T.BinaryType: b"",
    T.DateType: 0,
    T.TimestampType: 0,
    T.TimestampNTZType: 0,
}


@dataclass
class _Matching:
    """What makes a stream row and a table row match."""

    stream: Expressions
    table: Expressions
    both: Expressions
    stream_keys: list[Expr] = field(default_factory=list)
    table_keys: list[Expr] = field(default_factory=list)
    others: list[Expr] = field(default_factory=list)

    def add(self, conjunct: Tree) -> None:
        sides = self._sides(conjunct) if conjunct.name in ("EqualTo", "EqualNullSafe") else None
        if sides is None:
            self.others.append(self.both(conjunct))
            return
        stream_key, table_key = self.stream(sides[0]), self.table(sides[1])
        if conjunct.name == "EqualTo":
            self.stream_keys.append(stream_key)
            self.table_keys.append(table_key)
        else:
            self.stream_keys.extend(_null_safe(stream_key))
            self.table_keys.extend(_null_safe(table_key))

    def _sides(self, equality: Tree) -> tuple[Tree, Tree] | None:
        """The stream's and the table's side of an equality; None if it is not one between the two."""
        left, right = equality.children
        for stream, table in ((left, right), (right, left)):
            if _over(stream, self.stream) and _over(table, self.table):
                return stream, table
        return None


@lowers_relation("Join")
def _join(node: PlanNode, lower: PlanLowering) -> Lowered:
    how, stream_side = _how(node)
    stream = lower(node.children[stream_side])
    static = static_side(node.children[1 - stream_side], lower)
    matching = _matching(node, lower, stream, static)
    others = matching.others
    condition = reduce(lambda a, b: Call(T.BooleanType(), "And", (a, b)), others) if others else None
    schema = stream.schema + tuple(f._replace(nullable=f.nullable or how == "left") for f in static.schema)
    keys = tuple(matching.stream_keys), tuple(matching.table_keys)
    relation = lower.intern(StaticJoin(schema, stream.relation, static.table, *keys, how, condition))
    joined = Lowered(relation, stream.ids + static.ids)
    return joined if stream_side == 0 else _swapped(lower, joined, len(stream.ids))


def _how(node: PlanNode) -> tuple[str, int]:
    """`StaticJoin.how`, and which child is the stream."""
    # An object of Scala (Inner), or a class with fields (ExistenceJoin).
    written = node.tree.fields["joinType"]
    join_type = str(written.get("object") or written.get("product-class")).rsplit(".", 1)[-1].rstrip("$")
    if all(child.streaming for child in node.children):
        raise UnsupportedPlan("plan node Join", f"a join of two streams ({join_type}) is not supported")
    stream_side = 0 if node.children[0].streaming else 1
    how = _HOW.get((join_type, stream_side))
    if how is None:
        side = ("left", "right")[stream_side]
        raise UnsupportedPlan("plan node Join", f"{join_type} with the stream on the {side} is not supported")
    return how, stream_side


def _matching(node: PlanNode, lower: PlanLowering, stream: Lowered, static: Static) -> _Matching:
    scopes = lower.expressions(stream), lower.expressions(static), lower.expressions(stream, static)
    matching = _Matching(*scopes)
    if "condition" in node.tree.fields:
        for conjunct in _conjuncts(node.expression("condition")):
            matching.add(conjunct)
    if not matching.stream_keys:
        raise UnsupportedPlan("plan node Join", "a join without an equality of stream and table is not supported")
    return matching


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    if tree.name != "And":
        yield tree
        return
    for child in tree.children:
        yield from _conjuncts(child)


def _over(tree: Tree, expressions: Expressions) -> bool:
    """Whether `tree` reads columns, and only those of `expressions`."""
    read = {expr_id(node) for node in tree.walk() if node.name == "AttributeReference"}
    return bool(read) and read <= expressions.columns.keys()


def _null_safe(key: Expr) -> tuple[Expr, Expr]:
    """Two keys that are never null and, together, equal exactly where `key <=> key` is true."""
    zero = _ZERO.get(type(key.type))
    if zero is None:
        raise UnsupportedPlan("expression EqualNullSafe", f"as a key of type {key.type.simpleString()}")
    filled = Call(key.type, "Coalesce", (key, Literal(key.type, zero)))
    return filled, Call(T.BooleanType(), "IsNull", (key,))


def _swapped(lower: PlanLowering, joined: Lowered, width: int) -> Lowered:
    """The columns after the first `width`, then those."""
    order = [*range(width, len(joined.ids)), *range(width)]
    exprs = [Column(joined.schema[i].type, i) for i in order]
    return lower.project(joined, exprs, [joined.schema[i].name for i in order], [joined.ids[i] for i in order])
