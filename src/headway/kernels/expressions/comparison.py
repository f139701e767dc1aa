"""Evaluation of comparisons in Spark's order of values.

1. NaN equals NaN and is greater than every other number; -0.0 equals 0.0.
2. Strings and binaries are compared byte by byte, bytes without sign; false is less than true.
3. Structs are equal when their fields are, and there null equals null; their order and that of arrays is in `ranks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import evaluates
from headway.kernels.ranks import common_ranks


def equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """Which rows are equal, null where one side is null."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return pa.nulls(len(left), pa.bool_())
    if pa.types.is_struct(left.type):
        return _where_valid(left, right, _equal_fields(left, right))
    if pa.types.is_list(left.type) or pa.types.is_map(left.type):
        left_ranks, right_ranks = common_ranks(left, right)
        return _where_valid(left, right, pa.array(left_ranks == right_ranks))
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same


def null_safe_equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """Which rows are equal, null being equal to null alone."""
    same = pc.fill_null(equal(left, right), False)
    return pc.or_(same, pc.and_(pc.is_null(left), pc.is_null(right)))


def _equal_fields(left: pa.Array, right: pa.Array) -> pa.Array:
    same = pa.repeat(True, len(left))
    for i in range(left.type.num_fields):
        same = pc.and_(same, null_safe_equal(pc.struct_field(left, [i]), pc.struct_field(right, [i])))
    return same


def _where_valid(left: pa.Array, right: pa.Array, values: pa.Array) -> pa.Array:
    both = pc.and_(pc.is_valid(left), pc.is_valid(right))
    return pc.if_else(both, values, pa.scalar(None, values.type))


def less(left: pa.Array, right: pa.Array) -> pa.Array:
    """Which rows are less on the left, null where one side is null."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return pa.nulls(len(left), pa.bool_())
    if pa.types.is_boolean(left.type):
        return pc.and_(pc.invert(left), right)
    if pa.types.is_struct(left.type) or pa.types.is_list(left.type):
        left_ranks, right_ranks = common_ranks(left, right)
        return _where_valid(left, right, pa.array(left_ranks < right_ranks))
    below = pc.less(left, right)
    if pa.types.is_floating(left.type):
        below = pc.or_(below, pc.and_not(pc.is_nan(right), pc.is_nan(left)))
    return below


@evaluates("EqualTo")
def _equal_to(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return equal(args[0], args[1])


@evaluates("EqualNullSafe", every_argument=True)
def _equal_null_safe(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return null_safe_equal(args[0], args[1])


@evaluates("LessThan")
def _less(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return less(args[0], args[1])


@evaluates("GreaterThan")
def _greater(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return less(args[1], args[0])


@evaluates("LessThanOrEqual")
def _less_or_equal(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.invert(less(args[1], args[0]))


@evaluates("GreaterThanOrEqual")
def _greater_or_equal(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.invert(less(args[0], args[1]))


@evaluates("Greatest", every_argument=True)
def _greatest(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return _extreme(args, less)


@evaluates("Least", every_argument=True)
def _least(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return _extreme(args, lambda best, value: less(value, best))


def _extreme(args: Sequence[pa.Array], loses: Callable[[pa.Array, pa.Array], pa.Array]) -> pa.Array:
    """The first of the values that loses to no other, nulls aside."""
    best = args[0]
    for value in args[1:]:
        best = pc.if_else(pc.fill_null(loses(best, value), False), value, pc.coalesce(best, value))
    return best
