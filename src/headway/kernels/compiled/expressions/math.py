"""Compiled mathematical functions whose result is the same on every machine.

Exponentials, logarithms and the like are not here: their last bits depend on the library that computes them, and a
query must not change its answers when it changes over.
"""

from __future__ import annotations

import math

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.operands import operands, strict
from headway.kernels.compiled.values import AnyValue, NotCompilable, is_float, storage

_EXACT = {
    "Sqrt": "np.sqrt({0})",
    "Rint": "np.rint({0})",
    "Signum": "signum({0})",
    "ToDegrees": f"{{0}} * {180.0 / math.pi!r}",
    "ToRadians": f"{{0}} * {math.pi / 180.0!r}",
}


@compiles(*_EXACT)
def _exact(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    if storage(call.args[0].type) != "f64":
        raise NotCompilable(f"{call.function} of {call.args[0].type.simpleString()} has no compiled form")
    (value,), null = operands(call.args, emitter, scope)
    return strict(_EXACT[call.function].format(value), null, emitter)


@compiles("Ceil", "Floor")
def _whole(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    """A long; the far away becomes the nearest long, as in Java."""
    (value,), null = operands(call.args, emitter, scope)
    if not is_float(call.args[0].type):
        storage(call.args[0].type)
        return strict(value, null, emitter)
    return strict(f"java_long(np.{call.function.lower()}({value}))", null, emitter)
