"""Lowering of comparisons.

Calls, without options: `EqualTo`, `EqualNullSafe` of two values of one type; `LessThan`, `LessThanOrEqual`,
`GreaterThan`, `GreaterThanOrEqual` likewise; `Greatest` and `Least` of two or more values of one type.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


@lowers("EqualTo", "EqualNullSafe")
def _equality(tree: Tree, lowering: Lowering) -> Expr:
    left, right = lowering(tree.child("left")), lowering(tree.child("right"))
    arrow_type(left.type)
    return Call(T.BooleanType(), tree.name, (left, right))


@lowers("LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual")
def _order(tree: Tree, lowering: Lowering) -> Expr:
    left, right = lowering(tree.child("left")), lowering(tree.child("right"))
    _require_order(tree, left.type)
    return Call(T.BooleanType(), tree.name, (left, right))


@lowers("Greatest", "Least")
def _extreme(tree: Tree, lowering: Lowering) -> Expr:
    args = tuple(lowering(child) for child in tree.children)
    _require_order(tree, args[0].type)
    return Call(args[0].type, tree.name, args)


def _require_order(tree: Tree, operand: T.DataType) -> None:
    arrow_type(operand)
    if isinstance(operand, T.MapType):
        raise UnsupportedPlan(f"expression {tree.name} of {operand.simpleString()}")
