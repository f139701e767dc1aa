"""Lowering of higher-order functions.

Calls have the array or map (for `ZipWith` and `MapZipWith` both) and then the lambda's body as arguments; the option
`variables` has the levels of the lambda's variables. `ArrayAggregate(array, zero, merge, finish)` has `finish`, the
variable of the last, too. `ArrayExists` and `ArrayForAll` have `three_valued`. `ArraySortNullsLast(array)` is
array_sort without a comparator of one's own. What makes maps has `last_wins`, see `collections`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal, Variable
from headway.frontend.expressions.collections import dedup_option, map_type
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree

Levels = tuple[int, ...]


def body(tree: Tree, lowering: Lowering) -> tuple[Expr, tuple[Variable, ...]]:
    """A lambda's body, and its variables."""
    first = sum(isinstance(known, Variable) for known in lowering.columns.values())
    arguments = [tree.children[at] for at in tree.fields["arguments"]]
    variables = tuple(Variable(spark_type(a.fields["dataType"]), first + i) for i, a in enumerate(arguments))
    ids = [argument.fields["exprId"]["id"] for argument in arguments]
    inside = replace(lowering, columns={**lowering.columns, **dict(zip(ids, variables, strict=True))})
    return inside(tree.child("function")), variables


def _levels(variables: tuple[Variable, ...]) -> tuple[str, Levels]:
    return ("variables", tuple(variable.level for variable in variables))


@lowers("NamedLambdaVariable")
def _variable(tree: Tree, lowering: Lowering) -> Expr:
    return lowering.columns[tree.fields["exprId"]["id"]]


def _lowers_over(result: Callable[[Expr, Expr], T.DataType], *names: str, makes_map: bool = False) -> None:
    """Register functions of one collection and a lambda; `result` gives the type from those of both."""

    @lowers(*names)
    def _function(tree: Tree, lowering: Lowering) -> Expr:
        over = lowering(tree.children[0])
        inside, variables = body(tree.children[1], lowering)
        options = (_levels(variables), *((dedup_option(),) if makes_map else ()))
        return Call(result(over, inside), tree.name, (over, inside), options)


_lowers_over(lambda over, inside: T.ArrayType(inside.type), "ArrayTransform")
_lowers_over(lambda over, inside: over.type, "ArrayFilter", "MapFilter")
_lowers_over(lambda over, inside: T.MapType(inside.type, map_type(over).valueType), "TransformKeys", makes_map=True)
_lowers_over(lambda over, inside: T.MapType(map_type(over).keyType, inside.type), "TransformValues")


@lowers("ArrayExists", "ArrayForAll")
def _quantified(tree: Tree, lowering: Lowering) -> Expr:
    over = lowering(tree.children[0])
    inside, variables = body(tree.children[1], lowering)
    options = (_levels(variables), ("three_valued", tree.fields.get("followThreeValuedLogic", True)))
    return Call(T.BooleanType(), tree.name, (over, inside), options)


@lowers("ArrayAggregate")
def _aggregate(tree: Tree, lowering: Lowering) -> Expr:
    over, zero = lowering(tree.children[0]), lowering(tree.children[1])
    merge, variables = body(tree.children[2], lowering)
    finish, last = body(tree.children[3], lowering)
    options = (_levels(variables), ("finish", _levels(last)[1]))
    return Call(finish.type, tree.name, (over, zero, merge, finish), options)


@lowers("ZipWith")
def _zip_with(tree: Tree, lowering: Lowering) -> Expr:
    left, right = (lowering(child) for child in tree.children[:2])
    inside, variables = body(tree.children[2], lowering)
    return Call(T.ArrayType(inside.type), tree.name, (left, right, inside), (_levels(variables),))


@lowers("MapZipWith")
def _map_zip_with(tree: Tree, lowering: Lowering) -> Expr:
    left, right = (lowering(child) for child in tree.children[:2])
    inside, variables = body(tree.children[2], lowering)
    kind = T.MapType(map_type(left).keyType, inside.type)
    return Call(kind, tree.name, (left, right, inside), (_levels(variables),))


@lowers("ArraySort")
def _sort(tree: Tree, lowering: Lowering) -> Expr:
    over = lowering(tree.children[0])
    inside, variables = body(tree.children[1], lowering)
    if inside == _natural_order(*variables):
        return Call(over.type, "ArraySortNullsLast", (over,))
    return Call(over.type, tree.name, (over, inside), (_levels(variables),))


def _natural_order(left: Variable, right: Variable) -> Expr:
    """The comparator that analysis writes where the user gave none."""
    boolean, integer = T.BooleanType(), T.IntegerType()

    def number(value: int) -> Expr:
        return Literal(integer, value)

    def choose(condition: Expr, then: int, otherwise: Expr) -> Expr:
        return Call(integer, "If", (condition, number(then), otherwise))

    no_left, no_right = (Call(boolean, "IsNull", (side,)) for side in (left, right))
    greater = choose(Call(boolean, "GreaterThan", (left, right)), 1, number(0))
    less = choose(Call(boolean, "LessThan", (left, right)), -1, greater)
    return choose(Call(boolean, "And", (no_left, no_right)), 0, choose(no_left, 1, choose(no_right, -1, less)))
