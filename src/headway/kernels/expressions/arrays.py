"""Arrays and maps made, taken apart and looked into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.comparison import equal
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Mask, Vector, column, fail_at, flags, numbers, only, valid
from headway.kernels.lists import Integers, Lists, entries, list_array, lists_of, retyped

Args = Sequence[pa.Array]


@evaluates("CreateArray", every_argument=True)
def _create(call: Call, args: Args) -> pa.Array:
    kind = arrow_type(call.type).value_type
    return list_array(interleaved([retyped(arg, kind).cast(kind) for arg in args]), np.full(len(args[0]), len(args)))


def interleaved(args: Args) -> pa.Array:
    """The first row of every argument, then the second of every, and so on."""
    rows = len(args[0])
    order = np.arange(rows * len(args)).reshape(len(args), rows).T.reshape(-1)
    return pa.concat_arrays(list(args)).take(pa.array(order))


def empty_lists(call: Call, rows: int) -> pa.Array:
    """As many empty arrays."""
    return list_array(pa.nulls(0, arrow_type(call.type).value_type), np.zeros(rows, np.int64))


def taken_at(found: Lists, at: Integers, rows: Mask) -> pa.Array:
    """One element of every row: the one at `at`; null outside `rows`."""
    places = np.where(rows, found.starts + at, 0)
    return found.values.take(pa.array(places, mask=~rows))


@evaluates("GetArrayItem")
def _item(call: Call, args: Args) -> pa.Array:
    found, at = lists_of(args[0]), numbers(args[1]).astype(np.int64)
    rows, inside = valid(*args), (at >= 0) & (at < found.lengths)
    if call.option("ansi"):
        fail_at(rows & ~inside, lambda row: f"[INVALID_ARRAY_INDEX] {_no_such(at, found, row)} get() gives NULL.")
    return taken_at(found, at, rows & inside)


@evaluates("ElementAt")
def _element_at(call: Call, args: Args) -> pa.Array:
    if pa.types.is_map(args[0].type):
        return _value_of(call, args)
    found, at = lists_of(args[0]), numbers(args[1]).astype(np.int64)
    rows, inside = valid(*args), (np.abs(at) <= found.lengths) & (at != 0)
    fail_at(rows & (at == 0), lambda row: "[INVALID_INDEX_OF_ZERO] The index 0 is invalid: elements count from 1.")
    default = call.option("default")
    if call.option("ansi") and default is None:
        fail_at(
            rows & ~inside,
            lambda row: f"[INVALID_ARRAY_INDEX_IN_ELEMENT_AT] {_no_such(at, found, row)} try_element_at gives NULL.",
        )
    values = taken_at(found, np.where(at > 0, at - 1, found.lengths + at), rows & inside)
    if default is None:
        return values
    return pc.if_else(pa.array(rows & ~inside), pa.scalar(default, values.type), values)


def _no_such(at: Vector, found: Lists, row: int) -> str:
    return f"The index {at[row]} is out of bounds: the array has {found.lengths[row]} elements."


@evaluates("GetMapValue")
def _value_of(call: Call, args: Args) -> pa.Array:
    found, keys, values = entries(args[0])
    place = first_match(found, flags(equal(keys, args[1].take(pa.array(found.parents)))))
    return values.take(pa.array(np.maximum(place, 0), mask=place < 0))


def first_match(found: Lists, matches: Mask) -> Integers:
    """For every row the place among all elements of its first match, -1 if there is none."""
    at = np.flatnonzero(matches)[::-1]
    first = np.full(len(found.lengths), -1, np.int64)
    first[found.parents[at]] = at
    return first


@evaluates("GetArrayStructFields")
def _fields(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    return list_array(pc.struct_field(found.values, [call.option("ordinal")]), found.lengths, found.valid)


@evaluates("Size")
def _size(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    if call.option("legacy"):
        return pa.array(np.where(found.valid, found.lengths, -1).astype(np.int32))
    return column(found.lengths.astype(np.int32), pa.int32(), found.valid)


@evaluates("MapKeys", "MapValues", "MapEntries")
def _parts(call: Call, args: Args) -> pa.Array:
    found, keys, values = entries(args[0])
    parts = {"MapKeys": keys, "MapValues": values}.get(call.function)
    if parts is None:
        parts = pa.StructArray.from_arrays([keys, values], fields=list(arrow_type(call.type).value_type))
    return list_array(parts, found.lengths, found.valid)


@evaluates("ArrayConcat")
def _concat(call: Call, args: Args) -> pa.Array:
    return concatenated([lists_of(arg) for arg in args])


def concatenated(parts: Sequence[Lists]) -> pa.Array:
    """The lists of each row, one after the other; null where one of them is."""
    rows = np.logical_and.reduce([part.valid for part in parts])
    parents = np.concatenate([part.parents for part in parts])
    order = np.argsort(parents, kind="stable")
    order = order[rows[parents[order]]]
    lengths = np.where(rows, np.sum([part.lengths for part in parts], axis=0), 0)
    return list_array(pa.concat_arrays([part.values for part in parts]).take(pa.array(order)), lengths, rows)


@evaluates("Flatten")
def _flatten(call: Call, args: Args) -> pa.Array:
    outer = lists_of(args[0])
    inner = lists_of(outer.values)
    holes = np.bincount(outer.parents[~inner.valid], minlength=len(outer.lengths)) > 0
    rows = outer.valid & ~holes
    lengths = np.bincount(outer.parents, inner.lengths, len(outer.lengths)).astype(np.int64)
    kept = rows[outer.parents[inner.parents]]
    return list_array(inner.values.filter(pa.array(kept)), np.where(rows, lengths, 0), rows)


@evaluates("ArrayReverse")
def _reverse(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    last = np.repeat(found.starts + found.lengths - 1, found.lengths)
    return found.reordered(last - found.positions)


@evaluates("Slice")
def _slice(call: Call, args: Args) -> pa.Array:
    found, start, length = lists_of(args[0]), *(numbers(arg).astype(np.int64) for arg in args[1:])
    rows = valid(*args)
    fail_at(rows & (start == 0), lambda row: "[INVALID_PARAMETER_VALUE.START] slice: start is 0; it counts from 1.")
    fail_at(rows & (length < 0), lambda row: f"[INVALID_PARAMETER_VALUE.LENGTH] slice: length {length[row]} < 0.")
    first = np.where(start > 0, start - 1, start + found.lengths)
    rows_first, rows_end = first[found.parents], (first + length)[found.parents]
    inside = (found.positions >= rows_first) & (found.positions < rows_end) & (rows_first >= 0)
    return only(found.kept(inside & rows[found.parents]), rows)


@evaluates("ArrayRepeat")
def _repeat(call: Call, args: Args) -> pa.Array:
    rows = valid(args[1])
    lengths = np.where(rows, np.maximum(numbers(args[1]), 0), 0).astype(np.int64)
    return list_array(args[0].take(pa.array(np.repeat(np.arange(len(lengths)), lengths))), lengths, rows)


@evaluates("ArraysZip")
def _zip(call: Call, args: Args) -> pa.Array:
    parts = [lists_of(arg) for arg in args]
    rows = valid(*args)
    lengths = np.where(rows, np.max([part.lengths for part in parts], axis=0), 0)
    columns = [padded(part, lengths) for part in parts]
    return list_array(pa.StructArray.from_arrays(columns, fields=list(arrow_type(call.type).value_type)), lengths, rows)


def padded(part: Lists, lengths: Integers) -> pa.Array:
    """The elements of lists made so long, with nulls at the end."""
    parents = np.repeat(np.arange(len(lengths)), lengths)
    positions = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    there = positions < part.lengths[parents]
    return part.values.take(pa.array(np.where(there, part.starts[parents] + positions, 0), mask=~there))


@evaluates("ArrayInsert", every_argument=True)
def _insert(call: Call, args: Args) -> pa.Array:
    found, at = lists_of(args[0]), numbers(args[1]).astype(np.int64)
    rows = valid(*args[:2])
    fail_at(rows & (at == 0), lambda row: "[INVALID_INDEX_OF_ZERO] The index 0 is invalid: elements count from 1.")
    # From the end, -1 is after the last element; Spark's older rule had it before.
    behind = found.lengths + at + (0 if call.option("legacy") else 1)
    place = np.where(at > 0, at - 1, np.maximum(behind, 0))
    front = np.where(at > 0, 0, np.maximum(-behind, 0))
    lengths = np.where(rows, np.maximum(found.lengths + front, np.where(at > 0, place, found.lengths)) + 1, 0)
    parents = np.repeat(np.arange(len(lengths)), lengths)
    positions = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return list_array(_inserted(found, args[2], place, front, parents, positions), lengths, rows)


def _inserted(
    found: Lists, item: pa.Array, place: Integers, front: Integers, parents: Integers, positions: Integers
) -> pa.Array:
    """The elements of every list with `item` at `place`, after `front` nulls where it comes before the beginning."""
    new = positions == place[parents]
    old = positions - np.where(front[parents] > 0, front[parents], 0) - (positions > place[parents])
    old = np.where(front[parents] > 0, positions - front[parents] - 1, old)
    there = ~new & (old >= 0) & (old < found.lengths[parents])
    source = pa.concat_arrays([found.values, item.cast(found.values.type)])
    at = np.where(new, len(found.values) + parents, np.where(there, found.starts[parents] + old, 0))
    return source.take(pa.array(at, mask=~(new | there)))


@evaluates("Exploded")
def _exploded(call: Call, args: Args) -> pa.Array:
    """Elements, or entries, as structs; with their positions if asked for."""
    found = lists_of(args[0])
    columns = found.values.flatten() if pa.types.is_map(args[0].type) else [found.values]
    if call.option("positions"):
        columns = [pa.array(found.positions.astype(np.int32)), *columns]
    structs = pa.StructArray.from_arrays(columns, fields=list(arrow_type(call.type).value_type))
    return list_array(structs, found.lengths, found.valid)
