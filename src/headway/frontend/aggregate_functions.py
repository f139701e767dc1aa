"""Lowering of aggregate functions: one small function per class of Catalyst's makes the call of it.

Calls and their options, where they are not of Spark's function of that name alone:
sum, avg: `ansi`. first, last, collect_list, collect_set: `ignore_nulls`; a second argument, if there is one, says which
rows count. Moments (stddev_pop, …): `null_on_zero`. sum_of_squares is Spark's replacement of regr_sxx and regr_syy.
percentile: `percentages`, `reverse`, `discrete`; a second argument is the frequency. approx_percentile: `percentages`,
`accuracy`. set_size: how many values collect_set would give. mode: `least` (None: any of equals). listagg: `delimiter`,
`orders` (descending, nulls first) of the arguments after the first. approx_count_distinct: `p` and Spark's tables.
max_by_k, min_by_k: max_by and min_by of the `k` best, as an array.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr, Literal
from headway.dataflow.graph import AggCall
from headway.errors import UnsupportedPlan
from headway.frontend.expressions import Lowering
from headway.frontend.expressions.refusals import unsupported
from headway.frontend.plan import Plan
from headway.frontend.sorting import is_ordered, sort_order
from headway.frontend.tree import Tree
from headway.gateway import jvm_class

Options = tuple[tuple[str, Any], ...]
NEVER_NULL = frozenset({"count", "approx_count_distinct", "collect_list", "collect_set", "set_size"})
_MAX_PRECISION = 38
_HLL_LEAST, _HLL_LAST_WITH_TABLES = 4, 18
_HLL_TABLES: dict[int, Options] = {}
"""By precision. Constants of Spark's, and each number of them is a round trip to the JVM."""


@dataclass(frozen=True)
class _Input:
    """What a function's arguments are over, and the plan it belongs to."""

    lower: Lowering
    plan: Plan

    def __call__(self, tree: Tree) -> Expr:
        return self.lower(tree)


def aggregate_call(function: Tree, filter_: Expr | None, lower: Lowering, plan: Plan) -> AggCall:
    """The call of `function`, an aggregate function of Catalyst's, over the rows for which `filter_` is true."""
    made = _FUNCTIONS.get(function.name)
    if made is None:
        raise unsupported("aggregate function", function.name)
    call = made(function, _Input(lower, plan))
    if filter_ is None or dict(call.options).get("ignore_nulls", True):
        return replace(call, filter=filter_)
    # Nulls count, so a null cannot say that a row does not.
    (value,) = call.args
    chosen = Call(value.type, "If", (filter_, value, Literal(value.type, None)))
    return replace(call, args=(chosen, filter_))


def _count(tree: Tree, calls: _Input) -> AggCall:
    """Arguments that are never null (the 1 of `count(*)`) decide nothing."""
    args = tuple(calls(child) for child in tree.children if not _never_null(child))
    return AggCall("count", args, T.LongType())


def _never_null(tree: Tree) -> bool:
    return tree.name == "Literal" and tree.fields["value"] is not None


def _sum(tree: Tree, calls: _Input) -> AggCall:
    arg = _number(tree, calls)
    if isinstance(arg.type, T.DecimalType):
        result = _decimal(arg.type.precision + 10, arg.type.scale)
        return AggCall("sum", (arg,), result, options=_mode(tree, calls))
    if isinstance(arg.type, T.FloatType | T.DoubleType):
        return AggCall("sum", (arg,), T.DoubleType(), options=_mode(tree, calls))
    if tree.fields.get("evalMode") == "TRY":
        return AggCall("try_sum", (arg,), T.LongType())
    return AggCall("sum", (arg,), T.LongType(), options=_mode(tree, calls))


def _avg(tree: Tree, calls: _Input) -> AggCall:
    arg = _number(tree, calls)
    result: T.DataType = T.DoubleType()
    if isinstance(arg.type, T.DecimalType):
        result = _decimal(arg.type.precision + 4, arg.type.scale + 4)
    return AggCall("avg", (arg,), result, options=_mode(tree, calls))


def _number(tree: Tree, calls: _Input) -> Expr:
    arg = calls(tree.children[0])
    if not isinstance(arg.type, T.NumericType):
        raise _unsupported(tree, arg)
    return arg


def _unsupported(tree: Tree, arg: Expr) -> UnsupportedPlan:
    return UnsupportedPlan(f"aggregate function {tree.name}", f"of type {arg.type.simpleString()}")


def _decimal(precision: int, scale: int) -> T.DecimalType:
    return T.DecimalType(min(precision, _MAX_PRECISION), min(scale, _MAX_PRECISION))


def _mode(tree: Tree, calls: _Input) -> Options:
    """try_sum and try_avg of decimals are null where they overflow, as without ANSI mode."""
    mode = tree.fields.get("evalMode")
    return (("ansi", calls.plan.ansi if mode is None else mode == "ANSI"),)


def _comparable(tree: Tree, arg: Expr) -> Expr:
    """`arg`, whose values the kernels can compare."""
    if not is_ordered(arg.type):
        raise _unsupported(tree, arg)
    return arg


def _extreme(tree: Tree, calls: _Input) -> AggCall:
    arg = _comparable(tree, calls(tree.children[0]))
    return AggCall(tree.name.lower(), (arg,), arg.type)


def _extreme_by(tree: Tree, calls: _Input) -> AggCall:
    value, by = map(calls, tree.children)
    return AggCall("max_by" if tree.name == "MaxBy" else "min_by", (value, _comparable(tree, by)), value.type)


def _top_by(tree: Tree, calls: _Input) -> AggCall:
    value, by = map(calls, tree.children[:2])
    most = calls(tree.children[2])
    assert isinstance(most, Literal)
    name = "min_by_k" if tree.fields["reverse"] else "max_by_k"
    return AggCall(name, (value, _comparable(tree, by)), T.ArrayType(value.type), options=(("k", most.value),))


def _first_or_last(tree: Tree, calls: _Input) -> AggCall:
    arg = calls(tree.children[0])
    return AggCall(tree.name.lower(), (arg,), arg.type, options=(("ignore_nulls", tree.fields["ignoreNulls"]),))


def _collect(tree: Tree, calls: _Input) -> AggCall:
    arg = calls(tree.children[0])
    name = "collect_set" if tree.name == "CollectSet" else "collect_list"
    options = (("ignore_nulls", tree.fields.get("ignoreNulls", True)),)
    return AggCall(name, (arg,), T.ArrayType(arg.type), options=options)


def _list_agg(tree: Tree, calls: _Input) -> AggCall:
    text, delimiter, *orders = tree.children
    directions = tuple(sort_order(order) for order in orders)
    args = (calls(text), *(_comparable(tree, calls(order.children[0])) for order in orders))
    between = calls(delimiter)
    assert isinstance(between, Literal)
    empty = b"" if isinstance(args[0].type, T.BinaryType) else ""
    options = (("delimiter", empty if between.value is None else between.value), ("orders", directions))
    return AggCall("listagg", args, args[0].type, options=options)


def _moment(tree: Tree, calls: _Input) -> AggCall:
    options = (("null_on_zero", tree.fields.get("nullOnDivideByZero", True)),)
    return AggCall(_MOMENTS[tree.name], tuple(map(calls, tree.children)), T.DoubleType(), options=options)


def _product(tree: Tree, calls: _Input) -> AggCall:
    return AggCall("product", (_number(tree, calls),), T.DoubleType())


def _bits(tree: Tree, calls: _Input) -> AggCall:
    arg = calls(tree.children[0])
    return AggCall({"BitAndAgg": "bit_and", "BitOrAgg": "bit_or"}.get(tree.name, "bit_xor"), (arg,), arg.type)


def _percentile(tree: Tree, calls: _Input) -> AggCall:
    if tree.fields.get("legacyCalculation"):
        raise UnsupportedPlan("spark.sql.legacy.percentileDiscCalculation", "it is not supported")
    arg = _number(tree, calls)
    frequency = tree.children[2] if len(tree.children) > 2 else None
    args = (arg,) if frequency is None or _is_one(frequency) else (arg, calls(frequency))
    listed, percentages = _percentages(tree)
    options = (
        ("percentages", percentages),
        ("reverse", tree.fields["reverse"]),
        ("discrete", tree.name == "PercentileDisc"),
    )
    return AggCall("percentile", args, T.ArrayType(T.DoubleType()) if listed else T.DoubleType(), options=options)


def _is_one(tree: Tree) -> bool:
    return tree.name == "Literal" and tree.fields["value"] == "1"


def _approx_percentile(tree: Tree, calls: _Input) -> AggCall:
    arg = calls(tree.children[0])
    if not isinstance(arg.type, T.NumericType | T.DateType | T.TimestampType | T.TimestampNTZType):
        raise _unsupported(tree, arg)
    listed, percentages = _percentages(tree)
    options = (("percentages", percentages), ("accuracy", int(tree.children[2].fields["value"])))
    return AggCall("approx_percentile", (arg,), T.ArrayType(arg.type) if listed else arg.type, options=options)


def _percentages(tree: Tree) -> tuple[bool, tuple[float, ...]]:
    """Whether they were given as an array, and what they are."""
    literal = tree.child("percentageExpression")
    if literal.name != "Literal":
        raise UnsupportedPlan(f"aggregate function {tree.name}", "its percentage is not a constant")
    found = json.loads(literal.fields["value"])
    return (True, tuple(map(float, found))) if isinstance(found, list) else (False, (float(found),))


def _most_frequent(tree: Tree, calls: _Input) -> AggCall:
    arg, least = calls(tree.children[0]), tree.fields.get("reverseOpt")
    if isinstance(arg.type, T.MapType):
        raise _unsupported(tree, arg)
    return AggCall("mode", (arg if least is None else _comparable(tree, arg),), arg.type, options=(("least", least),))


def _distinct_estimate(tree: Tree, calls: _Input) -> AggCall:
    arg = calls(tree.children[0])
    if isinstance(arg.type, T.StructType | T.ArrayType | T.MapType):
        raise _unsupported(tree, arg)
    p = math.ceil(2.0 * math.log(1.106 / tree.fields["relativeSD"]) / math.log(2.0))
    return AggCall("approx_count_distinct", (arg,), T.LongType(), options=_hll_options(calls.plan, p))


def _hll_options(plan: Plan, p: int) -> Options:
    """Precision p and Spark's tables for it, which correct the bias of HyperLogLog++."""
    if p not in _HLL_TABLES:
        _HLL_TABLES[p] = _read_hll_tables(plan, p)
    return _HLL_TABLES[p]


def _read_hll_tables(plan: Plan, p: int) -> Options:
    tables = jvm_class(plan.spark, "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper")
    has_tables = p <= _HLL_LAST_WITH_TABLES
    raw = tuple(tables.RAW_ESTIMATE_DATA()[p - _HLL_LEAST]) if has_tables else ()
    bias = tuple(tables.BIAS_DATA()[p - _HLL_LEAST]) if has_tables else ()
    return (("p", p), ("thresholds", tuple(tables.THRESHOLDS())), ("raw", raw), ("bias", bias))


_MOMENTS = {
    "StddevPop": "stddev_pop",
    "StddevSamp": "stddev_samp",
    "VariancePop": "var_pop",
    "VarianceSamp": "var_samp",
    "RegrReplacement": "sum_of_squares",
    "Skewness": "skewness",
    "Kurtosis": "kurtosis",
    "CovPopulation": "covar_pop",
    "CovSample": "covar_samp",
    "Corr": "corr",
    "RegrSXY": "regr_sxy",
    "RegrSlope": "regr_slope",
    "RegrIntercept": "regr_intercept",
    "RegrR2": "regr_r2",
}
_FUNCTIONS: dict[str, Callable[[Tree, _Input], AggCall]] = {
    "Count": _count,
    "Sum": _sum,
    "Average": _avg,
    "Min": _extreme,
    "Max": _extreme,
    "MaxBy": _extreme_by,
    "MinBy": _extreme_by,
    "MaxMinByK": _top_by,
    "First": _first_or_last,
    "Last": _first_or_last,
    "CollectList": _collect,
    "CollectSet": _collect,
    "ListAgg": _list_agg,
    "Product": _product,
    "BitAndAgg": _bits,
    "BitOrAgg": _bits,
    "BitXorAgg": _bits,
    "Percentile": _percentile,
    "PercentileDisc": _percentile,
    "ApproximatePercentile": _approx_percentile,
    "Mode": _most_frequent,
    "HyperLogLogPlusPlus": _distinct_estimate,
    **dict.fromkeys(_MOMENTS, _moment),
}


def known() -> frozenset[str]:
    """The names of all aggregate functions that can be lowered, as Catalyst's classes are called."""
    return frozenset(_FUNCTIONS)
