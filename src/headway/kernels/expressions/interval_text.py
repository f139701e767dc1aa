"""Texts as intervals of the calendar: their days, and their microseconds."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.errors import InvalidOption
from headway.intervals import calendar
from headway.kernels.expressions.registry import RowError, evaluates


@evaluates("IntervalDays", "IntervalMicros")
def _part(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    part = 0 if call.function == "IntervalDays" else 1
    texts = args[0].dictionary_encode()
    found = pa.array([_interval(text)[part] for text in texts.dictionary.to_pylist()], pa.int64())
    return found.take(texts.indices)


def _interval(text: str) -> tuple[int | None, int | None]:
    try:
        return calendar(text)
    except InvalidOption:
        if any(unit in text.lower() for unit in ("month", "year")):
            raise RowError(f"an interval of months or years, {text!r}, is not supported here: use days") from None
        return None, None
