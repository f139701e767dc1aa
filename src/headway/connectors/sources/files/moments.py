"""Dates and times in text, as Spark casts them: from year alone to microseconds and any zone.

Results are days, or microseconds, since 1970-01-01; None where Spark sees no date or time. Years go beyond Python's
9999: the calendar repeats every 400 years, so far years are computed in a near cycle and shifted.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo

from headway.kernels.zones import SHORT_IDS

_EPOCH = dt.date(1970, 1, 1).toordinal()
_CYCLE_YEARS = 400
_CYCLE_DAYS = 146_097
_DAY_US = 86_400_000_000
_INT64 = 2**63

_WHITE = "".join(map(chr, range(33))) + "\x7f"
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*)?)?)?"
_TIMESTAMP = re.compile(rf"([+-]?)(\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T]{_TIME})?)?)?", re.DOTALL)
_TIME_ALONE = re.compile(rf"(?:T(?=\d)|(?=\d{{1,2}}:)){_TIME}", re.DOTALL)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?")


def parse_date(text: str) -> int | None:
    """Days since the epoch of `[+-]yyyy[-m[-d]]`; what follows a blank or a T is not looked at."""
    found = _DATE.fullmatch(text.strip(_WHITE))
    if found is None:
        return None
    year = int(found[1] + found[2])
    return days_of(year, int(found[3] or 1), int(found[4] or 1))


def parse_timestamp(text: str, zone: str) -> int | None:
    """Microseconds since the epoch, UTC; a text without zone is in `zone`, a time without date is today's."""
    fields = _timestamp_fields(text, zone)
    if fields is None:
        return None
    day, time_us, own_zone = fields
    try:
        micros = to_instant(day, time_us, own_zone or zone)
    except ValueError:
        return None
    return micros if -_INT64 <= micros < _INT64 else None


def parse_timestamp_ntz(text: str) -> int | None:
    """Microseconds since the epoch of a local time; one with a zone, or without a date, is none."""
    if _TIME_ALONE.fullmatch(text.strip(_WHITE)):
        return None
    fields = _timestamp_fields(text, "UTC")
    if fields is None or fields[2] is not None:
        return None
    micros = fields[0] * _DAY_US + fields[1]
    return micros if -_INT64 <= micros < _INT64 else None


def days_of(year: int, month: int, day: int) -> int | None:
    """Days since the epoch; None if there is no such day."""
    cycles = 0 if 1 <= year <= 9999 else year // _CYCLE_YEARS - 5
    try:
        date = dt.date(year - cycles * _CYCLE_YEARS, month, day)
    except ValueError:
        return None
    return date.toordinal() - _EPOCH + cycles * _CYCLE_DAYS


def time_of(hour: int, minute: int, second: int, fraction: str) -> int | None:
    """Microseconds since midnight; digits beyond the sixth are cut off."""
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(fraction[:6].ljust(6, "0"))


def to_instant(day: int, time_us: int, zone: str) -> int:
    """A local time in `zone` as UTC. In a gap the clock has gone on; of two equal times the first is meant."""
    return day * _DAY_US + time_us - _offset_us(day, time_us, find_zone(zone.strip()))


@lru_cache(maxsize=1024)
def find_zone(name: str) -> dt.tzinfo:
    """The zone that Java finds by this name; ValueError if there is none."""
    name = SHORT_IDS.get(name, name)
    if name in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    found = _OFFSET.fullmatch(name)
    if found:
        hours, minutes, seconds = int(found[2]), int(found[3] or 0), int(found[4] or 0)
        total = hours * 3600 + minutes * 60 + seconds
        if minutes > 59 or seconds > 59 or total > 18 * 3600:
            raise ValueError(f"{name!r} is no offset of a zone")
        return dt.timezone(dt.timedelta(seconds=-total if found[1] == "-" else total))
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"{name!r} is no time zone") from error


def _offset_us(day: int, time_us: int, zone: dt.tzinfo) -> int:
    ordinal = day + _EPOCH
    if ordinal < 1:
        # Before clocks agreed, every place had its sun's time, the same on any day.
        ordinal = 1
    elif ordinal >= dt.date.max.toordinal():
        ordinal -= (ordinal // _CYCLE_DAYS - 5) * _CYCLE_DAYS
    date = dt.date.fromordinal(ordinal)
    local = dt.datetime.combine(date, dt.time()) + dt.timedelta(microseconds=time_us)
    offset = local.replace(tzinfo=zone).utcoffset() or dt.timedelta()
    return offset // dt.timedelta(microseconds=1)


def _timestamp_fields(text: str, zone: str) -> tuple[int, int, str | None] | None:
    """Day, microseconds of the day, and the zone if one is written."""
    text = text.strip(_WHITE)
    found = _TIMESTAMP.fullmatch(text)
    if found:
        day = days_of(int(found[1] + found[2]), int(found[3] or 1), int(found[4] or 1))
        parts = found.groups()[4:]
    else:
        found = _TIME_ALONE.fullmatch(text)
        if found is None:
            return None
        day = dt.datetime.now(find_zone(zone)).date().toordinal() - _EPOCH
        parts = found.groups()
    hour, minute, second, fraction, own_zone = parts
    time_us = time_of(int(hour or 0), int(minute or 0), int(second or 0), fraction or "")
    if day is None or time_us is None:
        return None
    return day, time_us, own_zone
