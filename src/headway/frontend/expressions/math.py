"""Lowering of mathematical functions and hashes.

Calls have Catalyst's children as arguments, but for these: `Round`, `BRound`, `RoundFloor` and `RoundCeil` have the
option `scale` instead of their second, and the first two the option `ansi`; `XxHash64` and `Murmur3Hash` have the
option `seed`; `Conv`, `Floor` and `Ceil` have the option `ansi`.
"""

from __future__ import annotations

import math

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant, lowers_all
from headway.frontend.tree import Tree

_MOST_DIGITS = 38

lowers_all(
    T.DoubleType(),
    *("Sqrt", "Cbrt", "Exp", "Expm1", "Log", "Log10", "Log2", "Log1p", "Logarithm", "Pow", "Hypot", "Atan2", "Rint"),
    *(
        "Sin",
        "Cos",
        "Tan",
        "Cot",
        "Sec",
        "Csc",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Tanh",
        "Asinh",
        "Acosh",
        "Atanh",
    ),
    *("Signum", "ToDegrees", "ToRadians"),
)
lowers_all(T.LongType(), "Factorial")
lowers_all(T.StringType(), "Bin")


@lowers("Pi", "EulerNumber")
def _number(tree: Tree, lowering: Lowering) -> Expr:
    return Literal(T.DoubleType(), math.pi if tree.name == "Pi" else math.e)


@lowers("WidthBucket")
def _width_bucket(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    if not isinstance(args[0].type, T.DoubleType):
        raise UnsupportedPlan(f"expression WidthBucket of {args[0].type.simpleString()}")
    return Call(T.LongType(), tree.name, args)


@lowers("Conv")
def _conv(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.StringType(), "Conv", arguments(tree, lowering), (("ansi", tree.fields["ansiEnabled"]),))


@lowers("XxHash64")
def _xxhash64(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.LongType(), tree.name, arguments(tree, lowering), (("seed", tree.fields["seed"]),))


@lowers("Murmur3Hash")
def _murmur3(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.IntegerType(), tree.name, arguments(tree, lowering), (("seed", tree.fields["seed"]),))


@lowers("Floor", "Ceil")
def _whole(tree: Tree, lowering: Lowering) -> Expr:
    (argument,) = arguments(tree, lowering)
    result: T.DataType = T.LongType()
    if isinstance(argument.type, T.DecimalType):
        # One more digit before the point, since 9.5 may become 10; Spark gives none back for a scale of 0.
        precision, scale = argument.type.precision, argument.type.scale
        result = T.DecimalType(min(precision - scale + 1, _MOST_DIGITS), 0) if scale else argument.type
    return Call(result, tree.name, (argument,), (("ansi", tree.fields["failOnError"]),))


@lowers("Round", "BRound")
def _round(tree: Tree, lowering: Lowering) -> Expr:
    argument, scale = arguments(tree, lowering)
    places = _places(tree, scale)
    options = (("scale", places), ("ansi", tree.fields["ansiEnabled"]))
    return Call(_rounded_type(argument.type, places), tree.name, (argument,), options)


@lowers("RoundFloor", "RoundCeil")
def _round_toward(tree: Tree, lowering: Lowering) -> Expr:
    argument, scale = arguments(tree, lowering)
    places = _places(tree, scale)
    return Call(_rounded_type(argument.type, places), tree.name, (argument,), (("scale", places),))


def _places(tree: Tree, scale: Expr) -> int:
    places = constant(tree, "scale", scale)
    if places is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its scale is null")
    return int(places)


def _rounded_type(kind: T.DataType, places: int) -> T.DataType:
    """A decimal keeps the digits that may remain before the point, with one more for the carry."""
    if not isinstance(kind, T.DecimalType):
        return kind
    before = kind.precision - kind.scale + 1
    if places < 0:
        return T.DecimalType(min(max(before, -places + 1), _MOST_DIGITS), 0)
    scale = min(places, kind.scale)
    return T.DecimalType(min(before + scale, _MOST_DIGITS), scale)
