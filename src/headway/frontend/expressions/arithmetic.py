"""Lowering of arithmetic on numbers.

Calls, all with the option `ansi` (an overflow or a division by zero is an error; else the integer wraps around, the
decimal and the quotient are null): `Add`, `Subtract`, `Multiply`, `Divide`, `IntegralDivide`, `Remainder`, `Pmod` of
two numbers of one type, or of two decimals of any precision and scale; `UnaryMinus` and `Abs` of one.
`TryAdd`, `TrySubtract`, `TryMultiply` of two integers have no option: an overflow is null.
`UnscaledValue(decimal)` is a long; `MakeDecimal(long)` has the option `ansi`.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.intervals import INTERVALS, combined
from headway.frontend.expressions.modes import eval_mode
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree

_MAX_PRECISION = 38
_MIN_ADJUSTED_SCALE = 6


@lowers("Add", "Subtract", "Multiply", "Divide", "IntegralDivide", "Remainder", "Pmod")
def _binary(tree: Tree, lowering: Lowering) -> Expr:
    left, right = lowering(tree.child("left")), lowering(tree.child("right"))
    if tree.name in ("Add", "Subtract") and isinstance(left.type, INTERVALS):
        return combined(tree, (left, right))
    mode = eval_mode(tree, lowering)
    result = _result_type(tree, left.type, right.type)
    if mode == "TRY" and tree.name in ("Add", "Subtract", "Multiply") and isinstance(result, T.IntegralType):
        return Call(result, f"Try{tree.name}", (left, right))
    return Call(result, tree.name, (left, right), (("ansi", mode == "ANSI"),))


@lowers("UnaryMinus", "Abs")
def _unary(tree: Tree, lowering: Lowering) -> Expr:
    child = lowering(tree.children[0])
    if isinstance(child.type, INTERVALS):
        return combined(tree, (child,))
    _require_number(tree, child.type)
    return Call(child.type, tree.name, (child,), (("ansi", eval_mode(tree, lowering) == "ANSI"),))


@lowers("UnscaledValue")
def _unscaled(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.LongType(), tree.name, (lowering(tree.children[0]),))


@lowers("MakeDecimal")
def _make_decimal(tree: Tree, lowering: Lowering) -> Expr:
    result = T.DecimalType(tree.fields["precision"], tree.fields["scale"])
    ansi = not tree.fields["nullOnOverflow"]
    return Call(result, tree.name, (lowering(tree.children[0]),), (("ansi", ansi),))


def _result_type(tree: Tree, left: T.DataType, right: T.DataType) -> T.DataType:
    _require_number(tree, left)
    _require_number(tree, right)
    if tree.name == "IntegralDivide":
        return T.LongType()
    if not isinstance(left, T.DecimalType):
        return left
    if tree.fields.get("allowPrecisionLoss") is False:
        raise UnsupportedPlan(f"expression {tree.name}", "decimal operations without precision loss are not supported")
    assert isinstance(right, T.DecimalType)
    return _DECIMAL_RESULTS[tree.name](left, right)


def _require_number(tree: Tree, operand: T.DataType) -> None:
    if not isinstance(operand, T.NumericType):
        raise UnsupportedPlan(f"expression {tree.name} of {operand.simpleString()}")


def _sum_type(left: T.DecimalType, right: T.DecimalType) -> T.DecimalType:
    scale = max(left.scale, right.scale)
    return adjusted(max(left.precision - left.scale, right.precision - right.scale) + scale + 1, scale)


def _product_type(left: T.DecimalType, right: T.DecimalType) -> T.DecimalType:
    return adjusted(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient_type(left: T.DecimalType, right: T.DecimalType) -> T.DecimalType:
    scale = max(_MIN_ADJUSTED_SCALE, left.scale + right.precision + 1)
    return adjusted(left.precision - left.scale + right.scale + scale, scale)


def _remainder_type(left: T.DecimalType, right: T.DecimalType) -> T.DecimalType:
    scale = max(left.scale, right.scale)
    return adjusted(min(left.precision - left.scale, right.precision - right.scale) + scale, scale)


_DECIMAL_RESULTS: dict[str, Callable[[T.DecimalType, T.DecimalType], T.DecimalType]] = {
    "Add": _sum_type,
    "Subtract": _sum_type,
    "Multiply": _product_type,
    "Divide": _quotient_type,
    "Remainder": _remainder_type,
    "Pmod": _remainder_type,
}


def adjusted(precision: int, scale: int) -> T.DecimalType:
    """The decimal type that stands for one of `precision` digits: where these are too many, digits after the point go
    first, though at least six of them stay.

    >>> adjusted(40, 10)
    DecimalType(38,8)
    """
    if precision <= _MAX_PRECISION:
        return T.DecimalType(precision, scale)
    kept = max(_MAX_PRECISION - (precision - scale), min(scale, _MIN_ADJUSTED_SCALE))
    return T.DecimalType(_MAX_PRECISION, kept)
