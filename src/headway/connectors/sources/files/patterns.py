"""Patterns of dates and times (`yyyy/MM/dd HH:mm`), as Spark hands them to Java, compiled to regular expressions.

The letters that people use to read data are here; a pattern with any other is left to Spark.
"""

from __future__ import annotations

import re
from functools import lru_cache

from headway.connectors.sources.files.moments import days_of, time_of, to_instant
from headway.errors import UnsupportedPlan

_MONTHS = ["january", "february", "march", "april", "may", "june"]
_MONTHS += ["july", "august", "september", "october", "november", "december"]

_PIECE = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|.", re.DOTALL)

_LETTERS = {
    "yy": ("year2", r"\d{2}"),
    "yyyy": ("year", r"\d{4}|\+\d{5,6}|-\d{4,6}"),
    "M": ("month", r"\d{1,2}"),
    "MM": ("month", r"\d{2}"),
    "MMM": ("month_name", "|".join(name[:3] for name in _MONTHS)),
    "MMMM": ("month_name", "|".join(_MONTHS)),
    "d": ("day", r"\d{1,2}"),
    "dd": ("day", r"\d{2}"),
    "H": ("hour", r"\d{1,2}"),
    "HH": ("hour", r"\d{2}"),
    "h": ("hour12", r"\d{1,2}"),
    "hh": ("hour12", r"\d{2}"),
    "a": ("half", "am|pm"),
    "m": ("minute", r"\d{1,2}"),
    "mm": ("minute", r"\d{2}"),
    "s": ("second", r"\d{1,2}"),
    "ss": ("second", r"\d{2}"),
    "X": ("zone", r"Z|[+-]\d{2}(?:\d{2})?"),
    "XX": ("zone", r"Z|[+-]\d{4}"),
    "XXX": ("zone", r"Z|[+-]\d{2}:\d{2}"),
    "Z": ("zone", r"[+-]\d{4}"),
    "ZZ": ("zone", r"[+-]\d{4}"),
    "ZZZ": ("zone", r"[+-]\d{4}"),
    "VV": ("zone", r"[A-Za-z0-9/_+:-]+"),
}


class Pattern:
    """A compiled pattern; `date`, `timestamp` and `timestamp_ntz` give None for a text that does not follow it."""

    def __init__(self, text: str) -> None:
        self._regex = re.compile(_regex(text), re.IGNORECASE | re.DOTALL)

    def date(self, text: str) -> int | None:
        found = self._fields(text)
        return None if found is None else _day(found)

    def timestamp(self, text: str, zone: str) -> int | None:
        local = self._local(text)
        if local is None:
            return None
        day, time_us, own_zone = local
        try:
            return to_instant(day, time_us, own_zone or zone)
        except ValueError:
            return None

    def timestamp_ntz(self, text: str) -> int | None:
        local = self._local(text)
        return None if local is None or local[2] else local[0] * 86_400_000_000 + local[1]

    def _local(self, text: str) -> tuple[int, int, str | None] | None:
        found = self._fields(text)
        if found is None:
            return None
        day, time_us = _day(found), _time(found)
        return None if day is None or time_us is None else (day, time_us, found.get("zone"))

    def _fields(self, text: str) -> dict[str, str] | None:
        found = self._regex.fullmatch(text)
        return found and {key: value for key, value in found.groupdict().items() if value is not None}


@lru_cache(maxsize=64)
def compile_pattern(text: str) -> Pattern:
    """The pattern, compiled once; raises UnsupportedPlan for letters that are left to Spark."""
    return Pattern(text)


def _regex(text: str) -> str:
    out, named = "", set()
    previous_open = False
    for piece in _PIECE.finditer(text):
        token = piece[0]
        if token[0] == "'":
            out += re.escape(token[1:-1].replace("''", "'") or "'")
        elif not piece[1]:
            out += _literal(token, text)
        else:
            name, body = _letter(token, text)
            if name in named or (previous_open and body.startswith(r"\d")):
                raise _unsupported(text, token)
            named.add(name)
            out += f"(?P<{name}>{body})"
            previous_open = r"{1," in body
            continue
        previous_open = False
    return out


def _literal(token: str, text: str) -> str:
    if token in "{}#":
        raise _unsupported(text, token)
    return {"[": "(?:", "]": ")?"}.get(token) or re.escape(token)


def _letter(token: str, text: str) -> tuple[str, str]:
    if token[0] == "S" and len(token) <= 9:
        return "fraction", rf"\d{{1,{len(token)}}}"
    found = _LETTERS.get(token)
    if found is None:
        raise _unsupported(text, token)
    return found


def _unsupported(text: str, token: str) -> UnsupportedPlan:
    return UnsupportedPlan(f"date-time pattern {text!r}", f"{token!r} in it has no native implementation yet")


def _day(found: dict[str, str]) -> int | None:
    year = 2000 + int(found["year2"]) if "year2" in found else int(found.get("year", 1970))
    if "month_name" in found:
        month = 1 + [name[:3] for name in _MONTHS].index(found["month_name"][:3].lower())
    else:
        month = int(found.get("month", 1))
    return days_of(year, month, int(found.get("day", 1)))


def _time(found: dict[str, str]) -> int | None:
    hour = int(found.get("hour", 0))
    afternoon = found.get("half", "").lower() == "pm"
    if "hour12" in found:
        clock = int(found["hour12"])
        if not 1 <= clock <= 12:
            return None
        hour = clock % 12 + 12 * afternoon
    elif "hour" not in found and afternoon:
        hour = 12
    elif "half" in found and (hour >= 12) != afternoon:
        return None
    return time_of(hour, int(found.get("minute", 0)), int(found.get("second", 0)), found.get("fraction", ""))
