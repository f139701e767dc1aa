"""Arrays searched, sorted and compared as sets: elements are compared by their ranks, whatever their type."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.arrays import first_match
from headway.kernels.expressions.comparison import equal
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Mask, column, flags, numbers, only, valid
from headway.kernels.lists import Integers, Lists, list_array, lists_of
from headway.kernels.ranks import common_ranks, dense_ranks

Args = Sequence[pa.Array]


def any_of(found: Lists, chosen: Mask) -> Mask:
    """The rows in which an element is chosen."""
    result: Mask = np.bincount(found.parents[chosen], minlength=len(found.lengths)) > 0
    return result


def _matches(found: Lists, value: pa.Array) -> Mask:
    return flags(equal(found.values, value.take(pa.array(found.parents))))


def _nulls(found: Lists) -> Mask:
    return ~valid(found.values)


@evaluates("ArrayContains")
def _contains(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    there = any_of(found, _matches(found, args[1]))
    return column(there, pa.bool_(), valid(*args) & (there | ~any_of(found, _nulls(found))))


@evaluates("ArrayPosition")
def _position(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    first = first_match(found, _matches(found, args[1]))
    return column(np.where(first < 0, 0, first - found.starts + 1), pa.int64(), valid(*args))


@evaluates("ArrayRemove")
def _remove(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    return only(found.kept(~_matches(found, args[1])), valid(*args))


@evaluates("ArrayMin", "ArrayMax")
def _extreme(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    rank = dense_ranks(found.values)
    present = np.flatnonzero(rank)
    wanted = rank[present] if call.function == "ArrayMin" else -rank[present]
    # The last to be written is the first in order.
    order = present[np.lexsort((wanted, found.parents[present]))][::-1]
    best = np.full(len(found.lengths), -1, np.int64)
    best[found.parents[order]] = order
    return found.values.take(pa.array(np.maximum(best, 0), mask=best < 0))


@evaluates("SortArray")
def _sort(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    rank = dense_ranks(found.values)
    ascending = numbers(args[1])[found.parents]
    order = np.lexsort((np.where(ascending, rank, -rank), found.parents))
    return only(found.reordered(order), valid(*args))


@evaluates("ArraySortNullsLast")
def _sort_nulls_last(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    rank = dense_ranks(found.values)
    return found.reordered(np.lexsort((np.where(rank == 0, len(rank) + 1, rank), found.parents)))


@evaluates("ArrayDistinct")
def _distinct(call: Call, args: Args) -> pa.Array:
    found = _normal(lists_of(args[0]))
    return found.kept(_firsts(_keys(found.parents, dense_ranks(found.values))))


def _normal(found: Lists) -> Lists:
    """Sets hold no negative zero."""
    if not pa.types.is_floating(found.values.type):
        return found
    return Lists(pc.add(found.values, pa.scalar(0.0, found.values.type)), found.lengths, found.valid)


def _keys(parents: Integers, rank: Integers) -> Integers:
    """One number for a row and a value."""
    return parents * (int(rank.max(initial=0)) + 1) + rank


def _firsts(keys: Integers) -> Mask:
    """Which are the first of their kind."""
    chosen = np.zeros(len(keys), np.bool_)
    chosen[np.unique(keys, return_index=True)[1]] = True
    return chosen


def _both(args: Args) -> tuple[Lists, Lists, Integers, Integers, Mask]:
    left, right = _normal(lists_of(args[0])), _normal(lists_of(args[1]))
    left_ranks, right_ranks = common_ranks(left.values, right.values)
    size = int(max(left_ranks.max(initial=0), right_ranks.max(initial=0))) + 1
    return left, right, left.parents * size + left_ranks, right.parents * size + right_ranks, left.valid & right.valid


@evaluates("ArrayUnion")
def _union(call: Call, args: Args) -> pa.Array:
    left, right, left_keys, right_keys, rows = _both(args)
    parents = np.concatenate([left.parents, right.parents])
    order = np.argsort(parents, kind="stable")
    chosen = order[_firsts(np.concatenate([left_keys, right_keys])[order]) & rows[parents[order]]]
    lengths = np.bincount(parents[chosen], minlength=len(rows))
    return list_array(pa.concat_arrays([left.values, right.values]).take(pa.array(chosen)), lengths, rows)


@evaluates("ArrayIntersect", "ArrayExcept")
def _intersect(call: Call, args: Args) -> pa.Array:
    left, _, left_keys, right_keys, rows = _both(args)
    shared = np.isin(left_keys, right_keys)
    chosen = _firsts(left_keys) & (shared if call.function == "ArrayIntersect" else ~shared)
    return only(left.kept(chosen), rows)


@evaluates("ArraysOverlap")
def _overlap(call: Call, args: Args) -> pa.Array:
    left, right, left_keys, right_keys, rows = _both(args)
    there = any_of(left, np.isin(left_keys, right_keys) & ~_nulls(left))
    unsure = (any_of(left, _nulls(left)) | any_of(right, _nulls(right))) & (left.lengths > 0) & (right.lengths > 0)
    return column(there, pa.bool_(), rows & (there | ~unsure))


@evaluates("ArrayJoin", every_argument=True)
def _join(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    if len(args) > 2:
        filled = pc.coalesce(found.values, args[2].take(pa.array(found.parents)))
        lists = list_array(filled, found.lengths, found.valid)
    else:
        lists = found.kept(~_nulls(found))
    return only(pc.binary_join(lists, args[1]), valid(*args))
