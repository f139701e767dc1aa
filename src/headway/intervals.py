"""Spans of time as a user writes them: Spark's interval strings, or numbers of seconds.

1. What Spark's parser takes means the same here: "2 seconds", "1 minute 30 seconds", "INTERVAL 5 SECONDS", "1.5
   seconds" (only seconds may have a fraction), signs before each number.
2. Besides, the short units us, ms, s, min, h and d are understood, with fractions: "800 ms".
3. Months and years have no fixed length and are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from headway.errors import InvalidOption

_SPACE = r"[ \t\n\r\f\v\x1c-\x1f]"
_PREFIX = re.compile(rf"interval{_SPACE}+")
_TERM = re.compile(
    rf"(?:(?P<sign>[+-]){_SPACE}*)?(?P<whole>\d*)(?P<point>\.(?P<fraction>\d{{0,9}}))?{_SPACE}+(?P<unit>[a-z]+)(?:{_SPACE}+|$)"
)
_SPARK_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_SHORT_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_NO_FIXED_LENGTH = ("month", "months", "year", "years")
_GOOD = 'write it like "800 ms", "2 seconds", "1 minute 30 seconds", or as a number of seconds'


def seconds(interval: str | float) -> float:
    """The length of an interval, which must be above zero.

    >>> seconds("800 ms")
    0.8
    >>> seconds("INTERVAL 1 MINUTE 30 SECONDS")
    90.0
    >>> seconds(0.25)
    0.25
    """
    length = duration(interval)
    if length <= 0:
        raise InvalidOption(f"{interval!r} is not a length of time above zero: {_GOOD}")
    return length


def duration(interval: str | float) -> float:
    """The length of an interval in seconds, which may be zero or negative too."""
    if isinstance(interval, str):
        return _parse(interval) / 1_000_000
    if isinstance(interval, bool) or not isinstance(interval, int | float) or not math.isfinite(interval):
        raise InvalidOption(f"{interval!r} is not a length of time: {_GOOD}")
    return float(interval)


def calendar(text: str) -> tuple[int, int]:
    """The days and the microseconds of an interval in Spark's words: where clocks change, a day is not 24 hours.

    >>> calendar("1 week 90 seconds")
    (7, 90000000)
    """
    days = micros = 0
    for unit, length in _terms(text):
        if unit in _SHORT_UNITS:
            raise InvalidOption(f"{text!r} has the unit {unit!r}, which is none of Spark's")
        if unit.removesuffix("s") in ("day", "week"):
            days += length // _SPARK_UNITS["day"]
        else:
            micros += length
    return days, micros


def _parse(text: str) -> int:
    """Microseconds."""
    micros = sum(length for _, length in _terms(text))
    if abs(micros) >= 1 << 63:
        raise InvalidOption(f"{text!r} is too long an interval: {_GOOD}")
    return micros


def _terms(text: str) -> Iterator[tuple[str, int]]:
    """The units of an interval, and how many microseconds there are of each."""
    # Spark trims control characters too.
    rest = text.strip("".join(map(chr, range(0x21))) + "\x7f").lower()
    prefix = _PREFIX.match(rest)
    at = prefix.end() if prefix else 0
    if at == len(rest):
        raise InvalidOption(f"{text!r} is not an interval: {_GOOD}")
    while at < len(rest):
        term = _TERM.match(rest, at)
        if term is None:
            raise InvalidOption(f"{text!r} is not an interval, from {rest[at:]!r} on: {_GOOD}")
        yield term["unit"], _term_micros(term, text)
        at = term.end()


def _term_micros(term: re.Match[str], text: str) -> int:
    whole, fraction, unit = term["whole"], term["fraction"], term["unit"]
    if not (whole or fraction or (term["sign"] and term["point"])):
        raise InvalidOption(f"{text!r} has no number before {unit!r}: {_GOOD}")
    scale, may_have_fraction = _scale(unit, text)
    if term["point"] and not may_have_fraction:
        raise InvalidOption(f"{text!r} has a fraction of {unit!r}, and only seconds may have one: {_GOOD}")
    micros = int(Fraction(f"{whole or 0}.{fraction or 0}") * scale)
    return -micros if term["sign"] == "-" else micros


def _scale(unit: str, text: str) -> tuple[int, bool]:
    """Microseconds in a unit, and whether a fraction of it can be written."""
    if unit in _SHORT_UNITS:
        return _SHORT_UNITS[unit], True
    if unit in _NO_FIXED_LENGTH:
        raise InvalidOption(f"{text!r} has {unit!r}, which have no fixed length: {_GOOD}")
    found = _SPARK_UNITS.get(unit) or _SPARK_UNITS.get(unit.removesuffix("s"))
    if found is None:
        raise InvalidOption(f"{text!r} has the unit {unit!r}, which is none: {_GOOD}")
    return found, unit in ("second", "seconds")
