"""Compiled functions of dates and times; those that need a time zone other than UTC are left to Arrow."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.operands import operands, strict
from headway.kernels.compiled.values import AnyValue, NotCompilable, both, negate

UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00"})

_OF_DATES = {
    "Year": "year_of({0})",
    "Month": "month_of({0})",
    "Quarter": "((month_of({0}) + 2) // 3)",
    "DayOfMonth": "day_of({0})",
    "DayOfYear": "day_of_year({0})",
    "DayOfWeek": "(floor_mod({0} + 4, i64(7)) + 1)",
    "WeekDay": "floor_mod({0} + 3, i64(7))",
    "UnixDate": "{0}",
    "DateFromUnixDate": "{0}",
    "DateAdd": "wrap32({0} + {1})",
    "DateSub": "wrap32({0} - {1})",
    "DateDiff": "wrap32({0} - {1})",
}
_OF_TIMES = {
    "Hour": "floor_mod(floor_div({0}, i64(3600000000)), i64(24))",
    "Minute": "floor_mod(floor_div({0}, i64(60000000)), i64(60))",
    "Second": "floor_mod(floor_div({0}, i64(1000000)), i64(60))",
}
_OF_INSTANTS = {
    "UnixMicros": "{0}",
    "UnixMillis": "floor_div({0}, i64(1000))",
    "UnixSeconds": "floor_div({0}, i64(1000000))",
    "MicrosToTimestamp": "{0}",
}


@compiles(*_OF_DATES)
def _of_dates(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    if not isinstance(call.args[0].type, T.DateType | T.IntegerType):
        raise NotCompilable(f"{call.function} of {call.args[0].type.simpleString()} has no compiled form")
    values, null = operands(call.args, emitter, scope)
    return strict(_OF_DATES[call.function].format(*values), null, emitter)


@compiles(*_OF_TIMES)
def _of_times(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    zone = dict(call.options).get("time_zone")
    local = isinstance(call.args[0].type, T.TimestampNTZType)
    if not local and (zone not in UTC or not isinstance(call.args[0].type, T.TimestampType)):
        raise NotCompilable(f"{call.function} in time zone {zone} has no compiled form")
    values, null = operands(call.args, emitter, scope)
    return strict(_OF_TIMES[call.function].format(*values), null, emitter)


@compiles(*_OF_INSTANTS)
def _of_instants(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    values, null = operands(call.args, emitter, scope)
    return strict(_OF_INSTANTS[call.function].format(*values), null, emitter)


@compiles("MillisToTimestamp", "SecondsToTimestamp")
def _to_instant(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    """An instant out of range is an error whatever the mode."""
    if not isinstance(call.args[0].type, T.IntegralType):
        raise NotCompilable(f"{call.function} of {call.args[0].type.simpleString()} has no compiled form")
    (value,), null = operands(call.args, emitter, scope)
    factor = f"i64({1000 if call.function == 'MillisToTimestamp' else 1_000_000})"
    emitter.fail_if(both(f"mul_overflows({value}, {factor})", negate(null)))
    return strict(f"{value} * {factor}", null, emitter)
