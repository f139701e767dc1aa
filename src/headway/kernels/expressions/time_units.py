"""Truncating times, adding amounts to them and counting units between them.

Days, months and years are added to the clock's time, hours and less to the instant; a time that comes twice when clocks
go back keeps its offset where it can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import add_months, days_of, month_length, year_month_day
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.times import HOUR, MINUTE, result, toward_zero, weekday, zone_of
from headway.kernels.expressions.vectors import Vector, column, fail_at, numbers, valid
from headway.kernels.zones import DAY, SECOND, Zone, zone

Args = Sequence[pa.Array]


def _month_start(days: Vector) -> Vector:
    return days - year_month_day(days)[2] + 1


def _quarter_start(days: Vector) -> Vector:
    year, month, _ = year_month_day(days)
    return days_of(year, (month - 1) // 3 * 3 + 1, 1)


def _year_start(days: Vector) -> Vector:
    return days_of(year_month_day(days)[0], 1, 1)


_DATE_LEVELS: dict[str, Callable[[Vector], Vector]] = {
    "WEEK": lambda days: days - weekday(days),
    **dict.fromkeys(("MON", "MONTH", "MM"), _month_start),
    "QUARTER": _quarter_start,
    **dict.fromkeys(("YEAR", "YYYY", "YY"), _year_start),
}
_CLOCK_LEVELS = {"MINUTE": MINUTE, "HOUR": HOUR, "DAY": DAY, "DD": DAY}
_INSTANT_LEVELS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": SECOND}
_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": SECOND, "MINUTE": MINUTE, "HOUR": HOUR}
_DAYS = {"DAY": 1, "DAYOFYEAR": 1, "WEEK": 7}
_MOST = float(np.iinfo(np.int64).max)
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


@evaluates("TruncDate")
def _trunc_date(call: Call, args: Args) -> pa.Array:
    level = _DATE_LEVELS.get(call.option("level"))
    if level is None:
        return pa.nulls(len(args[0]), pa.date32())
    return result(call, level(numbers(args[0]).astype(np.int64)), *args)


@evaluates("TruncTimestamp")
def _trunc_timestamp(call: Call, args: Args) -> pa.Array:
    level, instants = call.option("level"), numbers(args[0])
    if level in _INSTANT_LEVELS:
        return result(call, instants - instants % _INSTANT_LEVELS[level], *args)
    place = zone_of(call, args[0])
    local = place.local(instants)
    if level in _CLOCK_LEVELS:
        return result(call, place.resolve(local - local % _CLOCK_LEVELS[level], local - instants), *args)
    if level in _DATE_LEVELS:
        days = _DATE_LEVELS[level](local // DAY)
        kept = days * DAY - (local - instants)
        same = place.local(kept) == days * DAY
        return result(call, np.where(same, kept, place.start_of_day(days)), *args)
    return pa.nulls(len(args[0]), args[0].type)


@evaluates("MonthsBetween")
def _months_between(call: Call, args: Args) -> pa.Array:
    place = zone(call.option("time_zone"))
    month_1, day_1, end_1, second_1 = _month_parts(numbers(args[0]), place)
    month_2, day_2, end_2, second_2 = _month_parts(numbers(args[1]), place)
    months = (month_1 - month_2).astype(np.float64)
    seconds = (day_1 - day_2) * 86_400 + second_1 - second_2
    exact = months + seconds / (31 * 86_400.0)
    if call.option("rounds"):
        exact = np.floor(exact * 1e8 + 0.5) / 1e8
    return result(call, np.where((day_1 == day_2) | (end_1 & end_2), months, exact), *args)


def _month_parts(instants: Vector, place: Zone) -> tuple[Vector, Vector, Vector, Vector]:
    """Months since year 0, day of the month, whether it is the last, and seconds since the day began."""
    days = place.local(instants) // DAY
    year, month, day = year_month_day(days)
    seconds = np.trunc((instants - place.start_of_day(days)) / SECOND).astype(np.int64)
    return year * 12 + month, day, day == month_length(year, month), seconds


def plus_days(place: Zone, instants: Vector, days: Vector | int) -> Vector:
    local = place.local(instants)
    return place.resolve(local + days * DAY, local - instants)


def plus_months(place: Zone, instants: Vector, months: Vector | int) -> Vector:
    local = place.local(instants)
    moved = add_months(local // DAY, months) * DAY + local % DAY
    return place.resolve(moved, local - instants)


@evaluates("TimestampAddInterval")
def _add_day_time(call: Call, args: Args) -> pa.Array:
    micros = call.option("micros")
    days = abs(micros) // DAY * (1 if micros >= 0 else -1)
    moved = plus_days(zone_of(call, args[0]), numbers(args[0]), days)
    return result(call, moved + (micros - days * DAY), *args)


@evaluates("TimestampAddYMInterval")
def _add_year_month(call: Call, args: Args) -> pa.Array:
    return result(call, plus_months(zone_of(call, args[0]), numbers(args[0]), call.option("months")), *args)


@evaluates("TimestampAdd")
def _timestamp_add(call: Call, args: Args) -> pa.Array:
    quantity, instants, unit = numbers(args[0]), numbers(args[1]), call.option("unit")
    length = float(_MICROS.get(unit) or _DAYS.get(unit, 0) * DAY or _MONTHS[unit] * 30 * DAY)
    far = valid(*args) & (np.abs(instants + quantity * length) > _MOST)
    fail_at(far, lambda row: f"[DATETIME_OVERFLOW] {args[0][row]} {unit} more than {args[1][row]} is no timestamp")
    if unit in _MICROS:
        return result(call, instants + quantity * _MICROS[unit], *args)
    place = zone_of(call, args[1])
    if unit in _DAYS:
        return result(call, plus_days(place, instants, quantity * _DAYS[unit]), *args)
    return result(call, plus_months(place, instants, quantity * _MONTHS[unit]), *args)


@evaluates("TimestampDiff")
def _timestamp_diff(call: Call, args: Args) -> pa.Array:
    start, end = (zone_of(call, array).local(numbers(array)) for array in args)
    unit = call.option("unit")
    if unit in _MONTHS:
        between = toward_zero(_months(start, end), _MONTHS[unit])
    else:
        between = toward_zero(end - start, _MICROS.get(unit) or _DAYS[unit] * DAY)
    return column(between, arrow_type(call.type), valid(*args))


def _months(start: Vector, end: Vector) -> Vector:
    """Whole months from one local time to another: days count, then the time of day."""
    days = end // DAY
    late, early = end % DAY < start % DAY, end % DAY > start % DAY
    days = days - (late & (days > start // DAY)) + (early & (days < start // DAY))
    packed = [year * 384 + (month - 1) * 32 + day for year, month, day in map(year_month_day, (start // DAY, days))]
    return toward_zero(packed[1] - packed[0], 32)
