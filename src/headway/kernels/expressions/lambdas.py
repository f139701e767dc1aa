"""Higher-order functions: the body of a lambda is evaluated once, over the elements of all rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call, Column, Expr, Variable, walk
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.array_sets import any_of
from headway.kernels.expressions.arrays import padded
from headway.kernels.expressions.maps import made
from headway.kernels.expressions.registry import RowError, evaluate, evaluates_lazily
from headway.kernels.expressions.vectors import column, flags, valid
from headway.kernels.lists import Integers, Lists, entries, list_array, lists_of, map_array
from headway.kernels.ranks import common_ranks

Bindings = Mapping[int, pa.Array]
"""The values of variables, by their level."""


def applied(body: Expr, batch: pa.RecordBatch, parents: Integers, bindings: Bindings) -> pa.Array:
    """`body` for every element: `parents` are the rows of `batch` they belong to."""
    used = {node.index for node in walk(body) if isinstance(node, Column)}
    names = {node.name for node in walk(body) if isinstance(node, Variable)}
    rows = pa.array(parents)
    columns, labels = [], []
    for i, (name, values) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
        columns.append(values.take(rows) if i in used or name in names else pa.nulls(len(parents)))
        labels.append(name)
    for level, values in bindings.items():
        columns.append(values)
        labels.append(Variable(body.type, level).name)
    return evaluate(body, pa.RecordBatch.from_arrays(columns, names=labels))


def _bound(call: Call, *values: pa.Array) -> Bindings:
    """The lambda's variables, as many as it has, bound to the first of `values`."""
    return dict(zip(call.option("variables"), values, strict=False))


def _positions(found: Lists) -> pa.Array:
    return pa.array(found.positions.astype(np.int32))


@evaluates_lazily("ArrayTransform")
def _transform(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found = lists_of(evaluate(call.args[0], batch))
    made_of = applied(call.args[1], batch, found.parents, _bound(call, found.values, _positions(found)))
    return list_array(made_of, found.lengths, found.valid)


@evaluates_lazily("ArrayFilter")
def _filter(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found = lists_of(evaluate(call.args[0], batch))
    kept = applied(call.args[1], batch, found.parents, _bound(call, found.values, _positions(found)))
    return found.kept(flags(kept))


@evaluates_lazily("ArrayExists", "ArrayForAll")
def _quantified(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found = lists_of(evaluate(call.args[0], batch))
    truth = applied(call.args[1], batch, found.parents, _bound(call, found.values))
    every = call.function == "ArrayForAll"
    decided = any_of(found, flags(pc.invert(truth) if every else truth))
    unsure = any_of(found, ~valid(truth)) if call.option("three_valued") else np.zeros(len(batch), np.bool_)
    return column(~decided if every else decided, pa.bool_(), found.valid & (decided | ~unsure))


@evaluates_lazily("ArrayAggregate")
def _aggregate(call: Call, batch: pa.RecordBatch) -> pa.Array:
    array, zero, merge, finish = call.args
    found = lists_of(evaluate(array, batch))
    state = evaluate(zero, batch).cast(arrow_type(zero.type))
    (total, element), (result,) = call.option("variables"), call.option("finish")
    for place in range(int(found.lengths.max(initial=0))):
        rows = np.flatnonzero(found.lengths > place)
        values = found.values.take(pa.array(found.starts[rows] + place))
        merged = applied(merge, batch, rows, {total: state.take(pa.array(rows)), element: values})
        where = np.arange(len(state))
        where[rows] = len(state) + np.arange(len(rows))
        state = pa.concat_arrays([state, merged]).take(pa.array(where))
    finished = applied(finish, batch, np.arange(batch.num_rows), {result: state})
    return pc.if_else(pa.array(found.valid), finished, pa.scalar(None, finished.type))


@evaluates_lazily("ZipWith")
def _zip_with(call: Call, batch: pa.RecordBatch) -> pa.Array:
    left, right = (lists_of(evaluate(arg, batch)) for arg in call.args[:2])
    rows = left.valid & right.valid
    lengths = np.where(rows, np.maximum(left.lengths, right.lengths), 0)
    parents = np.repeat(np.arange(len(lengths)), lengths)
    pairs = _bound(call, padded(left, lengths), padded(right, lengths))
    return list_array(applied(call.args[2], batch, parents, pairs), lengths, rows)


@evaluates_lazily("MapFilter")
def _map_filter(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found, keys, values = entries(evaluate(call.args[0], batch))
    chosen = flags(applied(call.args[1], batch, found.parents, _bound(call, keys, values)))
    counts = np.bincount(found.parents[chosen], minlength=len(found.lengths))
    mask = pa.array(chosen)
    return map_array(keys.filter(mask), values.filter(mask), counts, found.valid)


@evaluates_lazily("TransformKeys")
def _transform_keys(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found, keys, values = entries(evaluate(call.args[0], batch))
    new = applied(call.args[1], batch, found.parents, _bound(call, keys, values))
    return made(call, new, values, found.lengths, found.valid)


@evaluates_lazily("TransformValues")
def _transform_values(call: Call, batch: pa.RecordBatch) -> pa.Array:
    found, keys, values = entries(evaluate(call.args[0], batch))
    new = applied(call.args[1], batch, found.parents, _bound(call, keys, values))
    return map_array(keys, new, found.lengths, found.valid)


@evaluates_lazily("MapZipWith")
def _map_zip_with(call: Call, batch: pa.RecordBatch) -> pa.Array:
    """The keys of the first map, then those that only the second has; a value that is missing is null."""
    (left, left_keys, left_values), (right, right_keys, right_values) = (
        entries(evaluate(arg, batch)) for arg in call.args[:2]
    )
    rows = left.valid & right.valid
    left_ranks, right_ranks = common_ranks(left_keys, right_keys)
    size = int(max(left_ranks.max(initial=0), right_ranks.max(initial=0))) + 1
    numbered = np.concatenate([left.parents * size + left_ranks, right.parents * size + right_ranks])
    parents = np.concatenate([left.parents, right.parents])
    order = np.argsort(parents, kind="stable")
    order = order[rows[parents[order]]]
    order = order[np.sort(np.unique(numbered[order], return_index=True)[1])]
    values = [
        _looked_up(numbered[order], numbered[: len(left_ranks)], left_values),
        _looked_up(numbered[order], numbered[len(left_ranks) :], right_values),
    ]
    keys = pa.concat_arrays([left_keys, right_keys]).take(pa.array(order))
    new = applied(call.args[2], batch, parents[order], _bound(call, keys, *values))
    return map_array(keys, new, np.bincount(parents[order], minlength=len(rows)), rows)


def _looked_up(wanted: Integers, known: Integers, values: pa.Array) -> pa.Array:
    """The values at the places where `known` is what is wanted, null where it never is."""
    if not len(known):
        return pa.nulls(len(wanted), values.type)
    order = np.argsort(known, kind="stable")
    at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return values.take(pa.array(at, mask=known[at] != wanted))


@evaluates_lazily("ArraySort")
def _sort(call: Call, batch: pa.RecordBatch) -> pa.Array:
    """Every pair of a row's elements is compared at once; then Python sorts by what is known."""
    found = lists_of(evaluate(call.args[0], batch))
    squares = found.lengths**2
    parents = np.repeat(np.arange(len(squares)), squares)
    place = np.arange(len(parents)) - np.repeat(np.cumsum(squares) - squares, squares)
    width = np.maximum(found.lengths[parents], 1)
    first, second = found.starts[parents] + place // width, found.starts[parents] + place % width
    pairs = _bound(call, found.values.take(pa.array(first)), found.values.take(pa.array(second)))
    compared = applied(call.args[1], batch, parents, pairs)
    if compared.null_count:
        raise RowError("[COMPARATOR_RETURNS_NULL] The comparator of array_sort gave NULL for two elements.")
    signs = compared.to_numpy()
    order: list[int] = []
    for start, length, base in zip(found.starts, found.lengths, np.cumsum(squares) - squares, strict=True):
        table = signs[base : base + length * length].reshape(length, length)
        ranked = sorted(range(length), key=cmp_to_key(lambda a, b, t=table: int(t[a, b])))  # type: ignore[misc]
        order.extend(int(start) + at for at in ranked)
    return found.reordered(np.array(order, np.int64))
