"""Rows of a Bytewax dataflow that tell when they have come to the window operator.

The operator asks every value for its event time, once, when it takes it; a marked value notes that. It is a row like
any other otherwise, and no other row costs more for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from bench.libraries.board import Slot
from bench.libraries.run import now_us
from bench.libraries.steps import EPOCH, Keyed, Row

EVERY = timedelta(milliseconds=50)
"""Of the schedule: stalls are sampled as they are, whatever batches they make."""
_MICROSECOND = timedelta(microseconds=1)
_slots: list[Slot] = []


def tell(slot: Slot) -> None:
    """Where this process's marks go."""
    _slots[:] = [slot]


class Mark(tuple[Any, ...]):
    """A value whose first field is its event time, which is when its row was due."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        field = tuple.__getitem__(self, index)
        if index == 0:
            _slots[0].mark(now_us() - (field - EPOCH) // _MICROSECOND)
        return field


class Marking:
    """A step that marks some of the rows that another one keeps."""

    def __init__(self, keep: Callable[[list[Row]], list[Keyed]]) -> None:
        self._keep = keep
        self._next = EPOCH

    def __call__(self, rows: list[Row]) -> list[Keyed]:
        kept = self._keep(rows)
        while kept and self._next <= _time(kept[-1]):
            at = bisect_left(kept, self._next, key=_time)
            time, (key, value) = _time(kept[at]), kept[at]
            kept[at] = key, Mark(value)
            self._next = time + EVERY - (time - EPOCH) % EVERY
        return kept


def _time(row: Keyed) -> datetime:
    time: datetime = tuple.__getitem__(row[1], 0)
    return time
