"""Casts: which function casts which type to which, and what becomes of rows that cannot be cast.

1. A cast function gives the column and the rows it could not cast; whether those raise or are null is decided here.
2. In ANSI mode and in `try_cast` bad rows are those that Spark's ANSI rules refuse; else those that become null.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.kernels.expressions import cast_decimals, cast_numbers, cast_parsing, cast_printing, cast_times
from headway.kernels.expressions.cast_nested import cast_nested
from headway.kernels.expressions.cast_rules import CastFunction, Casting
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import fail_at, only, valid

_FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    **cast_numbers.FUNCTIONS,
    **cast_decimals.FUNCTIONS,
    **cast_parsing.FUNCTIONS,
    **cast_printing.FUNCTIONS,
    **cast_times.FUNCTIONS,
}


@evaluates("Cast", "TryCast")
def _cast(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    (source,) = args
    target = arrow_type(call.type)
    if source.type == target:
        return source
    if pa.types.is_null(source.type):
        return pa.nulls(len(source), target)
    tries = call.function == "TryCast"
    if pa.types.is_nested(source.type):
        return cast_nested(call, source, _cast)
    casting = Casting(call.args[0].type, call.type, call.option("time_zone"), tries or call.option("ansi"))
    function = _FUNCTIONS.get((_kind(source.type), _kind(target)))
    if function is None:
        raise UnsupportedPlan(f"cast of {casting.source.simpleString()} to {casting.target.simpleString()}")
    result = function(source, casting)
    if result.bad is None:
        return result.values
    bad = result.bad & valid(source)
    if (casting.ansi or result.fails) and not tries:
        fail_at(bad, lambda row: casting.message(result.error, source[row]))
    return only(result.values, ~bad)


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind):
        return "integral"
    if pa.types.is_floating(kind):
        return "fractional"
    if pa.types.is_decimal(kind):
        return "decimal"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return {pa.bool_(): "boolean", pa.string(): "string", pa.binary(): "binary", pa.date32(): "date"}[kind]
