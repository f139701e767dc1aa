"""Compiled boolean logic with nulls, and the expressions that choose between others.

1. An operand that may fail is computed only for rows that reach it; any other is computed always, since a branch costs
   more than most operands do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.values import AnyValue, NotCompilable, Value, both, either, is_float, negate, zero


def when(condition: str, compute: Callable[[], Value], spark_type: T.DataType, emitter: Emitter) -> Value:
    """A value computed where `condition` holds, if it may fail; null elsewhere then."""
    with emitter.attempt() as attempt:
        value = compute()
        if value.null == "True":
            value = Value(zero(spark_type), "True")
    if not attempt.raises:
        attempt.keep()
        return value
    result, null = emitter.name("x"), emitter.name("z")
    emitter.line(f"{result}, {null} = {zero(spark_type)}, True")
    attempt.keep_under(f"if {condition}:", [f"{result}, {null} = {value.code}, {value.null}"])
    return Value(result, null)


@compiles("And")
def _and(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    left = emitter.scalar(call.args[0], scope)
    # False and anything is False: the right side is reached unless the left is False for sure.
    reached = either(left.code, left.null)
    right = when(reached, lambda: emitter.scalar(call.args[1], scope), call.type, emitter)
    false = either(both(negate(left.code), negate(left.null)), both(negate(right.code), negate(right.null)))
    null = both(either(left.null, right.null), negate(false))
    return Value(emitter.let(both(left.code, right.code)), emitter.let(null))


@compiles("Or")
def _or(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    left = emitter.scalar(call.args[0], scope)
    reached = either(negate(left.code), left.null)
    right = when(reached, lambda: emitter.scalar(call.args[1], scope), call.type, emitter)
    true_left, true_right = both(left.code, negate(left.null)), both(right.code, negate(right.null))
    true = emitter.let(either(true_left, true_right))
    return Value(true, emitter.let(both(either(left.null, right.null), negate(true))))


@compiles("Not")
def _not(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    value = emitter.scalar(call.args[0], scope)
    return Value(emitter.let(negate(value.code)), value.null)


@compiles("IsNull")
def _is_null(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return Value(emitter.null(call.args[0], scope))


@compiles("IsNotNull")
def _is_not_null(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return Value(emitter.let(negate(emitter.null(call.args[0], scope))))


@compiles("IsNaN")
def _is_nan(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    value = emitter.scalar(call.args[0], scope)
    return Value(emitter.let(both(f"({value.code} != {value.code})", negate(value.null))))


@compiles("NaNvl")
def _nan_or(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    test = Call(T.BooleanType(), "IsNaN", call.args[:1])
    return _choose([(test, call.args[1])], call.args[0], call.type, emitter, scope)


@compiles("AtLeastNNonNulls")
def _at_least(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    there = ["i64(0)"]
    for arg in call.args:
        value = emitter.value(arg, scope)
        number = f"({value.code} == {value.code})" if isinstance(value, Value) and is_float(arg.type) else "True"
        there.append(f"i64({both(number, negate(value.null))})")
    return Value(emitter.let(f"({' + '.join(there)}) >= {emitter.parameters.integer(call.option('n'))}"))


@compiles("Coalesce")
def _coalesce(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    first = Value(zero(call.type), "True")
    for arg in call.args:
        if first.null == "False":
            break
        other = when(first.null, partial(emitter.scalar, arg, scope), call.type, emitter)
        code = other.code if first.null == "True" else f"{other.code} if {first.null} else {first.code}"
        first = Value(emitter.let(code), emitter.let(both(first.null, other.null)))
    return first


@compiles("If")
def _if(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return _choose([(call.args[0], call.args[1])], call.args[2], call.type, emitter, scope)


@compiles("CaseWhen")
def _case_when(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    pairs = list(zip(call.args[0::2], call.args[1::2], strict=False))
    otherwise = call.args[-1] if len(call.args) % 2 else None
    return _choose(pairs, otherwise, call.type, emitter, scope)


def _choose(
    pairs: list[tuple[Expr, Expr]], otherwise: Expr | None, spark_type: T.DataType, emitter: Emitter, scope: Scope
) -> Value:
    """The value of the first pair whose condition is true."""
    if isinstance(spark_type, T.StructType):
        raise NotCompilable("a choice between structs has no compiled form")
    if not pairs:
        return emitter.scalar(otherwise, scope) if otherwise is not None else Value(zero(spark_type), "True")
    condition = emitter.scalar(pairs[0][0], scope)
    true = emitter.let(both(condition.code, negate(condition.null)))
    chosen = when(true, lambda: emitter.scalar(pairs[0][1], scope), spark_type, emitter)
    rest = when(negate(true), lambda: _choose(pairs[1:], otherwise, spark_type, emitter, scope), spark_type, emitter)
    code = f"{chosen.code} if {true} else {rest.code}"
    if "False" == chosen.null == rest.null:
        return Value(emitter.let(code), "False")
    null = either(both(true, chosen.null), both(negate(true), rest.null))
    return Value(emitter.let(code), emitter.let(null))
