"""Counts, sums, averages and products, and the bitwise functions.

Overflow is an error in ANSI mode. Otherwise a long wraps and a decimal is null for good: outside such a decimal is a
value of more digits than its type has, inside one so large that no sum brings it back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import AggCall
from headway.dataflow.types import arrow_type
from headway.kernels.aggregates.base import Columns, Function, Grouping, cast, counted
from headway.kernels.decimals import DecimalTotal
from headway.kernels.expressions.registry import RowError


class Count(Function):
    reductions = ("sum",)
    initial = (0,)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [counted(args, rows)]


class LongSum(Function):
    reductions = ("sum",)
    _WIDE = pa.decimal128(38, 0)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.widens = self.ansi

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], pa.int64())]

    def widen(self, columns: Columns) -> Columns:
        if _may_overflow(columns[0]):
            return [columns[0].cast(self._WIDE)]
        return columns

    def narrow(self, columns: Columns) -> Columns:
        if columns[0].type == pa.int64():
            return columns
        try:
            return [columns[0].cast(pa.int64())]
        except pa.ArrowInvalid:
            raise RowError(
                "[ARITHMETIC_OVERFLOW] long overflow in sum. Use 'try_sum', or a decimal argument."
            ) from None


class DoubleSum(Function):
    reductions = ("sum",)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.float64(),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], pa.float64())]


class DecimalSum(Function):
    reductions = ("sum",)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.total = DecimalTotal(arrow_type(call.args[0].type), self.ansi, "sum")

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.total.outside,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], self.total.held)]

    def encode(self, states: Columns) -> Columns:
        return [self.total.encode(states[0])]

    def decode(self, columns: Columns) -> Columns:
        return [self.total.decode(columns[0])]

    def finish(self, columns: Columns) -> pa.Array:
        return self.total.bounded(columns[0], self.result)


class DoubleAverage(Function):
    reductions = ("sum", "sum")
    initial = (None, 0)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.float64(), pa.int64())

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], pa.float64()), counted(args, rows)]

    def finish(self, columns: Columns) -> pa.Array:
        total, count = columns
        return pc.divide(total, count.cast(pa.float64(), safe=False))


class DecimalAverage(Function):
    reductions = ("sum", "sum")
    initial = (None, 0)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.total = DecimalTotal(arrow_type(call.args[0].type), self.ansi, "avg")

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.total.outside, pa.int64())

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], self.total.held), counted(args, rows)]

    def encode(self, states: Columns) -> Columns:
        return [self.total.encode(states[0]), states[1]]

    def decode(self, columns: Columns) -> Columns:
        return [self.total.decode(columns[0]), columns[1]]

    def finish(self, columns: Columns) -> pa.Array:
        sums = self.total.bounded(columns[0], self.total.outside)
        counts = pc.if_else(pc.not_equal(columns[1], 0), columns[1], None).cast(pa.decimal256(20, 0))
        quotient = pc.divide(sums.cast(pa.decimal256(38, sums.type.scale)), counts)
        # The quotient is cut off, more than ten places after the result's last: that changes no rounding of halves up.
        rounded = pc.round(quotient, self.result.scale, round_mode="half_towards_infinity")
        return self.total.bounded(rounded, self.result)


class TrySum(Function):
    """try_sum of integers, null if the whole sum is beyond a long: so it is held in more digits."""

    reductions = ("sum",)
    _WIDE = pa.decimal128(38, 0)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self._WIDE,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], pa.int64()).cast(self._WIDE)]

    def finish(self, columns: Columns) -> pa.Array:
        long = np.iinfo(np.int64)
        low, high = (pa.scalar(int(bound), self._WIDE) for bound in (long.min, long.max))
        inside = pc.and_(pc.greater_equal(columns[0], low), pc.less_equal(columns[0], high))
        return pc.if_else(inside, columns[0], None).cast(pa.int64())


class Product(Function):
    reductions = ("product",)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (pa.float64(),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [cast(args[0], pa.float64())]


_BITWISE = {"bit_and": (np.bitwise_and, -1), "bit_or": (np.bitwise_or, 0), "bit_xor": (np.bitwise_xor, 0)}


class Bits(Function):
    """bit_and, bit_or and bit_xor of integers."""

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.result,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [args[0]]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        function, nothing = _BITWISE[self.call.function]
        numbers = pc.fill_null(columns[0], nothing).to_numpy()[grouping.rows]
        merged = function.reduceat(numbers, grouping.offsets[:-1])
        valid = columns[0].is_valid().to_numpy(zero_copy_only=False)[grouping.rows]
        return [pa.array(merged, self.result, mask=~np.logical_or.reduceat(valid, grouping.offsets[:-1]))]


def _may_overflow(column: pa.Array) -> bool:
    """Whether so many values of this size may have a sum beyond a long."""
    extremes = pc.min_max(column)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is not None and max(-low, high) * len(column) > np.iinfo(np.int64).max
