"""Partial aggregates of one Aggregate as tables in the form they are held, where merging is one call of Arrow's.

1. Columns of such a table: plain key columns (see `keys`), then the columns held by every function (see `aggregates`),
   then, for those who ask for it, `changed`. A table may have many rows of one group until it is merged. Where sets are
   kept apart (see `sets`), there are the number of the group and their sizes too.
2. With no keys at all there is a constant one, so that there is a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import inf

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import AggCall, Aggregate
from headway.dataflow.types import arrow_schema, arrow_type
from headway.kernels import keys as plain_keys
from headway.kernels.aggregates import COLLECT, Columns, Function, Grouping, bind
from headway.kernels.api import partial_schema
from headway.kernels.expressions.registry import evaluate
from headway.kernels.expressions.several import Several
from headway.kernels.grouping import Reduction, grouped, whole

CHANGED = "changed"
NUMBER = "number"
_ROW = "row"


def size_of(state: str) -> str:
    """The column with the size of the set that is in the column `state`, or would be."""
    return f"{state}_size"


def flagged(table: pa.Table, changed: bool) -> pa.Table:
    """A table of partials with a column that says whether they have changed."""
    return table.append_column(CHANGED, pa.repeat(changed, table.num_rows))


class Partials:
    """The tables of one aggregate. Immutable."""

    _gathers = True
    """Whether functions may gather rows of a group by themselves: not where what a group is depends on all of them."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self.schema = partial_schema(aggregate)
        self.result_schema = arrow_schema(aggregate.schema)
        self.functions = [bind(call) for call in aggregate.aggs]
        self._key_types = [arrow_type(key.type) for key in aggregate.keys]
        last = len(aggregate.keys) - 1
        self._optional = [i != aggregate.event_key and not (aggregate.session and i == last) for i in range(last + 1)]
        widths = [plain_keys.width(*key) for key in zip(self._key_types, self._optional, strict=True)]
        self.keys = [f"k{i}" for i in range(max(sum(widths), 1))]
        self.states = [[f"a{i}_{j}" for j in range(len(f.reductions))] for i, f in enumerate(self.functions)]
        self._names = self.keys + [name for names in self.states for name in names]
        self._initial = [initial for function in self.functions for initial in function.initial]
        self._collecting = any(COLLECT in f.reductions for f in self.functions)
        self._reductions = {
            (flagged, settled): self._reduced(flagged, settled)
            for flagged in (False, True)
            for settled in (False, True)
        }
        plain = [arg for call in aggregate.aggs if call.filter is None for arg in call.args]
        self._plain_arguments = Several(plain, len(aggregate.input.schema))
        states = zip(self.functions, self.states, strict=True)
        self._widening = [(function, names) for function, names in states if function.widens]
        self._end = None if aggregate.event_key is None else sum(widths[: aggregate.event_key + 1]) - 1

    def lift(self, batch: pa.RecordBatch) -> pa.Table:
        """The groups of the rows of `batch`."""
        columns = self._plain_keys([batch.column(key.index) for key in self.aggregate.keys], batch.num_rows)
        plain = iter(self._plain_arguments(batch))
        names, raw = list(self.keys), {}
        for function, states in zip(self.functions, self.states, strict=True):
            call = function.call
            args = list(islice(plain, len(call.args))) if call.filter is None else _chosen_arguments(call, batch)
            if function.gathers and self._gathers:
                raw[states[0]] = args
            else:
                columns += function.lift(args, batch.num_rows)
                names += states
        return self.merge(pa.Table.from_arrays(columns, names), raw)

    def encode(self, partials: pa.RecordBatch) -> pa.Table:
        """Partials of `partial_schema`, and their column `changed` if they have one."""
        arrays = iter(partials.columns)
        columns = self._plain_keys(list(islice(arrays, len(self._key_types))), partials.num_rows)
        for function in self.functions:
            columns += function.encode(list(islice(arrays, len(function.reductions))))
        names = self._names + partials.schema.names[len(self.schema) :]
        return pa.Table.from_arrays(columns + list(arrays), names)

    def decode(self, table: pa.Table) -> pa.RecordBatch:
        """Partials of `partial_schema`, without `changed`."""
        columns = self._keys(table)
        for function, names in zip(self.functions, self.states, strict=True):
            columns += function.decode([whole(table.column(name)) for name in names])
        return batch_of(columns, self.schema, table.num_rows)

    def finish(self, table: pa.Table) -> pa.RecordBatch:
        """The results of the groups in `table`, which has one row of each."""
        columns = self._keys(table)
        for function, names in zip(self.functions, self.states, strict=True):
            size = size_of(names[0])
            if size in table.column_names:
                columns.append(whole(table.column(size)).cast(function.result))
            else:
                columns.append(function.finish([whole(table.column(name)) for name in names]))
        return batch_of(columns, self.result_schema, table.num_rows)

    def merge(self, table: pa.Table, raw: Mapping[str, Columns] | None = None) -> pa.Table:
        """One row per group. In `raw` are arguments of functions that gather, by the state that the table lacks."""
        if table.num_rows <= 1 and not self._collecting:
            return table
        wide = self._each(table, lambda function, columns: function.widen(columns))
        if self._collecting:
            wide = wide.append_column(_ROW, pa.array(np.arange(table.num_rows)))
        reductions = self._reductions[CHANGED in table.column_names, NUMBER in table.column_names]
        merged = grouped(wide, self._group_by(), reductions)
        if self._collecting:
            merged = self._collected(wide, merged, raw or {})
        return self._each(merged, lambda function, columns: function.narrow(columns))

    def empty_group(self) -> pa.Table:
        """The one group of an aggregate without keys, before any row came."""
        states = [pa.array([initial], field.type) for initial, field in zip(self._initial, self.schema, strict=True)]
        return self.encode(batch_of(states, self.schema, 1))

    @property
    def ends_by_time(self) -> bool:
        """Whether there is an event-time key."""
        return self._end is not None

    def ended(self, table: pa.Table, watermark: int) -> pa.Array:
        """Which groups `watermark` ends."""
        ended = pc.less_equal(self.ends(table), watermark)
        return pc.fill_null(ended, False) if ended.null_count else ended

    def ends(self, table: pa.Table) -> pa.Array:
        """When the groups end, in microseconds; only if there is an event-time key."""
        assert self._end is not None
        return whole(table.column(self._end)).view(pa.int64())

    def span(self, table: pa.Table) -> tuple[float, float]:
        """When the first and the last of the groups end, of which there is one at least; infinite: never."""
        if self._end is None:
            return inf, inf
        ends = self.ends(table)
        if ends.null_count:
            first = pc.min(ends).as_py()
            return inf if first is None else first, inf
        numbers = ends.to_numpy()
        return numbers.min(), numbers.max()

    def _plain_keys(self, arrays: Sequence[pa.Array], rows: int) -> Columns:
        if not arrays:
            return [pa.array(np.zeros(rows, np.int8))]
        pairs = zip(arrays, self._optional, strict=True)
        return [plain for array, optional in pairs for plain in plain_keys.flatten(array, optional)]

    def _keys(self, table: pa.Table) -> Columns:
        plain = iter([whole(table.column(i)) for i in range(len(self.keys))])
        pairs = zip(self._key_types, self._optional, strict=True)
        return [plain_keys.unflatten(kind, plain, optional) for kind, optional in pairs]

    def _reduced(self, flagged: bool, settled: bool) -> list[Reduction]:
        """How tables are merged, those with a column `changed` if `flagged`, and those whose sets are kept apart."""
        pairs = [
            (name, reduction)
            for function, names in zip(self.functions, self.states, strict=True)
            for name, reduction in zip(names, function.reductions, strict=True)
            if reduction != COLLECT
        ]
        pairs += [(CHANGED, "any")] if flagged else []
        if settled:
            kept = [n[0] for f, n in zip(self.functions, self.states, strict=True) if f.kept_apart]
            pairs += [(NUMBER, "min"), *((size_of(name), "sum") for name in kept)]
        pairs += [(_ROW, COLLECT)] if self._collecting else []
        return pairs

    def _group_by(self) -> list[str]:
        """The columns whose values make rows one group."""
        return self.keys

    def _each(self, table: pa.Table, change: Callable[[Function, Columns], Columns]) -> pa.Table:
        """`table` with the columns of every function changed by one of its methods."""
        for function, names in self._widening:
            columns = [whole(table.column(name)) for name in names]
            for name, old, new in zip(names, columns, change(function, columns), strict=True):
                if new is not old:
                    table = table.set_column(table.column_names.index(name), name, new)
        return table

    def _collected(self, wide: pa.Table, merged: pa.Table, raw: Mapping[str, Columns]) -> pa.Table:
        """`merged` with the columns that Arrow cannot merge, in their places."""
        grouping = grouping_of(merged.column(_ROW))
        for function, names in zip(self.functions, self.states, strict=True):
            if COLLECT in function.reductions:
                args = raw.get(names[0])
                if args is None:
                    columns = function.collect([whole(wide.column(name)) for name in names], grouping)
                else:
                    columns = function.gather(args, grouping)
                for name, column in zip(names, columns, strict=True):
                    merged = merged.append_column(name, column)
        places = [name for name in self._names if name in merged.column_names]
        return merged.select([*places, *(name for name in wide.column_names if name not in {*places, _ROW})])


def batch_of(columns: Sequence[pa.Array], schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch of `rows` rows, also where there is no column to tell how many."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def grouping_of(rows: pa.ChunkedArray) -> Grouping:
    """The groups of which a column of Arrow's lists has the rows."""
    lists = whole(rows)
    return Grouping(lists.flatten().to_numpy(), lists.offsets.to_numpy().astype(np.int64))


def _chosen_arguments(call: AggCall, batch: pa.RecordBatch) -> Columns:
    """The call's arguments, null in rows that its filter leaves out; only the other rows are evaluated."""
    assert call.filter is not None
    mask = pc.fill_null(evaluate(call.filter, batch), False)
    selected = batch.filter(mask)
    chosen = mask.to_numpy(zero_copy_only=False)
    at = pa.array(np.cumsum(chosen) - 1, mask=~chosen)
    if not call.args:
        return [pc.if_else(mask, True, None)]
    return [evaluate(arg, selected).take(at) for arg in call.args]
