"""Functions that pick one row of a group and keep a value of it: min, max, max_by, min_by, first, last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.graph import AggCall
from headway.kernels.aggregates.base import COLLECT, Columns, Function, Grouping, Ints, valid_rows
from headway.kernels.floats import ordered, unordered
from headway.kernels.ranks import ranks


class Extreme(Function):
    """min and max of everything that Arrow orders as Spark does: strings by bytes, false before true."""

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.reductions = (call.function,)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.arguments[0],)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [args[0]]


class FloatExtreme(Extreme):
    """min and max of floats, where NaN is the greatest: merged as integers in the floats' order."""

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [ordered(args[0])]

    def encode(self, states: Columns) -> Columns:
        return [ordered(states[0])]

    def decode(self, columns: Columns) -> Columns:
        return [unordered(columns[0])]

    def finish(self, columns: Columns) -> pa.Array:
        return unordered(columns[0])


class StructExtreme(Extreme):
    """min and max of structs, field by field."""

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.reductions = (COLLECT,)

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        return [columns[0].take(_best(columns[0], grouping, self.call.function == "max"))]


class ExtremeBy(Function):
    """max_by and min_by: the value, and what it is chosen by. Of equals the last one counts."""

    reductions = (COLLECT, COLLECT)
    initial = (None, None)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.arguments[0], self.arguments[1])

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return list(args)

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        best = _best(columns[1], grouping, self.call.function == "max_by")
        return [column.take(best) for column in columns]


class FirstOrLast(Function):
    """first and last: the value, and whether there is one. A second argument says which rows count."""

    reductions = (COLLECT, COLLECT)
    initial = (None, False)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.arguments[0], pa.bool_())

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        if len(args) > 1:
            return [args[0], args[1].fill_null(False)]
        return [args[0], args[0].is_valid() if self.options["ignore_nulls"] else pa.repeat(True, rows)]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        seen = np.flatnonzero(columns[1].to_numpy(zero_copy_only=False))
        # Of several values that are assigned to one place the last one stays.
        order = seen if self.call.function == "last" else seen[::-1]
        picked = np.full(grouping.count, -1)
        picked[grouping.ids[order]] = order
        at = _indices(picked, picked >= 0)
        return [columns[0].take(at), at.is_valid()]


def _best(column: pa.Array, grouping: Grouping, greatest: bool) -> pa.Array:
    """The row with the greatest (or least) value in every group, the last of equals; null where all are null."""
    rank, valid = ranks(column), valid_rows(column)
    rows, starts = grouping.rows, grouping.offsets[:-1]
    by_group = np.where(valid, rank if greatest else ~rank, np.iinfo(np.int64).min)[rows]
    most = np.repeat(np.maximum.reduceat(by_group, starts), np.diff(grouping.offsets))
    places = np.where((by_group == most) & valid[rows], np.arange(len(rows)), -1)
    last = np.maximum.reduceat(places, starts)
    return _indices(rows[last], last >= 0)


def _indices(rows: Ints, present: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Array:
    return pa.array(rows, mask=~present)
