"""Compiled comparisons, in Spark's order: NaN equals itself and is greater than every other number."""

from __future__ import annotations

import numpy as np

from headway.dataflow.expr import Call, Expr, Literal
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.values import AnyValue, NotCompilable, Value, both, either, is_float, negate, storage

_OPERATORS = {
    "EqualTo": "==",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}


def compared(operator: str, left: str, right: str, real: bool) -> str:
    """Source of a comparison of two values, neither null."""
    if not real:
        return f"({left} {operator} {right})"
    if operator == "==":
        return f"equal_floats({left}, {right})"
    if operator in (">", "<="):
        left, right = right, left
    less = f"less_floats({left}, {right})"
    return less if operator in ("<", ">") else f"(not {less})"


@compiles(*_OPERATORS)
def _compare(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    storage(call.args[0].type)
    left, right = (emitter.scalar(arg, scope) for arg in call.args)
    code = compared(_OPERATORS[call.function], left.code, right.code, is_float(call.args[0].type))
    return Value(emitter.let(code), emitter.let(either(left.null, right.null)))


@compiles("EqualNullSafe")
def _equal_null_safe(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    storage(call.args[0].type)
    left, right = (emitter.scalar(arg, scope) for arg in call.args)
    equal = compared("==", left.code, right.code, is_float(call.args[0].type))
    there = both(negate(left.null), negate(right.null))
    return Value(emitter.let(either(both(equal, there), both(left.null, right.null))))


@compiles("In")
def _in(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    value, *others = call.args
    if all(isinstance(other, Literal) for other in others):
        return _among(value, [other.value for other in others if isinstance(other, Literal)], emitter, scope)
    raise NotCompilable("In with values that are not constants has no compiled form")


def _among(expr: Expr, values: list[object], emitter: Emitter, scope: Scope) -> Value:
    """Whether the value is one of the constants; null if it is none and one of them is null."""
    kind = storage(expr.type)
    if kind == "bit" or is_float(expr.type):
        raise NotCompilable(f"In over values of type {expr.type.simpleString()} has no compiled form")
    value = emitter.scalar(expr, scope)
    wanted = np.unique(np.array([v for v in values if v is not None], np.int64))
    array, count = emitter.parameters.array(wanted), emitter.parameters.integer(len(wanted))
    found = emitter.let(f"contains({array}, {count}, {value.code})")
    null = value.null if None not in values else either(value.null, negate(found))
    return Value(found, emitter.let(null))
