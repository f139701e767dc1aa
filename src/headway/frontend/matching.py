"""What makes rows of two sides of a join match: the equalities between them, and all else that the condition says.

An equality between the sides is a key; `<=>` as Spark itself does it: two keys, one of which never is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import UnsupportedPlan
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Columns, Expressions, PlanLowering, expr_id
from headway.frontend.tree import Tree

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
class Matching:
    """The keys of a join's condition, each over its own side, and the other conjuncts."""

    left: Expressions
    right: Expressions
    left_keys: list[Expr] = field(default_factory=list)
    right_keys: list[Expr] = field(default_factory=list)
    others: list[Tree] = field(default_factory=list)

    def add(self, conjunct: Tree) -> None:
        sides = self._sides(conjunct) if conjunct.name in ("EqualTo", "EqualNullSafe") else None
        if sides is None:
            self.others.append(conjunct)
            return
        left, right = self.left(sides[0]), self.right(sides[1])
        safe = conjunct.name == "EqualNullSafe"
        self.left_keys.extend(_null_safe(left) if safe else (left,))
        self.right_keys.extend(_null_safe(right) if safe else (right,))

    def _sides(self, equality: Tree) -> tuple[Tree, Tree] | None:
        """The left and the right side of an equality; None if it is not one between the two."""
        one, other = equality.children
        for left, right in ((one, other), (other, one)):
            if over(left, self.left) and over(right, self.right):
                return left, right
        return None


def matching(node: PlanNode, lower: PlanLowering, left: Columns, right: Columns) -> Matching:
    """What the condition of the join `node` says."""
    found = Matching(lower.expressions(left), lower.expressions(right))
    if "condition" in node.tree.fields:
        for conjunct in _conjuncts(node.expression("condition")):
            found.add(conjunct)
    return found


def all_of(conditions: Iterable[Expr]) -> Expr | None:
    """One condition for all, None if there are none."""
    exprs = list(conditions)
    return reduce(lambda a, b: Call(T.BooleanType(), "And", (a, b)), exprs) if exprs else None


def over(tree: Tree, expressions: Expressions) -> bool:
    """Whether `tree` reads columns, and only those of `expressions`."""
    read = {expr_id(node) for node in tree.walk() if node.name == "AttributeReference"}
    return bool(read) and read <= expressions.columns.keys()


def _conjuncts(tree: Tree) -> Iterator[Tree]:
    if tree.name != "And":
        yield tree
        return
    for child in tree.children:
        yield from _conjuncts(child)


def _null_safe(key: Expr) -> tuple[Expr, Expr]:
    """Two keys that are never null and, together, equal exactly where `key <=> key` is true."""
    zero = _ZERO.get(type(key.type))
    if zero is None:
        raise UnsupportedPlan("expression EqualNullSafe", f"as a key of type {key.type.simpleString()}")
    filled = Call(key.type, "Coalesce", (key, Literal(key.type, zero)))
    return filled, Call(T.BooleanType(), "IsNull", (key,))
