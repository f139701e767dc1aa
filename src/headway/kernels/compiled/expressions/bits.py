"""Compiled operations on bits; shifts take their distance modulo the width, as Java's do."""

from __future__ import annotations

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.operands import operands, strict
from headway.kernels.compiled.values import WIDTHS, AnyValue, NotCompilable

_OPERATORS = {"BitwiseAnd": "&", "BitwiseOr": "|", "BitwiseXor": "^"}


@compiles(*_OPERATORS)
def _bitwise(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (left, right), null = operands(call.args, emitter, scope)
    return strict(f"{left} {_OPERATORS[call.function]} {right}", null, emitter)


@compiles("BitwiseNot")
def _not(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (value,), null = operands(call.args, emitter, scope)
    return strict(f"~{value}", null, emitter)


@compiles("ShiftLeft", "ShiftRight", "ShiftRightUnsigned")
def _shift(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    width = WIDTHS.get(type(call.type))
    if width not in (32, 64):
        raise NotCompilable(f"{call.function} of {call.type.simpleString()} has no compiled form")
    (value, distance), null = operands(call.args, emitter, scope)
    by = emitter.let(f"{distance} & {width - 1}")
    if call.function == "ShiftRight":
        return strict(f"{value} >> {by}", null, emitter)
    if call.function == "ShiftLeft":
        code = f"{value} << {by}"
    else:
        code = f"unsigned_shift({value if width == 64 else f'({value} & 0xFFFFFFFF)'}, {by})"
    return strict(code if width == 64 else f"wrap32({code})", null, emitter)
