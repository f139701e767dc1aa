"""Compiled arithmetic: Java's, which wraps, or in ANSI mode fails, where a result is out of its type's range."""

from __future__ import annotations

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.values import WIDTHS, AnyValue, Value, both, either, is_float, negate

_OPERATORS = {"Add": ("+", "add"), "Subtract": ("-", "sub"), "Multiply": ("*", "mul")}


@compiles(*_OPERATORS)
def _binary(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    left, right = (emitter.scalar(arg, scope) for arg in call.args)
    sign, name = _OPERATORS[call.function]
    null = emitter.let(either(left.null, right.null))
    code = f"{left.code} {sign} {right.code}"
    if is_float(call.type):
        return Value(emitter.let(code), null)
    overflow = f"{name}_overflows({left.code}, {right.code})"
    return bounded(call, code, overflow, null, emitter)


def bounded(call: Call, code: str, overflow: str, null: str, emitter: Emitter) -> Value:
    """An integral result within its type's range; `overflow` tells whether it leaves that of a long."""
    width = WIDTHS[type(call.type)]
    if width == 64:
        if dict(call.options).get("ansi"):
            emitter.fail_if(both(overflow, negate(null)))
        return Value(emitter.let(code), null)
    wide = emitter.let(code)
    wrapped = emitter.let(f"wrap{width}({wide})")
    if dict(call.options).get("ansi"):
        emitter.fail_if(both(f"({wide} != {wrapped})", negate(null)))
    return Value(wrapped, null)
