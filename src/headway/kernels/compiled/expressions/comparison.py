"""Compiled comparisons, in Spark's order: NaN equals itself and is greater than every other number."""

from __future__ import annotations

from functools import reduce

import numpy as np

from headway.dataflow.expr import Call, Expr, Literal
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.operands import operands, strict
from headway.kernels.compiled.values import AnyValue, Value, both, either, is_float, negate, storage

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
    (left, right), null = operands(call.args, emitter, scope)
    if storage(call.args[0].type) == "bit":
        left, right = f"i64({left})", f"i64({right})"
    return strict(compared(_OPERATORS[call.function], left, right, is_float(call.args[0].type)), null, emitter)


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
    constants = [other.value for other in others if isinstance(other, Literal)]
    if len(constants) == len(others) and storage(value.type).startswith("i"):
        return _among(value, constants, emitter, scope)
    equal = [Call(call.type, "EqualTo", (value, other)) for other in others]
    return emitter.value(reduce(lambda left, right: Call(call.type, "Or", (left, right)), equal), scope)


def _among(expr: Expr, values: list[object], emitter: Emitter, scope: Scope) -> Value:
    """Whether the value is one of the constants; null if it is none and one of them is null."""
    value = emitter.scalar(expr, scope)
    wanted = np.unique(np.array([v for v in values if v is not None], np.int64))
    array, count = emitter.parameters.array(wanted), emitter.parameters.integer(len(wanted))
    found = emitter.let(f"contains({array}, {count}, {value.code})")
    null = value.null if None not in values else either(value.null, negate(found))
    return Value(found, emitter.let(null))
