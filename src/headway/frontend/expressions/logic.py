"""Lowering of boolean logic, of tests for null and NaN, and of conditionals.

Calls, without options unless said: `And`, `Or`, `Not`; `IsNull`, `IsNotNull`, `IsNaN`; `AtLeastNNonNulls(values...)`
with option `n`; `In(value, candidates...)`, also for Catalyst's `InSet`; `Coalesce(values...)`; `If(condition, then,
else)`; `CaseWhen(condition, value, condition, value, ..., else)`, where there is always an else; `NaNvl(value, other)`;
`RaiseError(class, parameters)`, `TryEval(value)`: null where it fails.
"""

from __future__ import annotations

from decimal import Decimal

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


def _children(tree: Tree, lowering: Lowering) -> tuple[Expr, ...]:
    return tuple(lowering(child) for child in tree.children)


@lowers("And", "Or", "Not", "IsNull", "IsNotNull", "IsNaN", "In")
def _predicate(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.BooleanType(), tree.name, _children(tree, lowering))


@lowers("InSet")
def _in_set(tree: Tree, lowering: Lowering) -> Expr:
    value = lowering(tree.child("child"))
    if not tree.fields.get("hset"):
        raise UnsupportedPlan("expression InSet", "the plan does not tell its values")
    decimal = isinstance(value.type, T.DecimalType)
    values = [Decimal(v) if decimal and v is not None else v for v in tree.fields["hset"]]
    # Catalyst's set has no order of its own; one that depends on the values alone keeps equal plans equal.
    candidates = (Literal(value.type, v) for v in sorted(values, key=repr))
    return Call(T.BooleanType(), "In", (value, *candidates))


@lowers("AtLeastNNonNulls")
def _at_least(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.BooleanType(), tree.name, _children(tree, lowering), (("n", tree.fields["n"]),))


@lowers("Coalesce")
def _coalesce(tree: Tree, lowering: Lowering) -> Expr:
    values = _children(tree, lowering)
    return Call(_common(values), tree.name, values)


@lowers("If")
def _if(tree: Tree, lowering: Lowering) -> Expr:
    args = _children(tree, lowering)
    return Call(_common(args[1:]), tree.name, args)


@lowers("CaseWhen")
def _case(tree: Tree, lowering: Lowering) -> Expr:
    args = _children(tree, lowering)
    result = _common(args[1::2] + (args[-1:] if len(args) % 2 else ()))
    if len(args) % 2 == 0:
        args += (Literal(result, None),)
    return Call(result, tree.name, args)


@lowers("RaiseError")
def _raise(tree: Tree, lowering: Lowering) -> Expr:
    return Call(spark_type(tree.fields["dataType"]), tree.name, _children(tree, lowering))


@lowers("TryEval")
def _try(tree: Tree, lowering: Lowering) -> Expr:
    child = lowering(tree.children[0])
    return Call(child.type, tree.name, (child,))


@lowers("NaNvl")
def _nanvl(tree: Tree, lowering: Lowering) -> Expr:
    args = _children(tree, lowering)
    return Call(args[0].type, tree.name, args)


def _common(values: tuple[Expr, ...]) -> T.DataType:
    """The type of all `values`, which analysis has made the same but for nulls without a type."""
    known = [value.type for value in values if not isinstance(value.type, T.NullType)]
    result = known[0] if known else T.NullType()
    arrow_type(result)
    return result
