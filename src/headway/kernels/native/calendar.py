"""The calendar and Spark's 64-bit hash, as kernels call them; dates are days since 1970, in the Gregorian calendar."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
from __future__ import annotations

from headway.kernels.native.machine import unsigned_shift
from headway.kernels.native.runtime import floor_div, floor_mod, i64

# The primes of xxHash, as signed numbers.
_P1, _P2, _P3, _P4, _P5 = (
    -7046029288634856825,
    -4417276706812531889,
    1609587929392839161,
    -8796714831421723037,
    2870177450012600261,
)


def _era(days):
    """Years of 365.2425 days begin in March, so that the leap day comes last: era, year of it, day of that year."""
    shifted = days + 719468
    era = floor_div(shifted, i64(146097))
    day = shifted - era * 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    return era, year, day - (365 * year + year // 4 - year // 100)


def month_of(days):
    march = (5 * _era(days)[2] + 2) // 153
    return march + 3 if march < 10 else march - 9


def year_of(days):
    era, year, day = _era(days)
    return year + era * 400 + (1 if day >= 306 else 0)


def day_of(days):
    day = _era(days)[2]
    march = (5 * day + 2) // 153
    return day - (153 * march + 2) // 5 + 1


def day_of_year(days):
    day = _era(days)[2]
    year = year_of(days)
    leap = floor_mod(year, i64(4)) == 0 and (floor_mod(year, i64(100)) != 0 or floor_mod(year, i64(400)) == 0)
    return day - 305 if day >= 306 else day + (61 if leap else 60)


def _rotate(value, by):
    return (value << by) | unsigned_shift(value, 64 - by)


def _finish(code):
    code = (code ^ unsigned_shift(code, i64(33))) * i64(_P2)
    code = (code ^ unsigned_shift(code, i64(29))) * i64(_P3)
    return code ^ unsigned_shift(code, i64(32))


def hash_long(value, seed):
    code = seed + i64(_P5) + 8
    code ^= _rotate(value * i64(_P2), i64(31)) * i64(_P1)
    return _finish(_rotate(code, i64(27)) * i64(_P1) + i64(_P4))


def hash_int(value, seed):
    code = seed + i64(_P5) + 4
    code ^= (value & i64(0xFFFFFFFF)) * i64(_P1)
    return _finish(_rotate(code, i64(23)) * i64(_P2) + i64(_P3))
