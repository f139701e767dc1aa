"""The aggregate functions: how rows become states, states become one, and one becomes Spark's result."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import types as T

from headway.dataflow.graph import AggCall
from headway.errors import UnsupportedPlan
from headway.kernels.aggregates import numbers, picks
from headway.kernels.aggregates.base import COLLECT, Columns, Function, Grouping
from headway.kernels.aggregates.estimates import Distinct
from headway.kernels.aggregates.frequencies import Mode, Percentile
from headway.kernels.aggregates.lists import CollectList, CollectSet, ListAgg, SetSize
from headway.kernels.aggregates.moments import PAIRS, SINGLE, Moments, PairMoments
from headway.kernels.aggregates.quantiles import ApproxPercentile
from headway.kernels.aggregates.tops import TopBy

__all__ = ["COLLECT", "Columns", "Function", "Grouping", "bind"]


def bind(call: AggCall) -> Function:
    """The function of `call`."""
    argument = call.args[0].type if call.args else T.NullType()
    found = _FUNCTIONS.get(call.function)
    if found is None:
        raise UnsupportedPlan(f"aggregate function {call.function}")
    return found(argument)(call)


def _sum(argument: T.DataType) -> type[Function]:
    if isinstance(argument, T.DecimalType):
        return numbers.DecimalSum
    return numbers.DoubleSum if isinstance(argument, T.FloatType | T.DoubleType) else numbers.LongSum


def _average(argument: T.DataType) -> type[Function]:
    return numbers.DecimalAverage if isinstance(argument, T.DecimalType) else numbers.DoubleAverage


def _extreme(argument: T.DataType) -> type[Function]:
    if isinstance(argument, T.StructType):
        return picks.StructExtreme
    return picks.FloatExtreme if isinstance(argument, T.FloatType | T.DoubleType) else picks.Extreme


def _always(function: type[Function], *names: str) -> dict[str, Callable[[T.DataType], type[Function]]]:
    return dict.fromkeys(names, lambda _: function)


_FUNCTIONS: dict[str, Callable[[T.DataType], type[Function]]] = {
    "sum": _sum,
    "avg": _average,
    "min": _extreme,
    "max": _extreme,
    **_always(numbers.Count, "count"),
    **_always(numbers.TrySum, "try_sum"),
    **_always(numbers.Product, "product"),
    **_always(numbers.Bits, "bit_and", "bit_or", "bit_xor"),
    **_always(picks.ExtremeBy, "max_by", "min_by"),
    **_always(TopBy, "max_by_k", "min_by_k"),
    **_always(picks.FirstOrLast, "first", "last"),
    **_always(CollectList, "collect_list"),
    **_always(CollectSet, "collect_set"),
    **_always(SetSize, "set_size"),
    **_always(ListAgg, "listagg"),
    **_always(Moments, *SINGLE),
    **_always(PairMoments, *PAIRS),
    **_always(Percentile, "percentile"),
    **_always(Mode, "mode"),
    **_always(ApproxPercentile, "approx_percentile"),
    **_always(Distinct, "approx_count_distinct"),
}
