"""Functions whose state is a list: collect_list, collect_set, listagg."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels import keys as plain_keys
from headway.kernels.aggregates.base import Columns, Function, Grouping, Ints
from headway.kernels.distinct import each_once, first_of_each
from headway.kernels.expressions.vectors import numbers
from headway.kernels.ranks import sort_keys

_INTEGRAL = (pa.types.is_integer, pa.types.is_timestamp, pa.types.is_duration, pa.types.is_date32)


class CollectList(Function):
    """collect_list: the values, in the order in which they came. A second argument says which rows count."""

    initial: tuple[Any, ...] = ([],)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (self.result,)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        counts = self.counting(args)
        return [singletons(args[0], np.ones(rows, np.bool_) if counts is None else counts)]

    def counting(self, args: Sequence[pa.Array]) -> npt.NDArray[np.bool_] | None:
        """The rows that count; None: all."""
        if len(args) > 1:
            return np.asarray(args[1].fill_null(False))
        return np.asarray(args[0].is_valid()) if args[0].null_count and self.options["ignore_nulls"] else None

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        return [concatenated(columns[0], grouping)]


class CollectSet(CollectList):
    """collect_set: the same, each value once; NaN is one value, and so are -0.0 and 0.0."""

    gathers = True

    def gather(self, args: Sequence[pa.Array], grouping: Grouping) -> Columns:
        counts, values, groups = self.counting(args), args[0], grouping.ids
        if counts is not None and not counts.all():
            values, groups = values.filter(pa.array(counts)), groups[counts]
        plain = list(plain_keys.flatten(values))
        ends, where = first_of_each(numbered(plain), groups, grouping.count)
        return [lists_of(ends, plain_keys.unflatten(values.type, iter(plain)).take(pa.array(where)))]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        lists = columns[0]
        values = lists.flatten()
        plain = list(plain_keys.flatten(values))
        normal = plain_keys.unflatten(values.type, iter(plain))
        offsets = np.concatenate([[0], np.cumsum(pc.list_value_length(lists).to_numpy())])
        ends, where = each_once(numbered(plain), offsets, grouping.ids, grouping.rows[grouping.offsets[:-1]])
        return [lists_of(ends, normal.take(pa.array(where)))]


class SetSize(CollectSet):
    """How many different values there are: collect_set of which the size alone is asked for."""

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (list_type(self.arguments[0]),)

    @property
    def kept_apart(self) -> bool:  # type: ignore[override]
        """Where a value is one number of at most 64 bits, and never null."""
        kind = self.arguments[0]
        numbers = any(test(kind) for test in (*_INTEGRAL, pa.types.is_floating))
        return numbers and len(self.arguments) == 1 and bool(self.options["ignore_nulls"])

    def finish(self, columns: Columns) -> pa.Array:
        return pc.list_value_length(columns[0])


class ListAgg(Function):
    """listagg: texts or binaries, each with what they are sorted by, joined in the end."""

    initial: tuple[Any, ...] = ([],)

    @property
    def states(self) -> tuple[pa.DataType, ...]:
        return (list_type(pa.struct([pa.field(f"v{i}", kind) for i, kind in enumerate(self.arguments)])),)

    def lift(self, args: Sequence[pa.Array], rows: int) -> Columns:
        structs = pa.StructArray.from_arrays(args, fields=list(self.states[0].value_type))
        return [singletons(structs, args[0].is_valid().to_numpy(zero_copy_only=False))]

    def collect(self, columns: Columns, grouping: Grouping) -> Columns:
        return [concatenated(columns[0], grouping)]

    def finish(self, columns: Columns) -> pa.Array:
        lists = columns[0]
        groups = groups_of(lists)
        texts, *orders = lists.flatten().flatten()
        keys = zip(reversed(orders), reversed(self.options["orders"]), strict=True)
        sorted_by = [key for column, order in keys for key in sort_keys(column, *order)]
        at = np.lexsort([*sorted_by, groups])
        joined = pc.binary_join(of_groups(texts.take(pa.array(at)), groups, len(lists)), self.options["delimiter"])
        return pc.if_else(pc.greater(pc.list_value_length(lists), 0), joined, None)


def list_type(element: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", element))


def lists_of(offsets: npt.NDArray[np.integer], values: pa.Array, null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Lists of which number i is values[offsets[i] : offsets[i + 1]], or null."""
    mask = None if null is None else pa.array(null)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, type=list_type(values.type), mask=mask)


def singletons(values: pa.Array, counts: npt.NDArray[np.bool_]) -> pa.Array:
    """A list of one value for every row that counts, an empty one for the others."""
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    kept = values if counts.all() else values.filter(pa.array(counts))
    return lists_of(offsets, kept)


def concatenated(lists: pa.Array, grouping: Grouping) -> pa.Array:
    """The lists of every group as one, in the order of the rows."""
    ordered = lists if grouping.count == 1 else lists.take(pa.array(grouping.rows))
    ends = np.concatenate([[0], np.cumsum(pc.list_value_length(ordered).to_numpy())])
    return lists_of(ends[grouping.offsets], ordered.flatten())


def groups_of(lists: pa.Array) -> Ints:
    """Which list each of the flat values belongs to."""
    return np.repeat(np.arange(len(lists)), pc.list_value_length(lists).to_numpy())


def of_groups(values: pa.Array, groups: Ints, count: int) -> pa.Array:
    """`count` lists of values, of which groups[i] has values[i]; values come group by group."""
    offsets = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
    return lists_of(offsets, values)


def numbered(plain: Sequence[pa.Array]) -> Ints:
    """An integer for every row of plain columns, the same for equal rows and for no others."""
    if len(plain) == 1 and not plain[0].null_count and any(test(plain[0].type) for test in _INTEGRAL):
        return numbers(plain[0]).astype(np.int64)
    codes = np.zeros(len(plain[0]), np.int64)
    for column in plain:
        if not pa.types.is_null(column.type):
            encoded = column.dictionary_encode("encode")
            codes = codes * max(len(encoded.dictionary), 1) + encoded.indices.to_numpy()
            codes = pa.array(codes).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def distinct(groups: Ints, plain: Sequence[pa.Array], counts: pa.Array | None = None) -> tuple[Ints, Ints]:
    """The first row of every distinct value of each group, and the sum of their counts (1 each if not given)."""
    names = [f"k{i}" for i in range(len(plain) + 1)]
    row = np.arange(len(groups))
    counts = pa.array(np.ones(len(groups), np.int64)) if counts is None else counts
    table = pa.Table.from_arrays([pa.array(groups), *plain, pa.array(row), counts], [*names, "row", "count"])
    merged = table.group_by(names, use_threads=False).aggregate([("row", "min"), ("count", "sum")])
    return merged.column("row_min").to_numpy(), merged.column("count_sum").to_numpy()
