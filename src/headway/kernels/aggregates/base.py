"""What an aggregate function is to the kernels.

1. A row is lifted to the state it would have alone; from then on there are only states, merged column by column with
   one of Arrow's grouped functions ("sum", "min", "max"), or by `collect` where Arrow has none.
2. Inside, a state may be held in another form than `states` says, one that merges well; `encode` and `decode` go
   between the two.
3. States of a group are merged in the order in which they came, so that the first and the last can be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import AggCall
from headway.dataflow.types import arrow_type

Columns = list[pa.Array]
Ints = npt.NDArray[np.int64]
COLLECT = "list"


@dataclass(frozen=True)
class Grouping:
    """The groups of a table's rows: those of group g are rows[offsets[g] : offsets[g + 1]], in the table's order."""

    rows: Ints
    offsets: Ints

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def ids(self) -> Ints:
        """The group of every row."""
        ids = np.empty(len(self.rows), np.int64)
        ids[self.rows] = np.repeat(np.arange(self.count), np.diff(self.offsets))
        return ids

    def totals(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The sum of `values`, one per row, in every group."""
        totals: npt.NDArray[np.float64] = np.bincount(self.ids, values, self.count).astype(np.float64, copy=False)
        return totals


class Function:
    """An aggregate function bound to a call.

    Of each of its columns `reductions` has the name of the grouped function and `initial` the state before any row.
    `widens` is true where `widen` and `narrow` do something, `gathers` where `gather` does.
    """

    reductions: tuple[str, ...] = (COLLECT,)
    initial: tuple[Any, ...] = (None,)
    widens = False
    gathers = False
    kept_apart = False
    """Whether what it has of settled groups may be kept apart from tables (see `sets`)."""

    def __init__(self, call: AggCall) -> None:
        self.call = call
        self.options: dict[str, Any] = dict(call.options)
        self.ansi = bool(self.options.get("ansi", True))
        self.arguments = [arrow_type(arg.type) for arg in call.args]
        self.result = arrow_type(call.type)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        """The types of the state's columns as partials and checkpoints have them."""
        raise NotImplementedError

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        """Every row's own state; an argument is null where the row does not count."""
        raise NotImplementedError

    def encode(self, states: Columns) -> Columns:
        """From the columns of `states` to those held."""
        return states

    def decode(self, columns: Columns) -> Columns:
        """From the columns held to those of `states`."""
        return columns

    def widen(self, columns: Columns) -> Columns:
        """Called before columns are merged, to change to a type that cannot overflow if this one may."""
        return columns

    def narrow(self, columns: Columns) -> Columns:
        """Called after columns were merged, to undo `widen`."""
        return columns

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        """Merge the columns whose reduction is `COLLECT`: a row per group."""
        raise NotImplementedError

    def gather(self, args: Sequence[pa.Array], grouping: Grouping) -> Columns:
        """As `collect` of what `lift` makes of the rows, without making a state of every row."""
        raise NotImplementedError

    def finish(self, columns: Columns) -> pa.Array:
        """The results, of the call's type."""
        return columns[0]


def cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """`array` as `kind`, which is wider; longs beyond 2^53 lose digits as doubles, as they do in Spark."""
    return array if array.type == kind else array.cast(kind, safe=False)


def counted(args: Sequence[pa.Array], rows: int) -> pa.Array:
    """1 for every row in which no argument is null, else 0."""
    nullable = [arg for arg in args if arg.null_count]
    if not nullable:
        return pa.array(np.ones(rows, np.int64))
    valid = nullable[0].is_valid()
    for arg in nullable[1:]:
        valid = pc.and_(valid, arg.is_valid())
    return valid.cast(pa.int64())


def valid_rows(*arrays: pa.Array) -> npt.NDArray[np.bool_]:
    """Which rows are null in none of the arrays."""
    valid = np.ones(len(arrays[0]), np.bool_)
    for array in arrays:
        if array.null_count:
            valid &= array.is_valid().to_numpy(zero_copy_only=False)
    return valid
