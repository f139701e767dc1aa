"""Dates in the proleptic Gregorian calendar over whole columns: days since the epoch and their parts."""

from __future__ import annotations

import numpy as np

from headway.kernels.expressions.vectors import Mask, Vector

_MONTH_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def year_month_day(days: Vector) -> tuple[Vector, Vector, Vector]:
    """The parts of days since the epoch; months and days from 1."""
    dates = days.astype("M8[D]")
    months = dates.astype("M8[M]")
    month = months.astype(np.int64)
    day = (dates - months.astype("M8[D]")).astype(np.int64) + 1
    return month // 12 + 1970, month % 12 + 1, day


def days_of(year: Vector, month: Vector | int, day: Vector | int) -> Vector:
    """Days since the epoch; a day past the month's end runs on into the next."""
    months = (year.astype(np.int64) - 1970) * 12 + (month - 1)
    days: Vector = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + (day - 1)
    return days


def month_length(year: Vector, month: Vector) -> Vector:
    """How many days a month has; `month` must be 1 to 12."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    length: Vector = _MONTH_LENGTHS[month - 1] + (leap & (month == 2))
    return length


def is_date(year: Vector, month: Vector, day: Vector) -> Mask:
    """Which of these are dates."""
    right = (month >= 1) & (month <= 12)
    result: Mask = right & (day >= 1) & (day <= month_length(year, np.where(right, month, 1)))
    return result


def add_months(days: Vector, months: Vector | int) -> Vector:
    """As many months later, on the same day of the month or the last it has."""
    year, month, day = year_month_day(days)
    total = year * 12 + (month - 1) + months
    year, month = total // 12, total % 12 + 1
    return days_of(year, month, np.minimum(day, month_length(year, month)))
