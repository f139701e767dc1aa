"""Dates and times written and read by a pattern's fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import days_of, is_date, year_month_day
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.times import HOUR, MINUTE, toward_zero, weekday, zone_of
from headway.kernels.expressions.vectors import Mask, Vector, column, fail_at, flags, numbers, only, valid
from headway.kernels.zones import DAY, SECOND, zone

Args = Sequence[pa.Array]
Field = tuple[str, int, str]

_OFFSETS = ("X", "x", "Z")
_DAY_NAMES = pa.array(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
_MONTH_NAMES = pa.array(
    [
        *("January", "February", "March", "April", "May", "June", "July"),
        *("August", "September", "October", "November", "December"),
    ]
)


@evaluates("DateFormatClass")
def _format(call: Call, args: Args) -> pa.Array:
    (time,) = args
    local = zone_of(call, time).local(numbers(time))
    return only(_written(call, local, local - numbers(time)), valid(time))


@evaluates("FromUnixTime")
def _from_unix_time(call: Call, args: Args) -> pa.Array:
    (seconds,) = args
    instants = numbers(seconds).astype(np.int64) * SECOND
    local = zone(call.option("time_zone")).local(instants)
    return only(_written(call, local, local - instants), valid(seconds))


def _written(call: Call, local: Vector, offsets: Vector) -> pa.Array:
    """The texts. The times of a batch are mostly of few days, hours or minutes: where a pattern tells no finer parts,
    one time of each is written."""
    fields = call.option("fields")
    unit = min((_unit(letter) for letter, _, _ in fields), default=DAY)
    if unit < SECOND:
        return _joined(call, local, offsets)
    if len(local) and local.min() // unit == local.max() // unit:
        return pa.repeat(_joined(call, local[:1], offsets[:1])[0], len(local))
    parts = pa.array(local // unit).dictionary_encode()
    index = parts.indices.to_numpy()
    some = np.empty(len(parts.dictionary), np.int64)
    some[index] = local
    return _joined(call, some, offsets).take(parts.indices)


def _unit(letter: str) -> int:
    """All times of one such unit have the same text for this letter."""
    return 1 if letter == "S" or letter in _OFFSETS else _UNITS.get(letter, DAY)


def _joined(call: Call, local: Vector, offsets: Vector) -> pa.Array:
    pieces = [
        _offset(offsets, *field) if field[0] in _OFFSETS else _piece(local, *_named(call, *field))
        for field in call.option("fields")
    ]
    if not pieces:
        return pa.array([""] * len(local), pa.string())
    return pc.binary_join_element_wise(*pieces, "") if len(pieces) > 1 else pieces[0]


def _named(call: Call, letter: str, count: int, text: str) -> Field:
    """The zone's own name is a text; the month stands alone as it does in a date."""
    if letter == "V":
        return ("", 0, call.option("time_zone"))
    return ("M" if letter == "L" else letter, count, text)


def _offset(offsets: Vector, letter: str, count: int, _: str) -> pa.Array:
    """An offset from UTC: X writes Z for none, x and Z write zeros; one letter leaves out minutes that are zero."""
    found, index = np.unique(offsets // SECOND, return_inverse=True)
    return pa.array([_offset_text(int(seconds), letter, count) for seconds in found], pa.string()).take(pa.array(index))


def _offset_text(seconds: int, letter: str, count: int) -> str:
    if letter == "X" and seconds == 0:
        return "Z"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    text = f"{'-' if seconds < 0 else '+'}{hours:02d}"
    if letter != "Z" and count == 1 and not minutes:
        return text
    return f"{text}{':' if letter != 'Z' and count == 3 else ''}{minutes:02d}"


def _piece(local: Vector, letter: str, count: int, text: str) -> pa.Array:
    if not letter:
        return pa.repeat(pa.scalar(text), len(local))
    if letter == "y":
        return _year(year_month_day(local // DAY)[0], count)
    if (letter == "M" and count > 2) or letter == "E":
        names = _MONTH_NAMES if letter == "M" else _DAY_NAMES
        index = year_month_day(local // DAY)[1] - 1 if letter == "M" else weekday(local // DAY)
        full = names.take(pa.array(index))
        return full if count == 4 else pc.utf8_slice_codeunits(full, 0, 3)
    if letter == "Q":
        quarter = pc.cast(pa.array((year_month_day(local // DAY)[1] + 2) // 3), pa.string())
        return pc.binary_join_element_wise(("", "0", "Q")[count - 1], quarter, "")
    if letter == "a":
        return pc.if_else(pa.array(local % DAY < DAY // 2), "AM", "PM")
    if letter == "S":
        fraction = pc.utf8_lpad(pc.cast(pa.array(local % SECOND), pa.string()), 6, "0")
        return pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, 9, "0"), 0, count)
    return pc.utf8_lpad(pc.cast(pa.array(_NUMBERS[letter](local)), pa.string()), count, "0")


_UNITS = {"s": SECOND, "m": MINUTE, **dict.fromkeys("aHkKh", HOUR)}
"""Of letters that do not tell of whole days."""
_NUMBERS: dict[str, Callable[[Vector], Vector]] = {
    "M": lambda local: year_month_day(local // DAY)[1],
    "d": lambda local: year_month_day(local // DAY)[2],
    "D": lambda local: local // DAY - days_of(year_month_day(local // DAY)[0], 1, 1) + 1,
    "H": lambda local: local % DAY // HOUR,
    "k": lambda local: (local % DAY // HOUR + 23) % 24 + 1,
    "K": lambda local: local % DAY // HOUR % 12,
    "h": lambda local: (local % DAY // HOUR + 11) % 12 + 1,
    "m": lambda local: local % HOUR // MINUTE,
    "s": lambda local: local % MINUTE // SECOND,
}


def _year(year: Vector, count: int) -> pa.Array:
    """Four digits; more have a sign. Two letters are the year of the century."""
    if count == 2:
        return pc.utf8_lpad(pc.cast(pa.array(np.abs(year) % 100), pa.string()), 2, "0")
    digits = pc.utf8_lpad(pc.cast(pa.array(np.abs(year)), pa.string()), count, "0")
    sign = np.where(year < 0, "-", np.where((year > 9999) & (count == 4), "+", ""))
    return pc.binary_join_element_wise(pa.array(sign, pa.string()), digits, "")


@evaluates("GetTimestamp")
def _get_timestamp(call: Call, args: Args) -> pa.Array:
    kind = arrow_type(call.type)
    instants, local, good = _read(args[0], call)
    return column(instants if kind.tz else local, kind, good)


@evaluates("UnixTimestamp", "ToUnixTimestamp")
def _unix_timestamp(call: Call, args: Args) -> pa.Array:
    (time,) = args
    place = zone(call.option("time_zone"))
    if pa.types.is_string(time.type):
        instants, _, good = _read(time, call)
        return column(toward_zero(instants, SECOND), pa.int64(), good)
    if pa.types.is_date(time.type):
        return column(toward_zero(place.start_of_day(numbers(time)), SECOND), pa.int64(), valid(time))
    instants = numbers(time) if time.type.tz else place.instants(numbers(time))
    return column(toward_zero(instants, SECOND), pa.int64(), valid(time))


def _read(text: pa.Array, call: Call) -> tuple[Vector, Vector, Mask]:
    """Instants, local times, and which rows have one; in ANSI mode a text that does not fit the pattern raises."""
    fields = {letter: count for letter, count, _ in call.option("fields")}
    parts = pc.extract_regex(text, _regex(call.option("fields")))
    year, day = _number(parts, "y", 1970), _number(parts, "d", 1)
    year = year + 2000 if fields.get("y") == 2 else year
    month = _month(parts, fields["M"]) if fields.get("M", 0) > 2 else _number(parts, "M", 1)
    hour, minute, second = (_number(parts, letter, 0) for letter in "Hms")
    hour = _half_day_hour(parts) if "h" in fields else hour
    good = flags(pc.is_valid(parts)) & is_date(year, month, day) & (hour < 24) & (minute < 60) & (second < 60)
    if call.option("ansi"):
        fail_at(valid(text) & ~good, lambda row: f"[CANNOT_PARSE_TIMESTAMP] {text[row]} does not fit the pattern")
    days = days_of(np.where(good, year, 1970), np.where(good, month, 1), np.where(good, day, 1))
    local = days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + _fraction(parts)
    offset = next((letter for letter in _OFFSETS if letter in fields), None)
    if offset is None:
        return zone(call.option("time_zone")).instants(local), local, good
    return local - _seconds(_field(parts, offset)) * SECOND, local, good


def _half_day_hour(parts: pa.Array) -> Vector:
    """The hour of a clock with twelve of them; 24 and more where there is no such hour."""
    hour = _number(parts, "h", 12)
    afternoon = flags(pc.match_substring(_field(parts, "a"), "P", ignore_case=True))
    return np.where((hour >= 1) & (hour <= 12), hour % 12 + np.where(afternoon, 12, 0), 24)


def _month(parts: pa.Array, count: int) -> Vector:
    """The number of a month that is named, 1 where there is none."""
    names = [name if count == 4 else name[:3] for name in _MONTH_NAMES.to_pylist()]
    at = pc.index_in(pc.utf8_lower(_field(parts, "M")), pa.array([name.lower() for name in names]))
    return numbers(at).astype(np.int64) + 1


def _seconds(offsets: pa.Array) -> Vector:
    """Offsets such as +02:00, -0530 or Z in seconds."""
    encoded = offsets.dictionary_encode()
    known = [_offset_seconds(text) for text in encoded.dictionary.to_pylist()]
    return numbers(pa.array([*known, 0], pa.int64()).take(encoded.indices.fill_null(len(known))))


def _offset_seconds(text: str) -> int:
    digits = text[1:].replace(":", "").ljust(4, "0")
    if not digits.isdigit() or len(text) < 3:
        return 0
    return (int(digits[:2]) * 3600 + int(digits[2:4]) * 60) * (-1 if text[0] == "-" else 1)


def _regex(fields: Sequence[Field]) -> str:
    return f"(?i)^{''.join(_field_regex(*field) for field in fields)}$"


def _field_regex(letter: str, count: int, text: str) -> str:
    if not letter:
        return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)
    if letter == "M" and count > 2:
        names = [name if count == 4 else name[:3] for name in _MONTH_NAMES.to_pylist()]
        return f"(?P<M>{'|'.join(names)})"
    if letter in _OFFSETS:
        return f"(?P<{letter}>{_offset_regex(letter, count)})"
    width = {"y": r"-?[0-9]{4}|[+-][0-9]{5,6}", "S": f"[0-9]{{1,{count}}}", "a": "AM|PM"}.get(letter)
    width = "[0-9]{2}" if letter == "y" and count == 2 else width
    return f"(?P<{letter}>{width or ('[0-9]{2}' if count == 2 else '[0-9]{1,2}')})"


def _offset_regex(letter: str, count: int) -> str:
    zero = "Z|" if letter == "X" else ""
    if letter == "Z":
        return r"[+-][0-9]{4}"
    return zero + (r"[+-][0-9]{2}(?:[0-9]{2})?", r"[+-][0-9]{4}", r"[+-][0-9]{2}:[0-9]{2}")[count - 1]


def _field(parts: pa.Array, letter: str) -> Any:
    names = [parts.type.field(i).name for i in range(parts.type.num_fields)]
    return pc.struct_field(parts, letter) if letter in names else None


def _number(parts: pa.Array, letter: str, default: int) -> Vector:
    text = _field(parts, letter)
    if text is None:
        return np.full(len(parts), default, np.int64)
    values: Vector = pc.cast(pc.utf8_ltrim(pc.fill_null(text, str(default)), "+"), pa.int64()).to_numpy()
    return values


def _fraction(parts: pa.Array) -> Vector:
    text = _field(parts, "S")
    if text is None:
        return np.zeros(len(parts), np.int64)
    digits = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(text, "0"), 6, "0"), 0, 6)
    micros: Vector = pc.cast(digits, pa.int64()).to_numpy()
    return micros
