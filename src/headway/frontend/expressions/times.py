"""Lowering of date and time functions.

Calls have Catalyst's children as arguments, in order; those that look at a clock have the option `time_zone`. But for:
`TruncDate(date)` and `TruncTimestamp(timestamp)` with option `level` (upper case, None if null);
`DateFormatClass(timestamp)`, `FromUnixTime(seconds)`, `GetTimestamp(text)`, `UnixTimestamp(text)` and
`ToUnixTimestamp(text)` with option `fields` of their pattern, the last three with `ansi`;
`MonthsBetween(a, b)` with option `rounds`;
`TimestampAddInterval(time)` with `micros`, `TimestampAddYMInterval(time)` and `DateAddYMInterval(date)` with `months`;
`TimestampAdd(quantity, time)` and `TimestampDiff(start, end)` with option `unit`; `NextDay(date)` with option `day`
(0 is Monday); `ConvertTimezone(time)` with `source` and `target`;
`FromUTCTimestamp(time)`, `ToUTCTimestamp(time)` with the named `time_zone`.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.calendar_intervals import calendar_interval
from headway.frontend.expressions.datetime_patterns import fields
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, constant, lowers_all, zone_option
from headway.frontend.tree import Tree

_INT, _LONG, _DATE, _TIMESTAMP, _STRING = T.IntegerType(), T.LongType(), T.DateType(), T.TimestampType(), T.StringType()
_DAYS = {
    name: day
    for day, names in enumerate(
        (
            "MO MON MONDAY",
            "TU TUE TUESDAY",
            "WE WED WEDNESDAY",
            "TH THU THURSDAY",
            "FR FRI FRIDAY",
            "SA SAT SATURDAY",
            "SU SUN SUNDAY",
        )
    )
    for name in names.split()
}
_ADDABLE = frozenset(
    ["MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "DAYOFYEAR", "WEEK", "MONTH", "QUARTER", "YEAR"]
)

lowers_all(
    _INT, "Year", "Quarter", "Month", "DayOfMonth", "DayOfWeek", "DayOfYear", "WeekDay", "WeekOfYear", "YearOfWeek"
)
lowers_all(_INT, "DateDiff", "UnixDate")
lowers_all(_LONG, "UnixSeconds", "UnixMillis", "UnixMicros")
lowers_all(_DATE, "DateAdd", "DateSub", "AddMonths", "LastDay", "DateFromUnixDate")
lowers_all(_TIMESTAMP, "SecondsToTimestamp", "MillisToTimestamp", "MicrosToTimestamp")
lowers_all(_STRING, "DayName", "MonthName")


@lowers("Hour", "Minute", "Second")
def _clock(tree: Tree, lowering: Lowering) -> Expr:
    return _zoned(tree, lowering, _INT)


@lowers("SecondWithFraction")
def _second_with_fraction(tree: Tree, lowering: Lowering) -> Expr:
    return _zoned(tree, lowering, T.DecimalType(8, 6))


def _zoned(tree: Tree, lowering: Lowering, result: T.DataType, *options: tuple[str, Any]) -> Expr:
    return Call(result, tree.name, arguments(tree, lowering), (zone_option(tree, lowering), *options))


@lowers("MonthsBetween")
def _months_between(tree: Tree, lowering: Lowering) -> Expr:
    *times, rounds = arguments(tree, lowering)
    options = (zone_option(tree, lowering), ("rounds", constant(tree, "rounding", rounds)))
    return Call(T.DoubleType(), tree.name, tuple(times), options)


@lowers("TruncDate")
def _trunc_date(tree: Tree, lowering: Lowering) -> Expr:
    date, level = arguments(tree, lowering)
    return Call(_DATE, tree.name, (date,), (_level(tree, level),))


@lowers("TruncTimestamp")
def _trunc_timestamp(tree: Tree, lowering: Lowering) -> Expr:
    level, time = arguments(tree, lowering)
    return Call(time.type, tree.name, (time,), (zone_option(tree, lowering), _level(tree, level)))


def _level(tree: Tree, level: Expr) -> tuple[str, Any]:
    name = constant(tree, "unit", level)
    return ("level", None if name is None else name.upper())


@lowers("DateFormatClass", "FromUnixTime")
def _format(tree: Tree, lowering: Lowering) -> Expr:
    time, pattern = arguments(tree, lowering)
    options = (zone_option(tree, lowering), ("fields", fields(_pattern(tree, pattern), reading=False)))
    return Call(_STRING, tree.name, (time,), options)


@lowers("GetTimestamp")
def _get_timestamp(tree: Tree, lowering: Lowering) -> Expr:
    return _parsed(tree, lowering, spark_type(tree.fields["dataType"]))


@lowers("UnixTimestamp", "ToUnixTimestamp")
def _unix_timestamp(tree: Tree, lowering: Lowering) -> Expr:
    return _parsed(tree, lowering, _LONG)


def _parsed(tree: Tree, lowering: Lowering, result: T.DataType) -> Expr:
    text, pattern = arguments(tree, lowering)
    reads = isinstance(text.type, T.StringType)
    found = fields(_pattern(tree, pattern), reading=True) if reads else ()
    options = (zone_option(tree, lowering), ("fields", found), ("ansi", tree.fields["failOnError"]))
    return Call(result, tree.name, (text,), options)


def _pattern(tree: Tree, pattern: Expr) -> str:
    written = constant(tree, "pattern", pattern)
    if written is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its pattern is null")
    return str(written)


@lowers("MakeDate")
def _make_date(tree: Tree, lowering: Lowering) -> Expr:
    return Call(_DATE, tree.name, arguments(tree, lowering), (("ansi", tree.fields["failOnError"]),))


@lowers("MakeTimestamp")
def _make_timestamp(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    zone = zone_option(tree, lowering)
    if len(args) > 6:
        zone = ("time_zone", _zone_name(tree, args[6]))
    options = (zone, ("ansi", tree.fields["failOnError"]))
    return Call(spark_type(tree.fields["dataType"]), tree.name, args[:6], options)


@lowers("ConvertTimezone")
def _convert_timezone(tree: Tree, lowering: Lowering) -> Expr:
    source, target, time = arguments(tree, lowering)
    options = (("source", _zone_name(tree, source)), ("target", _zone_name(tree, target)))
    return Call(time.type, tree.name, (time,), options)


def _zone_name(tree: Tree, zone: Expr) -> str:
    name = constant(tree, "time zone", zone)
    if name is None:
        raise UnsupportedPlan(f"expression {tree.name}", "its time zone is null")
    return str(name)


@lowers("TimestampAddInterval", "TimeAdd")
def _add_day_time(tree: Tree, lowering: Lowering) -> Expr:
    calendar = calendar_interval(tree.children[1], lowering)
    if calendar is not None:
        return _add_calendar(tree, lowering, *calendar)
    time, interval = arguments(tree, lowering)
    if not isinstance(interval.type, T.DayTimeIntervalType):
        raise UnsupportedPlan(f"expression {tree.name} of {interval.type.simpleString()}")
    if not isinstance(interval, Literal) or interval.value is None:
        return Call(time.type, "TimestampPlusInterval", (time, interval), (zone_option(tree, lowering),))
    options = (zone_option(tree, lowering), ("micros", int(interval.value)))
    return Call(time.type, "TimestampAddInterval", (time,), options)


def _add_calendar(tree: Tree, lowering: Lowering, months: Expr, days: Expr, micros: Expr) -> Expr:
    """Months and days first, in local time, then what is shorter."""
    time = lowering(tree.children[0])
    for quantity, unit in ((months, "MONTH"), (days, "DAY"), (micros, "MICROSECOND")):
        if not (isinstance(quantity, Literal) and quantity.value == 0):
            time = Call(time.type, "TimestampAdd", (quantity, time), (zone_option(tree, lowering), ("unit", unit)))
    return time


@lowers("TimestampAddYMInterval")
def _add_year_month(tree: Tree, lowering: Lowering) -> Expr:
    time, interval = arguments(tree, lowering)
    if not isinstance(interval, Literal) or interval.value is None:
        return Call(time.type, "TimestampPlusMonths", (time, interval), (zone_option(tree, lowering),))
    return Call(time.type, tree.name, (time,), (zone_option(tree, lowering), ("months", int(interval.value))))


@lowers("DateAddYMInterval")
def _date_add_year_month(tree: Tree, lowering: Lowering) -> Expr:
    date, interval = arguments(tree, lowering)
    if not isinstance(interval, Literal) or interval.value is None:
        return Call(_DATE, "DatePlusMonths", (date, interval))
    return Call(_DATE, tree.name, (date,), (("months", int(interval.value)),))


@lowers("TimestampAdd")
def _timestamp_add(tree: Tree, lowering: Lowering) -> Expr:
    quantity, time = arguments(tree, lowering)
    options = (zone_option(tree, lowering), ("unit", _unit(tree)))
    return Call(time.type, tree.name, (quantity, time), options)


@lowers("TimestampDiff")
def _timestamp_diff(tree: Tree, lowering: Lowering) -> Expr:
    return _zoned(tree, lowering, _LONG, ("unit", _unit(tree)))


def _unit(tree: Tree) -> str:
    unit = str(tree.fields["unit"]).upper()
    if unit not in _ADDABLE:
        raise UnsupportedPlan(f"expression {tree.name}", f"{unit} is no unit of time")
    return unit


@lowers("FromUTCTimestamp", "ToUTCTimestamp")
def _utc(tree: Tree, lowering: Lowering) -> Expr:
    time, zone = arguments(tree, lowering)
    return Call(_TIMESTAMP, tree.name, (time,), (("time_zone", _zone_name(tree, zone)),))


@lowers("NextDay")
def _next_day(tree: Tree, lowering: Lowering) -> Expr:
    date, day = arguments(tree, lowering)
    name = constant(tree, "day of the week", day)
    if name is None or name.upper() not in _DAYS:
        raise UnsupportedPlan("expression NextDay", f"{name} is no day of the week")
    return Call(_DATE, tree.name, (date,), (("day", _DAYS[name.upper()]),))
