"""The aggregate functions: how rows become states, states become one, and one becomes Spark's result.

1. A row is lifted to the state it would have alone; from then on there are only states, merged column by column with
   one of Arrow's grouped functions ("sum", "min", "max"), or by `collect` where Arrow has none.
2. Inside, a state may be held in another form than `state_types` says, one that merges well; `encode` and `decode`
   go between the two.
3. Overflow is an error in ANSI mode. Otherwise a long wraps and a decimal is null for good: outside such a decimal is
   a value of more digits than its type has, inside one so large that no sum brings it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.dataflow.graph import AggCall
from headway.dataflow.types import arrow_type
from headway.errors import UnsupportedPlan
from headway.kernels import hll
from headway.kernels.decimals import DecimalTotal
from headway.kernels.expressions.registry import RowError
from headway.kernels.floats import ordered, unordered

Columns = list[pa.Array]
COLLECT = "list"


class Function:
    """An aggregate function bound to a call.

    Of each of its columns `reductions` has the name of the grouped function and `initial` the state before any row.
    `widens` is true where `widen` and `narrow` do something.
    """

    reductions: tuple[str, ...] = ()
    initial: tuple[int | None, ...] = (None,)
    widens = False

    def __init__(self, call: AggCall) -> None:
        self.call = call
        self.options: dict[str, Any] = dict(call.options)
        self.ansi = bool(self.options.get("ansi", True))
        self.result = arrow_type(call.type)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        """Every row's own state; an argument is null where the row does not count."""
        raise NotImplementedError

    def encode(self, states: Columns) -> Columns:
        """From the columns of `state_types` to those held."""
        return states

    def decode(self, columns: Columns) -> Columns:
        """From the columns held to those of `state_types`."""
        return columns

    def widen(self, columns: Columns) -> Columns:
        """Called before columns are merged, to change to a type that cannot overflow if this one may."""
        return columns

    def narrow(self, columns: Columns) -> Columns:
        """Called after columns were merged, to undo `widen`."""
        return columns

    def collect(self, column: pa.Array, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> pa.Array:
        """Merge a column of which rows[offsets[g] : offsets[g + 1]] are the rows of group g."""
        raise NotImplementedError

    def finish(self, columns: Columns) -> pa.Array:
        """The results, of the call's type."""
        raise NotImplementedError


class Count(Function):
    reductions = ("sum",)
    initial = (0,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_counted(args, rows)]

    def finish(self, columns: Columns) -> pa.Array:
        return columns[0]


class LongSum(Function):
    reductions = ("sum",)
    _WIDE = pa.decimal128(38, 0)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.widens = self.ansi

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_cast(args[0], pa.int64())]

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

    def finish(self, columns: Columns) -> pa.Array:
        return columns[0]


class DoubleSum(Function):
    reductions = ("sum",)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_cast(args[0], pa.float64())]

    def finish(self, columns: Columns) -> pa.Array:
        return columns[0]


class DecimalSum(Function):
    reductions = ("sum",)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.total = DecimalTotal(arrow_type(call.args[0].type), self.ansi, "sum")

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_cast(args[0], self.total.held)]

    def encode(self, states: Columns) -> Columns:
        return [self.total.encode(states[0])]

    def decode(self, columns: Columns) -> Columns:
        return [self.total.decode(columns[0])]

    def finish(self, columns: Columns) -> pa.Array:
        return self.total.bounded(columns[0], self.result)


class DoubleAverage(Function):
    reductions = ("sum", "sum")
    initial = (None, 0)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_cast(args[0], pa.float64()), _counted(args, rows)]

    def finish(self, columns: Columns) -> pa.Array:
        total, count = columns
        return pc.divide(total, count.cast(pa.float64(), safe=False))


class DecimalAverage(Function):
    reductions = ("sum", "sum")
    initial = (None, 0)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.total = DecimalTotal(arrow_type(call.args[0].type), self.ansi, "avg")

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [_cast(args[0], self.total.held), _counted(args, rows)]

    def encode(self, states: Columns) -> Columns:
        return [self.total.encode(states[0]), states[1]]

    def decode(self, columns: Columns) -> Columns:
        return [self.total.decode(columns[0]), columns[1]]

    def finish(self, columns: Columns) -> pa.Array:
        sums = self.total.bounded(columns[0], pa.decimal128(38, self.total.held.scale))
        counts = pc.if_else(pc.not_equal(columns[1], 0), columns[1], None).cast(pa.decimal256(20, 0))
        quotient = pc.divide(sums.cast(pa.decimal256(38, sums.type.scale)), counts)
        # The quotient is cut off, more than ten places after the result's last: that changes no rounding of halves up.
        rounded = pc.round(quotient, self.result.scale, round_mode="half_towards_infinity")
        return self.total.bounded(rounded, self.result)


class Extreme(Function):
    """min and max of everything that Arrow orders as Spark does: strings by bytes, false before true."""

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.reductions = (call.function,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [args[0]]

    def finish(self, columns: Columns) -> pa.Array:
        return columns[0]


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


class Distinct(Function):
    """approx_count_distinct, by HyperLogLog++. Rows are held as observations, merged ones as registers."""

    reductions = (COLLECT,)

    def __init__(self, call: AggCall) -> None:
        super().__init__(call)
        self.p: int = self.options["p"]

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        return [hll.observations(args[0], self.p)]

    def collect(self, column: pa.Array, rows: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64]) -> pa.Array:
        merge = hll.merge_observations if column.type == pa.int32() else hll.merge_registers
        return merge(column, rows, offsets, self.p)

    def finish(self, columns: Columns) -> pa.Array:
        registers = hll.from_array(columns[0], self.p)
        raw, bias = np.asarray(self.options["raw"]), np.asarray(self.options["bias"])
        return pa.array(hll.estimates(registers, self.options["thresholds"], raw, bias))


def bind(call: AggCall) -> Function:
    """The function of `call`."""
    argument = call.args[0].type if call.args else T.NullType()
    found = _FUNCTIONS.get(call.function)
    if found is None:
        raise UnsupportedPlan(f"aggregate function {call.function}")
    return found(argument)(call)


def _sum(argument: T.DataType) -> type[Function]:
    if isinstance(argument, T.DecimalType):
        return DecimalSum
    return DoubleSum if isinstance(argument, T.FloatType | T.DoubleType) else LongSum


def _average(argument: T.DataType) -> type[Function]:
    return DecimalAverage if isinstance(argument, T.DecimalType) else DoubleAverage


def _extreme(argument: T.DataType) -> type[Function]:
    return FloatExtreme if isinstance(argument, T.FloatType | T.DoubleType) else Extreme


_FUNCTIONS: dict[str, Callable[[T.DataType], type[Function]]] = {
    "count": lambda _: Count,
    "sum": _sum,
    "avg": _average,
    "min": _extreme,
    "max": _extreme,
    "approx_count_distinct": lambda _: Distinct,
}


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """`array` as `kind`, which is wider; longs beyond 2^53 lose digits as doubles, as they do in Spark."""
    return array if array.type == kind else array.cast(kind, safe=False)


def _counted(args: Sequence[pa.Array], rows: int) -> pa.Array:
    """1 for every row in which no argument is null, else 0."""
    nullable = [arg for arg in args if arg.null_count]
    if not nullable:
        return pa.array(np.ones(rows, np.int64))
    valid = nullable[0].is_valid()
    for arg in nullable[1:]:
        valid = pc.and_(valid, arg.is_valid())
    return valid.cast(pa.int64())


def _may_overflow(column: pa.Array) -> bool:
    """Whether so many values of this size may have a sum beyond a long."""
    extremes = pc.min_max(column)
    low, high = extremes["min"].as_py(), extremes["max"].as_py()
    return low is not None and max(-low, high) * len(column) > np.iinfo(np.int64).max
