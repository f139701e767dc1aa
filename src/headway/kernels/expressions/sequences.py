"""Sequences of numbers, dates and times from a first to a last value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.calendar import add_months
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.time_units import plus_days, plus_months
from headway.kernels.expressions.times import toward_zero, zone_of
from headway.kernels.expressions.vectors import Mask, Vector, column, fail_at, numbers, valid
from headway.kernels.lists import list_array
from headway.kernels.zones import DAY

Args = Sequence[pa.Array]
_SHORTEST_MONTH = 28
_LONGEST = 2**31 - 16


@evaluates("Sequence")
def _sequence(call: Call, args: Args) -> pa.Array:
    """Candidates up to the most there may be, less those beyond the end: months differ in length, and days too."""
    first, last = (numbers(arg).astype(np.int64) for arg in args[:2])
    rows = valid(*args)
    step, most = _step(call, args, first, last)
    _check(call, args, rows, first, last, step)
    counts = np.where(rows & (first != last), np.abs(last - first) // np.maximum(np.abs(most), 1) + 1, rows)
    parents = np.repeat(np.arange(len(rows)), counts)
    place = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    values = _at(call, args, first[parents], step[parents], place)
    inside = np.where(step[parents] > 0, values <= last[parents], values >= last[parents]) | (place == 0)
    lengths = np.bincount(parents[inside], minlength=len(rows))
    return list_array(column(values[inside], arrow_type(call.type).value_type), lengths, rows)


def _check(call: Call, args: Args, rows: Mask, first: Vector, last: Vector, step: Vector) -> None:
    bad = rows & (((step == 0) & (first != last)) | ((step > 0) & (first > last)) | ((step < 0) & (first < last)))
    fail_at(bad, lambda row: f"[_LEGACY_ERROR_TEMP_3243] {first[row]} does not reach {last[row]} by {step[row]}")
    with np.errstate(divide="ignore"):
        long = rows & (np.abs(last - first) // np.maximum(np.abs(step), 1) > _LONGEST)
    fail_at(long, lambda row: f"[COLLECTION_SIZE_LIMIT_EXCEEDED] {call} is too long")


def _step(call: Call, args: Args, first: Vector, last: Vector) -> tuple[Vector, Vector]:
    """The step in its own unit, and no more than it in the unit of the values."""
    timed = pa.types.is_timestamp(args[0].type)
    if len(args) < 3:
        step = np.where(first <= last, 1, -1) * (DAY if timed else 1)
        return step, step
    step = numbers(args[2].view(pa.int64()) if pa.types.is_duration(args[2].type) else args[2]).astype(np.int64)
    if pa.types.is_duration(args[2].type) and not timed:
        step = step // DAY
    if _by_months(call, args):
        return step, step * _SHORTEST_MONTH * (DAY if timed else 1)
    # A day may have 23 hours.
    return step, np.where(np.abs(step) >= DAY, step * 23 // 24, step) if timed else step


def _by_months(call: Call, args: Args) -> bool:
    integers = pa.types.is_integer(args[0].type)
    return len(args) > 2 and not integers and not pa.types.is_duration(args[2].type)


def _at(call: Call, args: Args, first: Vector, step: Vector, place: Vector) -> Vector:
    if not pa.types.is_timestamp(args[0].type):
        moved: Vector = add_months(first, step * place) if _by_months(call, args) else first + step * place
        return moved
    zone = zone_of(call, args[0])
    if _by_months(call, args):
        return plus_months(zone, first, step * place)
    days = toward_zero(step, DAY)
    later: Vector = plus_days(zone, first, days * place) + (step - days * DAY) * place
    return later
