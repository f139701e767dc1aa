"""Parts of dates and times, and arithmetic with them, in a time zone where a clock is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import add_months, days_of, is_date, month_length, year_month_day
from headway.kernels.expressions.cast_numbers import saturated
from headway.kernels.expressions.decimals import unscaled_words, wide
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Vector, column, fail_at, flags, numbers, valid
from headway.kernels.zones import DAY, SECOND, Zone, zone

Args = Sequence[pa.Array]
HOUR = 3600 * SECOND
MINUTE = 60 * SECOND
_THURSDAY = 3


def zone_of(call: Call, time: pa.Array) -> Zone:
    """The zone in which a column of times is read: that of the call, but none for timestamp_ntz."""
    return zone(call.option("time_zone")) if time.type.tz else zone("UTC")


def result(call: Call, values: Vector, *args: pa.Array) -> pa.Array:
    kind = arrow_type(call.type)
    numeric = pa.types.is_integer(kind)
    return column(values.astype(kind.to_pandas_dtype()) if numeric else values, kind, valid(*args))


def toward_zero(values: Vector, unit: int) -> Vector:
    """Whole units, as Java divides."""
    whole: Vector = np.abs(values) // unit * np.sign(values)
    return whole


def weekday(days: Vector) -> Vector:
    """0 is Monday."""
    return (days.astype(np.int64) + _THURSDAY) % 7


def _day_of_year(days: Vector) -> Vector:
    year, _, _ = year_month_day(days)
    return days - days_of(year, 1, 1) + 1


def _iso_week(days: Vector) -> tuple[Vector, Vector]:
    """Year and week by ISO 8601: a week belongs to the year of its Thursday."""
    thursday = days - weekday(days) + _THURSDAY
    year, _, _ = year_month_day(thursday)
    return year, (_day_of_year(thursday) - 1) // 7 + 1


_PARTS: dict[str, Callable[[Vector], Vector]] = {
    "Year": lambda days: year_month_day(days)[0],
    "Quarter": lambda days: (year_month_day(days)[1] - 1) // 3 + 1,
    "Month": lambda days: year_month_day(days)[1],
    "DayOfMonth": lambda days: year_month_day(days)[2],
    "DayOfWeek": lambda days: (weekday(days) + 1) % 7 + 1,
    "DayOfYear": _day_of_year,
    "WeekDay": weekday,
    "WeekOfYear": lambda days: _iso_week(days)[1],
    "YearOfWeek": lambda days: _iso_week(days)[0],
    "UnixDate": lambda days: days,
}


@evaluates(*_PARTS)
def _date_part(call: Call, args: Args) -> pa.Array:
    return result(call, _PARTS[call.function](numbers(args[0])), *args)


_NAMES = {
    "DayName": (weekday, pa.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])),
    "MonthName": (
        lambda days: year_month_day(days)[1] - 1,
        pa.array(["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]),
    ),
}


@evaluates(*_NAMES)
def _name(call: Call, args: Args) -> pa.Array:
    part, names = _NAMES[call.function]
    return names.take(column(part(numbers(args[0])), pa.int64(), valid(args[0])))


def local_micros(call: Call, time: pa.Array) -> Vector:
    """The microseconds of the local day of every time."""
    return zone_of(call, time).local(numbers(time)) % DAY


@evaluates("Hour", "Minute", "Second")
def _clock(call: Call, args: Args) -> pa.Array:
    unit, of = {"Hour": (HOUR, 24), "Minute": (MINUTE, 60), "Second": (SECOND, 60)}[call.function]
    return result(call, local_micros(call, args[0]) // unit % of, *args)


@evaluates("SecondWithFraction")
def _second_with_fraction(call: Call, args: Args) -> pa.Array:
    micros = local_micros(call, args[0]) % MINUTE
    raw = np.zeros((len(micros), 2), np.int64)
    raw[:, 0] = micros
    decimals = pa.Array.from_buffers(pa.decimal128(8, 6), len(micros), [None, pa.py_buffer(raw)])
    return decimals.take(column(np.arange(len(micros)), pa.int64(), valid(args[0])))


@evaluates("DateAdd", "DateSub")
def _date_add(call: Call, args: Args) -> pa.Array:
    days, more = numbers(args[0]).astype(np.int32), numbers(args[1]).astype(np.int32)
    with np.errstate(over="ignore"):
        return result(call, days + more if call.function == "DateAdd" else days - more, *args)


@evaluates("DateDiff")
def _date_diff(call: Call, args: Args) -> pa.Array:
    return result(call, numbers(args[0]) - numbers(args[1]), *args)


@evaluates("AddMonths")
def _add_months(call: Call, args: Args) -> pa.Array:
    return result(call, add_months(numbers(args[0]), numbers(args[1]).astype(np.int64)), *args)


@evaluates("DateAddYMInterval")
def _date_add_months(call: Call, args: Args) -> pa.Array:
    return result(call, add_months(numbers(args[0]), call.option("months")), *args)


@evaluates("LastDay")
def _last_day(call: Call, args: Args) -> pa.Array:
    days = numbers(args[0])
    year, month, day = year_month_day(days)
    return result(call, days - day + month_length(year, month), *args)


@evaluates("NextDay")
def _next_day(call: Call, args: Args) -> pa.Array:
    days = numbers(args[0])
    return result(call, days + 1 + (call.option("day") - 1 - weekday(days)) % 7, *args)


@evaluates("DateFromUnixDate", "MicrosToTimestamp", "UnixMicros")
def _same_number(call: Call, args: Args) -> pa.Array:
    return result(call, numbers(args[0]), *args)


@evaluates("UnixSeconds", "UnixMillis")
def _unix(call: Call, args: Args) -> pa.Array:
    return result(call, numbers(args[0]) // (SECOND if call.function == "UnixSeconds" else 1000), *args)


@evaluates("MillisToTimestamp")
def _from_millis(call: Call, args: Args) -> pa.Array:
    return _scaled(call, args[0], 1000)


@evaluates("SecondsToTimestamp")
def _from_seconds(call: Call, args: Args) -> pa.Array:
    (array,) = args
    if pa.types.is_integer(array.type):
        return _scaled(call, array, SECOND)
    if pa.types.is_decimal(array.type):
        return _decimal_seconds(call, array)
    values = numbers(array).astype(np.float64)
    micros = np.where(np.isfinite(values), values, 0) * SECOND
    return column(saturated(micros), arrow_type(call.type), valid(array) & np.isfinite(values))


def _scaled(call: Call, array: pa.Array, unit: int) -> pa.Array:
    values = numbers(array).astype(np.int64)
    most = np.iinfo(np.int64).max // unit
    far = valid(array) & ((values > most) | (values < -most))
    fail_at(far, lambda row: f"[DATETIME_OVERFLOW] {array[row]} is too far away for a timestamp")
    return result(call, values * unit, array)


def _decimal_seconds(call: Call, array: pa.Array) -> pa.Array:
    """Exact or an error: a timestamp has six digits after the point."""
    micros = wide(array, 6)
    inexact = flags(pc.not_equal(wide(micros, max(array.type.scale, 6)), wide(array, max(array.type.scale, 6))))
    fail_at(inexact, lambda row: f"[ARITHMETIC_OVERFLOW] {array[row]} has more than six digits after the point")
    _, low = unscaled_words(micros.cast(pa.decimal128(38, 6)))
    return result(call, low, array)


@evaluates("MakeDate")
def _make_date(call: Call, args: Args) -> pa.Array:
    year, month, day = (numbers(array).astype(np.int64) for array in args)
    good = is_date(year, month, day)
    if call.option("ansi"):
        fail_at(valid(*args) & ~good, lambda row: _out_of_bounds([array[row].as_py() for array in args]))
    days = days_of(year, np.where(good, month, 1), np.where(good, day, 1))
    return column(days, pa.date32(), valid(*args) & good)


def _out_of_bounds(values: list[object]) -> str:
    return f"[DATETIME_FIELD_OUT_OF_BOUNDS] There is no such date or time: {', '.join(map(str, values))}"


@evaluates("MakeTimestamp")
def _make_timestamp(call: Call, args: Args) -> pa.Array:
    year, month, day, hour, minute = (numbers(array).astype(np.int64) for array in args[:5])
    _, micros = unscaled_words(args[5])
    clock = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (micros >= 0) & (micros <= MINUTE)
    good = is_date(year, month, day) & clock
    rows = valid(*args)
    if call.option("ansi"):
        fail_at(rows & ~good, lambda row: _out_of_bounds([array[row].as_py() for array in args]))
    days = days_of(year, np.where(good, month, 1), np.where(good, day, 1))
    local = np.where(good, days * DAY + hour * HOUR + minute * MINUTE + micros, 0)
    kind = arrow_type(call.type)
    return column(zone(call.option("time_zone")).instants(local) if kind.tz else local, kind, rows & good)


@evaluates("FromUTCTimestamp")
def _from_utc(call: Call, args: Args) -> pa.Array:
    return result(call, zone(call.option("time_zone")).local(numbers(args[0])), *args)


@evaluates("ToUTCTimestamp")
def _to_utc(call: Call, args: Args) -> pa.Array:
    return result(call, zone(call.option("time_zone")).instants(numbers(args[0])), *args)


@evaluates("ConvertTimezone")
def _convert_timezone(call: Call, args: Args) -> pa.Array:
    instants = zone(call.option("source")).instants(numbers(args[0]))
    return result(call, zone(call.option("target")).local(instants), *args)
