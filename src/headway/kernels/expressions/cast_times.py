"""Casts among strings, dates and timestamps.

A string is trimmed, then must be `[+-]yyyy[-[m]m[-[d]d]]`, for timestamps followed by ` ` or `T` and
`[h]h[:[m]m[:[s]s[.fraction][zone]]]`; a date ignores what follows ` ` or `T`; a timestamp may be just a time, of today.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import days_of, is_date
from headway.kernels.expressions.cast_parsing import JAVA_SPACE, SPARK_SPACE
from headway.kernels.expressions.cast_rules import INVALID_INPUT, LONG_OVERFLOW, Cast, CastFunction, Casting
from headway.kernels.expressions.vectors import Mask, Vector, column, flags, numbers, valid
from headway.kernels.zones import DAY, SECOND, find_zone, zone

_DATE = r"^(?P<sign>[+-]?)(?P<y>[0-9]{4,7})(?:-(?P<m>[0-9]{1,2})(?:-(?P<d>[0-9]{1,2})(?:[ T](?s:.*))?)?)?$"
_CLOCK = r"(?P<h>[0-9]{1,2})(?::(?P<mi>[0-9]{1,2})(?::(?P<s>[0-9]{1,2})(?:\.(?P<f>[0-9]*))?(?P<z>(?s:[^0-9.].*))?)?)?"
_TIMESTAMP = r"^(?P<sign>[+-]?)(?P<y>[0-9]{4,6})(?:-(?P<m>[0-9]{1,2})(?:-(?P<d>[0-9]{1,2})(?:[ T]" + _CLOCK + r")?)?)?$"
_JUST_TIME = r"^T?" + _CLOCK + r"$"
_BOUNDS = np.iinfo(np.int64)
_LEAST, _MOST = _BOUNDS.min // SECOND, _BOUNDS.max // SECOND


@dataclass(frozen=True)
class Parsed:
    """Local times read from text: days, microseconds of the day, zones as text, and which rows were readable."""

    days: Vector
    micros: Vector
    zones: pa.Array
    good: Mask


def _integers(parts: pa.Array, field: str, default: str) -> Vector:
    text = pc.struct_field(parts, field)
    filled = pc.if_else(pc.fill_null(pc.equal(text, ""), True), default, text)
    values: Vector = pc.cast(filled, pa.int64()).to_numpy()
    return values


def _date_parts(parts: pa.Array) -> tuple[Vector, Mask]:
    year = _integers(parts, "y", "1970")
    year = np.where(flags(pc.equal(pc.struct_field(parts, "sign"), "-")), -year, year)
    month, day = _integers(parts, "m", "1"), _integers(parts, "d", "1")
    good = is_date(year, month, day) & flags(pc.is_valid(parts))
    return days_of(year, np.where(good, month, 1), np.where(good, day, 1)), good


def _clock(parts: pa.Array) -> tuple[Vector, Mask]:
    hour, minute, second = (_integers(parts, field, "0") for field in ("h", "mi", "s"))
    fraction = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.struct_field(parts, "f"), 6, "0"), 0, 6)
    micros = pc.cast(pc.fill_null(fraction, "0"), pa.int64()).to_numpy()
    good = (hour < 24) & (minute < 60) & (second < 60) & flags(pc.is_valid(parts))
    return (hour * 3600 + minute * 60 + second) * SECOND + micros, good


def _string_to_date(source: pa.Array, casting: Casting) -> Cast:
    days, good = _date_parts(pc.extract_regex(pc.utf8_trim(source, SPARK_SPACE), _DATE))
    good &= np.abs(days) < 2**31
    return Cast(column(days.astype(np.int32), pa.date32(), valid(source)), ~good, INVALID_INPUT)


def _parse(source: pa.Array) -> Parsed:
    """Dates with or without a time; a row with just a time is not readable here."""
    parts = pc.extract_regex(pc.utf8_trim(source, SPARK_SPACE), _TIMESTAMP)
    days, good_date = _date_parts(parts)
    micros, good_time = _clock(parts)
    return Parsed(days, micros, pc.struct_field(parts, "z"), good_date & good_time)


def _string_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    parsed = _parse(source)
    missed = ~parsed.good & valid(source)
    if missed.any():
        parsed = _with_just_times(source, parsed, missed, casting.time_zone)
    values, good = _instants(parsed, casting.time_zone)
    return Cast(column(values, arrow_type(casting.target), valid(source)), ~good, INVALID_INPUT)


def _with_just_times(source: pa.Array, parsed: Parsed, missed: Mask, time_zone: str) -> Parsed:
    """`parsed` and the rows that say only a time, which is today's."""
    # A leading T counts only if nothing, not even white space, stands before it.
    text = pc.utf8_trim(source, SPARK_SPACE)
    text = pc.if_else(
        pc.and_(pc.starts_with(text, "T"), pc.not_equal(pc.utf8_slice_codeunits(source, 0, 1), "T")), "", text
    )
    parts = pc.extract_regex(text, _JUST_TIME)
    has_colon = flags(pc.match_substring_regex(text, r"^T|:"))
    micros, good = _clock(parts)
    good &= missed & has_colon
    if not good.any():
        return parsed
    zones = pc.if_else(pa.array(good), pc.struct_field(parts, "z"), parsed.zones)
    now = np.array([np.datetime64("now", "us").astype(np.int64)])
    today = int(zone(time_zone).local(now)[0]) // DAY
    days = np.where(good, today, parsed.days)
    return Parsed(days, np.where(good, micros, parsed.micros), zones, parsed.good | good)


def _instants(parsed: Parsed, time_zone: str) -> tuple[Vector, Mask]:
    """The instants of local times, each in its own zone where it names one, else in `time_zone`."""
    seconds = np.where(parsed.good, parsed.days, 0) * (DAY // SECOND) + parsed.micros // SECOND
    offsets, good = _offsets(seconds, parsed, time_zone)
    seconds = seconds - offsets
    micros = parsed.micros % SECOND
    good &= (seconds > _LEAST) | (seconds == _LEAST) & (micros >= _BOUNDS.min % SECOND)
    good &= (seconds < _MOST) | (seconds == _MOST) & (micros <= _BOUNDS.max % SECOND)
    with np.errstate(over="ignore"):
        return seconds * SECOND + micros, good


def _offsets(seconds: Vector, parsed: Parsed, time_zone: str) -> tuple[Vector, Mask]:
    """What to take off local seconds, and which rows are good and name no unknown zone."""
    # Outside this range no offset is needed that a nearer time of the same rules would not tell.
    local = np.clip(seconds, _LEAST // 2, _MOST // 2) * SECOND
    offsets = (local - zone(time_zone).instants(local)) // SECOND
    good = parsed.good.copy()
    given = flags(pc.not_equal(pc.fill_null(parsed.zones, ""), ""))
    names = pc.fill_null(pc.utf8_trim(parsed.zones, JAVA_SPACE), "")
    for name in pc.unique(names.filter(pa.array(given))).to_pylist():
        rows = flags(pc.equal(names, name)) & given
        found = find_zone(name)
        if found is None:
            good &= ~rows
        else:
            offsets[rows] = (local[rows] - found.instants(local[rows])) // SECOND
    return offsets, good


def _string_to_timestamp_ntz(source: pa.Array, casting: Casting) -> Cast:
    """A zone in the text must be one, and is ignored."""
    parsed = _parse(source)
    _, known = _offsets(np.zeros(len(source), np.int64), parsed, "UTC")
    unzoned = pa.nulls(len(source), pa.string())
    local, good = _instants(Parsed(parsed.days, parsed.micros, unzoned, parsed.good & known), "UTC")
    return Cast(column(local, arrow_type(casting.target), valid(source)), ~good, INVALID_INPUT)


def _times(values: Vector, source: pa.Array, casting: Casting) -> Cast:
    return Cast(column(values, arrow_type(casting.target), valid(source)))


def _date_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    return _midnights(zone(casting.time_zone).start_of_day(numbers(source)), source, casting)


def _date_to_timestamp_ntz(source: pa.Array, casting: Casting) -> Cast:
    return _midnights(numbers(source).astype(np.int64) * DAY, source, casting)


def _midnights(values: Vector, source: pa.Array, casting: Casting) -> Cast:
    """Dates reach farther than timestamps: `values` are bad where they are not near their day."""
    bad = np.abs(values // DAY - numbers(source)) > 1
    return Cast(column(values, arrow_type(casting.target), valid(source)), bad, LONG_OVERFLOW, fails=True)


def _timestamp_to_date(source: pa.Array, casting: Casting) -> Cast:
    return _times(zone(casting.time_zone).local(numbers(source)) // DAY, source, casting)


def _timestamp_ntz_to_date(source: pa.Array, casting: Casting) -> Cast:
    return _times(numbers(source) // DAY, source, casting)


def _timestamp_to_ntz(source: pa.Array, casting: Casting) -> Cast:
    return _times(zone(casting.time_zone).local(numbers(source)), source, casting)


def _ntz_to_timestamp(source: pa.Array, casting: Casting) -> Cast:
    return _times(zone(casting.time_zone).instants(numbers(source)), source, casting)


FUNCTIONS: dict[tuple[str, str], CastFunction] = {
    ("string", "date"): _string_to_date,
    ("string", "timestamp"): _string_to_timestamp,
    ("string", "timestamp_ntz"): _string_to_timestamp_ntz,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "timestamp_ntz"): _date_to_timestamp_ntz,
    ("timestamp", "date"): _timestamp_to_date,
    ("timestamp_ntz", "date"): _timestamp_ntz_to_date,
    ("timestamp", "timestamp_ntz"): _timestamp_to_ntz,
    ("timestamp_ntz", "timestamp"): _ntz_to_timestamp,
}
