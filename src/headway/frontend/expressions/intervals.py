"""Lowering of arithmetic with intervals as values: of days and times (microseconds), of years and months (months).

Calls: `IntervalAdd`, `IntervalSubtract` of two of one kind, `IntervalNegate` and `IntervalAbs` of one;
`IntervalMultiply` and `IntervalDivide` of an interval and a number; `IntervalPart(interval)` with options `unit` (in
the interval's own) and `of` (how many make the next greater, None: no end);
`MakeDTInterval(days, hours, minutes, seconds)`;
`MakeYMInterval(years, months)`; `SubtractTimestamps(end, start)` with `time_zone`, `SubtractDates(end, start)`;
`TimestampPlusInterval(time, interval)` and `TimestampPlusMonths(time, months)` with `time_zone`,
`DatePlusMonths(date, months)`.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments, zone_option
from headway.frontend.tree import Tree

INTERVALS = (T.DayTimeIntervalType, T.YearMonthIntervalType)
_SECOND = 1_000_000
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND
_PARTS: dict[str, tuple[T.DataType, int, int | None]] = {
    "ExtractANSIIntervalDays": (T.IntegerType(), _DAY, None),
    "ExtractANSIIntervalHours": (T.ByteType(), _HOUR, 24),
    "ExtractANSIIntervalMinutes": (T.ByteType(), _MINUTE, 60),
    "ExtractANSIIntervalSeconds": (T.DecimalType(8, 6), 1, 60 * _SECOND),
    "ExtractANSIIntervalYears": (T.IntegerType(), 12, None),
    "ExtractANSIIntervalMonths": (T.ByteType(), 1, 12),
}


def combined(tree: Tree, args: tuple[Expr, ...]) -> Expr:
    """Add, Subtract, UnaryMinus or Abs of intervals."""
    name = {"Add": "IntervalAdd", "Subtract": "IntervalSubtract", "UnaryMinus": "IntervalNegate", "Abs": "IntervalAbs"}
    return Call(args[0].type, name[tree.name], args)


@lowers("MultiplyDTInterval", "MultiplyYMInterval", "DivideDTInterval", "DivideYMInterval")
def _scaled(tree: Tree, lowering: Lowering) -> Expr:
    args = arguments(tree, lowering)
    kind: T.DataType = T.DayTimeIntervalType(0, 3) if "DT" in tree.name else T.YearMonthIntervalType(0, 1)
    return Call(kind, "IntervalMultiply" if tree.name.startswith("Multiply") else "IntervalDivide", args)


@lowers(*_PARTS)
def _part(tree: Tree, lowering: Lowering) -> Expr:
    kind, unit, of = _PARTS[tree.name]
    return Call(kind, "IntervalPart", arguments(tree, lowering), (("unit", unit), ("of", of)))


@lowers("MakeDTInterval")
def _make_day_time(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.DayTimeIntervalType(0, 3), tree.name, arguments(tree, lowering))


@lowers("MakeYMInterval")
def _make_year_month(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.YearMonthIntervalType(0, 1), tree.name, arguments(tree, lowering))


@lowers("SubtractTimestamps")
def _between_times(tree: Tree, lowering: Lowering) -> Expr:
    kind = T.DayTimeIntervalType(0, 3)
    return Call(kind, tree.name, arguments(tree, lowering), (zone_option(tree, lowering),))


@lowers("SubtractDates")
def _between_dates(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.DayTimeIntervalType(0, 0), tree.name, arguments(tree, lowering))
