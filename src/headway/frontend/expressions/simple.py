"""Shared by the families of functions: lowering of a function whose arguments are its children, in order."""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


def lowers_all(result: T.DataType, *names: str) -> None:
    """Register classes whose result is always of type `result`, and that have no fields beside their children."""

    @lowers(*names)
    def _simple(tree: Tree, lowering: Lowering) -> Expr:
        return Call(result, tree.name, arguments(tree, lowering))


def arguments(tree: Tree, lowering: Lowering) -> tuple[Expr, ...]:
    """The children, lowered."""
    return tuple(map(lowering, tree.children))


def constant(tree: Tree, what: str, expr: Expr) -> Any:
    """The value of an argument that must be a literal."""
    if not isinstance(expr, Literal):
        raise UnsupportedPlan(f"expression {tree.name}", f"its {what} is not a constant")
    return expr.value


def zone_option(tree: Tree, lowering: Lowering) -> tuple[str, Any]:
    """The option `time_zone`: the expression's own, else the session's."""
    return ("time_zone", tree.fields.get("timeZoneId") or lowering.time_zone)
