"""Compiled arithmetic: Java's, which wraps, or in ANSI mode fails, where a result is out of its type's range."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.comparison import compared
from headway.kernels.compiled.expressions.operands import is_ansi, operands, strict
from headway.kernels.compiled.values import (
    WIDTHS,
    AnyValue,
    NotCompilable,
    Value,
    both,
    either,
    is_float,
    negate,
    storage,
)

_OPERATORS = {"Add": ("+", "add"), "Subtract": ("-", "sub"), "Multiply": ("*", "mul")}


@compiles(*_OPERATORS)
def _binary(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (left, right), null = operands(call.args, emitter, scope)
    sign, name = _OPERATORS[call.function]
    if is_float(call.type):
        return strict(f"{left} {sign} {right}", null, emitter)
    return _bounded(call, f"{left} {sign} {right}", f"{name}_overflows({left}, {right})", null, emitter)


def _bounded(call: Call, code: str, overflow: str, null: str, emitter: Emitter) -> Value:
    """An integral result within its type's range; `overflow` tells whether it leaves that of a long."""
    width = WIDTHS.get(type(call.type))
    if width is None:
        raise NotCompilable(f"expression {call.function} of type {call.type.simpleString()} has no compiled form")
    if width == 64:
        if is_ansi(call):
            emitter.fail_if(both(overflow, negate(null)))
        return strict(code, null, emitter)
    wide = emitter.let(code)
    wrapped = emitter.let(f"wrap{width}({wide})")
    if is_ansi(call):
        emitter.fail_if(both(f"({wide} != {wrapped})", negate(null)))
    return Value(wrapped, null)


@compiles("TryAdd", "TrySubtract", "TryMultiply")
def _try(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (left, right), null = operands(call.args, emitter, scope)
    sign, name = _OPERATORS[call.function.removeprefix("Try")]
    width = WIDTHS[type(call.type)]
    if width == 64:
        overflow = f"{name}_overflows({left}, {right})"
        return Value(emitter.let(f"{left} {sign} {right}"), emitter.let(either(null, overflow)))
    wide = emitter.let(f"{left} {sign} {right}")
    return Value(wide, emitter.let(either(null, f"({wide} != wrap{width}({wide}))")))


@compiles("UnaryMinus")
def _minus(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (value,), null = operands(call.args, emitter, scope)
    if is_float(call.type):
        return strict(f"-{value}", null, emitter)
    return _bounded(call, f"-{value}", f"({value} == INT64_MIN)", null, emitter)


@compiles("Abs")
def _abs(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (value,), null = operands(call.args, emitter, scope)
    if is_float(call.type):
        return strict(f"abs({value})", null, emitter)
    return _bounded(call, f"(-{value} if {value} < 0 else {value})", f"({value} == INT64_MIN)", null, emitter)


def _divided(call: Call, emitter: Emitter, scope: Scope) -> tuple[str, str, str]:
    """Dividend, divisor and nullness; the divisor is looked at first, and zero fails or gives null."""
    (right, left), null = operands(call.args[::-1], emitter, scope)
    # Most divisors are constants; a filter by a remainder that cannot fail need not branch.
    zero = "False" if _is_constant_other_than(0, call.args[1]) else f"({right} == 0)"
    if is_ansi(call):
        emitter.fail_if(both(zero, negate(null)))
        return left, right, null
    return left, right, emitter.let(either(null, zero))


def _is_constant_other_than(value: int, expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is not None and expr.value != value


@compiles("Divide")
def _divide(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    storage(call.type)
    left, right, null = _divided(call, emitter, scope)
    return strict(f"{left} / {right}", null, emitter)


@compiles("IntegralDivide")
def _integral_divide(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    storage(call.args[0].type)
    left, right, null = _divided(call, emitter, scope)
    if is_ansi(call) and not _is_constant_other_than(-1, call.args[1]):
        overflow = f"(({left} == INT64_MIN) & ({right} == -1))"
        emitter.fail_if(both(overflow, negate(null)))
    return strict(f"div({left}, {right})", null, emitter)


@compiles("Remainder")
def _remainder(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    left, right, null = _divided(call, emitter, scope)
    return strict(_rest(call.type, left, right), null, emitter)


@compiles("Pmod")
def _positive_remainder(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    left, right, null = _divided(call, emitter, scope)
    rest = emitter.let(_rest(call.type, left, right))
    raised = f"wrap32({rest} + {right})" if isinstance(call.type, T.IntegerType) else f"({rest} + {right})"
    return strict(f"{_rest(call.type, raised, right)} if {rest} < 0 else {rest}", null, emitter)


def _rest(spark_type: T.DataType, left: str, right: str) -> str:
    kind = storage(spark_type)
    if kind == "f64":
        return f"fmod({left}, {right})"
    # Exact in double precision, and the result is a float again.
    return f"f32(fmod(f64({left}), f64({right})))" if kind == "f32" else f"rem({left}, {right})"


@compiles("Greatest", "Least")
def _extreme(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    """The greatest or least of the arguments that are not null."""
    if storage(call.type) == "bit":
        raise NotCompilable(f"{call.function} of booleans has no compiled form")
    operator = ">" if call.function == "Greatest" else "<"
    best = emitter.scalar(call.args[0], scope)
    for arg in call.args[1:]:
        other = emitter.scalar(arg, scope)
        better = either(compared(operator, other.code, best.code, is_float(call.type)), best.null)
        wins = both(better, negate(other.null))
        code = other.code if wins == "True" else f"{other.code} if {wins} else {best.code}"
        best = Value(emitter.let(code), emitter.let(both(best.null, other.null)))
    return best
