"""What most compiled expressions have in common: operands that may fail, nulls that spread, ANSI mode."""

from __future__ import annotations

from functools import partial

from headway.dataflow.expr import Call, Expr
from headway.kernels.compiled.emitter import Emitter, Scope
from headway.kernels.compiled.expressions.logic import when
from headway.kernels.compiled.values import Value, either, negate


def is_ansi(call: Call) -> bool:
    """Whether the call fails where Spark in ANSI mode would."""
    return bool(dict(call.options).get("ansi", True))


def operands(exprs: tuple[Expr, ...], emitter: Emitter, scope: Scope) -> tuple[list[str], str]:
    """The values of a strict function's arguments, and whether one of them is null.

    As in Spark, after a null no further argument is computed, so it cannot fail.
    """
    values: list[Value] = []
    null = "False"
    for expr in exprs:
        value = when(negate(null), partial(emitter.scalar, expr, scope), expr.type, emitter)
        values.append(value)
        null = emitter.let(either(null, value.null))
    return [value.code for value in values], null


def strict(code: str, null: str, emitter: Emitter) -> Value:
    return Value(emitter.let(code), null)
