"""Maps made from arrays, entries and other maps.

A null key and, by default, a key that comes twice are errors in every mode; keys of floats are in their normal form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call
from headway.kernels.expressions.arrays import concatenated, interleaved
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.vectors import Mask, fail_at, shown, valid
from headway.kernels.lists import Integers, Lists, entries, lists_of, map_array
from headway.kernels.ranks import dense_ranks

Args = Sequence[pa.Array]


def made(call: Call, keys: pa.Array, values: pa.Array, lengths: Integers, rows: Mask) -> pa.Array:
    """Maps of these entries, as many in each row as `lengths` says."""
    parents = np.repeat(np.arange(len(lengths)), lengths)
    fail_at(~valid(keys), lambda row: "[NULL_MAP_KEY] Cannot use null as map key.")
    if pa.types.is_floating(keys.type):
        keys = pc.if_else(pc.is_nan(keys), pa.scalar(np.nan, keys.type), pc.add(keys, pa.scalar(0.0, keys.type)))
    rank = dense_ranks(keys)
    numbered = parents * (int(rank.max(initial=0)) + 1) + rank
    first = np.unique(numbered, return_index=True)[1]
    if len(first) == len(numbered):
        return map_array(keys, values, lengths, rows)
    repeated = np.ones(len(numbered), np.bool_)
    repeated[first] = False
    if not call.option("last_wins"):
        fail_at(repeated, lambda row: f"[DUPLICATED_MAP_KEY] Duplicate map key {shown(keys[row])} was found.")
    return _last_wins(keys, values, numbered, parents, rows)


def _last_wins(keys: pa.Array, values: pa.Array, numbered: Integers, parents: Integers, rows: Mask) -> pa.Array:
    """A key stays where it came first, with the value that came last."""
    _, first, inverse = np.unique(numbered, return_index=True, return_inverse=True)
    last = np.zeros(len(first), np.int64)
    last[inverse] = np.arange(len(numbered))
    order = np.argsort(first)
    lengths = np.bincount(parents[first], minlength=len(rows))
    return map_array(keys.take(pa.array(first[order])), values.take(pa.array(last[order])), lengths, rows)


@evaluates("CreateMap", every_argument=True)
def _create(call: Call, args: Args) -> pa.Array:
    rows = len(args[0])
    lengths = np.full(rows, len(args) // 2)
    return made(call, interleaved(args[::2]), interleaved(args[1::2]), lengths, np.ones(rows, np.bool_))


@evaluates("MapFromArrays")
def _from_arrays(call: Call, args: Args) -> pa.Array:
    keys, values = lists_of(args[0]), lists_of(args[1])
    rows = keys.valid & values.valid
    bad = rows & (keys.lengths != values.lengths)
    fail_at(bad, lambda row: "[_LEGACY_ERROR_TEMP_2128] The arrays of keys and values are not of the same length.")
    return made(call, _of(keys, rows), _of(values, rows), np.where(rows, keys.lengths, 0), rows)


def _of(found: Lists, rows: Mask) -> pa.Array:
    """The elements of the rows that count."""
    return found.values.filter(pa.array(rows[found.parents]))


@evaluates("MapFromEntries")
def _from_entries(call: Call, args: Args) -> pa.Array:
    found = lists_of(args[0])
    holes = np.bincount(found.parents[~valid(found.values)], minlength=len(found.lengths)) > 0
    rows = found.valid & ~holes
    kept = _of(found, rows)
    return made(call, pc.struct_field(kept, [0]), pc.struct_field(kept, [1]), np.where(rows, found.lengths, 0), rows)


@evaluates("MapConcat")
def _concat(call: Call, args: Args) -> pa.Array:
    parts = [entries(arg)[0] for arg in args]
    found = lists_of(concatenated(parts))
    keys, values = found.values.flatten()
    return made(call, keys, values, found.lengths, found.valid)


@evaluates("StringToMap")
def _from_text(call: Call, args: Args) -> pa.Array:
    """Delimiters are regular expressions, of which Spark's default ones are plain text."""
    rows = args[0].to_pylist()
    pairs = [None if text is None else text.split(call.option("pairs")) for text in rows]
    split = [pair.partition(call.option("values")) for row in pairs if row is not None for pair in row]
    keys = pa.array([key for key, _, _ in split], pa.string())
    values = pa.array([value if found else None for _, found, value in split], pa.string())
    lengths = np.array([0 if row is None else len(row) for row in pairs], np.int64)
    return made(call, keys, values, lengths, valid(args[0]))
