"""Compiled time windows, structs, and what does not change a value."""

from __future__ import annotations

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.values import AnyValue, NotCompilable, Struct, Value, either, negate


@compiles("TimeWindow")
def _time_window(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return window(call, emitter, scope, emitter.parameters.integer(call.option("index")))


def window(call: Call, emitter: Emitter, scope: Scope, index: str) -> Struct:
    """The window that begins `index` slides before the last one that the time is in.

    That last one is kept from row to row: times come nearly in order, and a comparison is far cheaper than a division.
    """
    time = emitter.scalar(call.args[0], scope)
    duration, slide, offset = (emitter.parameters.integer(call.option(o)) for o in ("duration", "slide", "offset"))
    start, number = emitter.state("i64(0)", "w"), emitter.state("i64(0)", "q")
    emitter.preamble.append(f"{number} = floor_div(-{offset}, {slide}); {start} = {number} * {slide} + {offset}")
    if emitter.quick is not None:
        emitter.quick.begins(emitter)
        emitter.quick.windows.append((time, start, slide))
    with emitter.block(f"if seldom({_outside(time, start, slide)}):"):
        emitter.line(f"{number} = floor_div({time.code} - {offset}, {slide})")
        emitter.line(f"{start} = {number} * {slide} + {offset}")
        if emitter.quick is not None:
            emitter.line(f"{emitter.quick.near} = i64(0)")
    begin = emitter.let(f"{start} - {index} * {slide}")
    end = emitter.let(f"{begin} + {duration}")
    ordinal = emitter.let(f"{number} - {index}")
    # As in Spark, a null time has a window with null bounds; a filter then drops the row.
    return Struct((Value(begin, time.null), Value(end, time.null)), "False", ordinal, call.option("duration"))


def _outside(time: Value, start: str, slide: str) -> str:
    outside = f"not below({time.code} - {start}, {slide})"
    return outside if time.null == "False" else f"{negate(time.null)} and {outside}"


@compiles("GetStructField")
def _field(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    struct = emitter.value(call.args[0], scope)
    if not isinstance(struct, Struct):
        raise NotCompilable("a field of what is no struct has no compiled form")
    field = struct.fields[call.option("ordinal")]
    return Value(field.code, emitter.let(either(field.null, struct.null)))


@compiles("CreateNamedStruct")
def _struct(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return Struct(tuple(emitter.scalar(arg, scope) for arg in call.args))


@compiles("PreciseTimestampConversion")
def _same(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    return emitter.value(call.args[0], scope)
