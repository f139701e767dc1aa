"""Compiled casts among types of fixed width; those that need a time zone other than UTC are left to Arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import types as T

from headway.dataflow.expr import Call
from headway.kernels.compiled.emitter import Emitter, Scope, compiles
from headway.kernels.compiled.expressions.operands import operands
from headway.kernels.compiled.expressions.times import UTC
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

_SECOND = 1_000_000
_DAY = 86_400 * _SECOND


@dataclass(frozen=True)
class _Cast:
    """A cast being written: its value's source; the row is bad where `bad` holds, in ANSI mode an error, else a null.

    `fails` tells that it is an error in either mode, and a null in `try_cast` alone.
    """

    code: str
    bad: str = "False"
    fails: bool = False


Rule = Callable[[str, Call, Emitter], _Cast]


@compiles("Cast", "TryCast")
def _cast(call: Call, emitter: Emitter, scope: Scope) -> AnyValue:
    (value,), null = operands(call.args, emitter, scope)
    kinds = _kind(call.args[0].type), _kind(call.type)
    rule = _RULES.get(kinds)
    if rule is None:
        raise NotCompilable(f"cast of {kinds[0]} to {kinds[1]} has no compiled form")
    result = rule(value, call, emitter)
    code = emitter.let(result.code)
    if call.function == "Cast" and (call.option("ansi") or result.fails):
        emitter.fail_if(both(result.bad, negate(null)))
        return Value(code, null)
    return Value(code, emitter.let(either(null, result.bad)))


def _kind(spark_type: T.DataType) -> str:
    storage(spark_type)
    if type(spark_type) in WIDTHS:
        return "integral"
    return "fractional" if is_float(spark_type) else spark_type.typeName()


def _checks(call: Call) -> bool:
    """Whether a value out of range is bad, not wrapped."""
    return call.function == "TryCast" or bool(call.option("ansi"))


def _narrow(code: str, call: Call, emitter: Emitter, wraps: bool = True) -> _Cast:
    width = WIDTHS[type(call.type)]
    if width == 64:
        return _Cast(code)
    wide = emitter.let(code)
    narrow = emitter.let(f"wrap{width}({wide})")
    return _Cast(narrow, f"({wide} != {narrow})" if _checks(call) or not wraps else "False")


def _integral(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _narrow(value, call, emitter)


def _truncated(value: str, call: Call, emitter: Emitter) -> _Cast:
    """Java's way to a byte or short is by an int; NaN is 0 and the far away the bounds, unless that is an error."""
    width = WIDTHS[type(call.type)]
    whole = emitter.let(f"java_long({value})" if width == 64 else f"java_int({value})")
    code = whole if width >= 32 else f"wrap{width}({whole})"
    if not _checks(call):
        return _Cast(code)
    high, low = float(2 ** (width - 1) - 1), -float(2 ** (width - 1))
    return _Cast(code, f"(not ((np.floor(f64({value})) <= {high}) & (np.ceil(f64({value})) >= {low})))")


def _fractional(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(f"{storage(call.type)}({value})")


def _boolean(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(f"{value} != 0")


def _flag(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(f"i64({value})")


def _seconds(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _narrow(f"floor_div({value}, i64({_SECOND}))", call, emitter, wraps=False)


def _fractional_seconds(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(f"{storage(call.type)}(f64({value}) / {float(_SECOND)})")


def _from_seconds(value: str, call: Call, emitter: Emitter) -> _Cast:
    """A number of seconds too large for microseconds is the first or last instant."""
    bound = f"(INT64_MAX if {value} > 0 else INT64_MIN)"
    return _Cast(f"i64({bound}) if mul_overflows({value}, i64({_SECOND})) else {value} * {_SECOND}")


def _local_day(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(f"floor_div({value}, i64({_DAY}))")


def _midnight(value: str, call: Call, emitter: Emitter) -> _Cast:
    """Dates reach farther than timestamps, whose microseconds are a long."""
    return _Cast(f"{value} * {_DAY}", f"mul_overflows({value}, i64({_DAY}))", fails=True)


def _same(value: str, call: Call, emitter: Emitter) -> _Cast:
    return _Cast(value)


def _in_utc(rule: Rule) -> Rule:
    def check(value: str, call: Call, emitter: Emitter) -> _Cast:
        if call.option("time_zone") not in UTC:
            raise NotCompilable(f"a cast in time zone {call.option('time_zone')} has no compiled form")
        return rule(value, call, emitter)

    return check


_RULES: dict[tuple[str, str], Rule] = {
    ("integral", "integral"): _integral,
    ("integral", "fractional"): _fractional,
    ("integral", "boolean"): _boolean,
    ("integral", "timestamp"): _from_seconds,
    ("fractional", "integral"): _truncated,
    ("fractional", "fractional"): _fractional,
    ("fractional", "boolean"): _boolean,
    ("boolean", "integral"): _flag,
    ("boolean", "fractional"): _fractional,
    ("timestamp", "integral"): _seconds,
    ("timestamp", "fractional"): _fractional_seconds,
    ("timestamp", "boolean"): _boolean,
    ("timestamp_ntz", "date"): _local_day,
    ("date", "timestamp_ntz"): _midnight,
    ("timestamp", "date"): _in_utc(_local_day),
    ("date", "timestamp"): _in_utc(_midnight),
    ("timestamp", "timestamp_ntz"): _in_utc(_same),
    ("timestamp_ntz", "timestamp"): _in_utc(_same),
}
