"""Time zones over whole columns, resolved as Java does.

1. A local time that a change of clocks skips is moved on by the length of the gap; one that comes twice is the first.
2. Offsets follow a zone's last rule for ever: the calendar repeats every 400 years, and so do offsets after the year
   that the table ends with. (Arrow's own time zone functions stop changing clocks in 2037.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from headway.errors import UnsupportedPlan

Micros = npt.NDArray[np.int64]

SECOND = 1_000_000
DAY = 86_400 * SECOND
_CYCLE = 146_097 * DAY
_LAST = np.iinfo(np.int64).max
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Before the first of these clocks follow the sun; from the second on there are only yearly rules.
_FIRST, _RULES, _END = (datetime(year, 1, 1, tzinfo=UTC) for year in (1800, 2038, 2438))
_FOLD_FROM = (_END - _EPOCH - timedelta(days=2)) // timedelta(microseconds=1)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?")
_MOST_SECONDS = 18 * 3600
SHORT_IDS = {
    "EST": "-05:00",
    "HST": "-10:00",
    "MST": "-07:00",
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""The zones of three letters, as in java.time.ZoneId.SHORT_IDS."""


@dataclass(frozen=True)
class Zone:
    """A zone's changes: `offsets[i]` holds until the instant `changes[i]`, `offsets[i + 1]` from it on."""

    changes: Micros
    offsets: Micros

    def local(self, instants: Micros) -> Micros:
        """The local times of instants (microseconds since the epoch, UTC)."""
        if not len(self.changes):
            at = np.zeros(len(instants), np.intp)
        else:
            at = np.searchsorted(self.changes, instants - self._fold(instants), "right")
        local: Micros = instants + self.offsets[at]
        return local

    def instants(self, local: Micros) -> Micros:
        """The instants of local times; rule 1."""
        return self._instants(local)[0]

    def resolve(self, local: Micros, offsets: Micros) -> Micros:
        """The instants of local times made from others with these `offsets`, which a time that comes twice keeps."""
        kept = local - offsets
        return np.where(self.local(kept) == local, kept, self.instants(local))

    def start_of_day(self, days: npt.NDArray[np.signedinteger]) -> Micros:
        """The first instant of every day (days since the epoch): after a gap that swallows midnight, the gap's end."""
        instants, bound = self._instants(days.astype(np.int64) * DAY)
        return np.minimum(instants, bound)

    def _instants(self, local: Micros) -> tuple[Micros, Micros]:
        """The instants, and for each the next change of clocks."""
        if not len(self.changes):
            return local - self.offsets[0], np.full(len(local), _LAST)
        fold = self._fold(local)
        # In a gap and in an overlap alike, the offset from before the change is the one that Java applies.
        starts = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        at = np.searchsorted(starts, local - fold, "right")
        following = np.append(self.changes, _LAST)[at]
        return local - self.offsets[at], np.where(following > _LAST - fold, _LAST, following + fold)

    def _fold(self, times: Micros) -> Micros:
        """Whole cycles to take off so that `times` come to lie within the table."""
        beyond = times > _FOLD_FROM
        if not beyond.any():
            return np.zeros_like(times)
        return np.where(beyond, (times - _FOLD_FROM + _CYCLE - 1) // _CYCLE * _CYCLE, 0)


def zone(name: str) -> Zone:
    """The zone that Java calls `name`: a region, an offset, or one of the short ids.

    >>> zone("+01:00").local(np.array([0])).tolist()
    [3600000000]
    """
    found = find_zone(name)
    if found is None:
        raise UnsupportedPlan(
            f"time zone {name}", "it is unknown here; use a region such as Europe/Berlin or an offset"
        )
    return found


@lru_cache(maxsize=64)
def find_zone(name: str) -> Zone | None:
    """The zone, None if there is none of that name."""
    # Spark also takes (+|-)h:mm and (+|-)hh:m.
    name = re.sub(r"([+-])(\d):", r"\g<1>0\2:", name, count=1)
    name = re.sub(r"([+-])(\d\d):(\d)$", r"\1\2:0\3", name)
    name = SHORT_IDS.get(name, name)
    seconds = _offset_seconds(name)
    if seconds is not None:
        return Zone(np.zeros(0, np.int64), np.array([seconds * SECOND]))
    try:
        return _table(ZoneInfo(name)) if "/" in name or name.isalnum() else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _offset_seconds(name: str) -> int | None:
    """The seconds of a fixed offset: Z, +hh:mm, UTC+h and so on; None if `name` is a region."""
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    matched = _OFFSET.fullmatch(re.sub(r"^(UTC|GMT|UT)(?=[+-])", "", name))
    if matched is None:
        return None
    sign, hours, minutes, rest = matched.groups()
    seconds = int(hours) * 3600 + int(minutes or 0) * 60 + int(rest or 0)
    if seconds > _MOST_SECONDS or int(minutes or 0) > 59 or int(rest or 0) > 59:
        return None
    return -seconds if sign == "-" else seconds


def _table(region: ZoneInfo) -> Zone:
    """All changes of a region's offset, found by sampling days and halving where two samples differ."""
    at, offset = _FIRST, _seconds(region, _FIRST)
    changes: list[int] = []
    offsets = [offset]
    while at < _END:
        following = at + timedelta(days=1 if at < _RULES else 10)
        then = _seconds(region, following)
        if then != offset:
            changes.append(_bisect(region, at, following))
            offsets.append(then)
            offset = then
        at = following
    return Zone(np.array(changes, np.int64) * SECOND, np.array(offsets, np.int64) * SECOND)


def _seconds(region: ZoneInfo, at: datetime) -> int:
    offset = at.astimezone(region).utcoffset()
    assert offset is not None
    return int(offset.total_seconds())


def _bisect(region: ZoneInfo, low: datetime, high: datetime) -> int:
    """The second (since the epoch) from which the offset is that of `high`."""
    start, end = int(low.timestamp()), int(high.timestamp())
    before = _seconds(region, low)
    while end - start > 1:
        middle = (start + end) // 2
        if _seconds(region, _EPOCH + timedelta(seconds=middle)) == before:
            start = middle
        else:
            end = middle
    return end
