"""The columns of a ring's rows as expressions of Pathway, over the rows' numbers.

A column is a constant of the dataflow, and a row's value in it is looked up: the rows cost the source nothing, and a
column that a query does not read, or reads of some rows alone, is made for no other.
"""

from __future__ import annotations

from typing import Any

import pathway as pw  # type: ignore[import-not-found]

from bench.libraries.share import UNPACED_ROWS_PER_US


def looked_up(values: Any, at: Any) -> Any:
    """The value at a position of an array of numbers, as an expression.

    Of an array: to look into a tuple costs every row as much as the tuple is long.
    """
    # An element of an array of unknown dimensions may be an array to Pathway, hence the step over Any.
    element = pw.declare_type(Any, pw.coalesce(values)[at])
    return pw.declare_type(int if values.dtype.kind == "i" else float, element)


class Ring:
    """`ring["name"]` is a column, and `ring.event_time` when a row is due, in microseconds."""

    def __init__(self, columns: dict[str, Any], t0_us: int, rate: int) -> None:
        self._columns = columns
        self._rows = len(next(iter(columns.values())))
        self._t0 = t0_us
        self._rate = rate

    def __getitem__(self, name: str) -> Any:
        return looked_up(self._columns[name], pw.this.number % self._rows)

    @property
    def event_time(self) -> Any:
        if self._rate == 0:
            return self._t0 + pw.this.number // UNPACED_ROWS_PER_US
        return self._t0 + pw.this.number * 1_000_000 // self._rate
