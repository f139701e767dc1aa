"""The second step of an aggregation whose keys and states are of fixed width: machine code merges groups of cells.

It does what `merge.Merge` does, which takes whatever Arrow can merge. But a batch of partials costs it little even
where none of its code is in the processor's cache, which counts when the windows of many queries end at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Aggregate
from headway.dataflow.types import arrow_schema, arrow_type
from headway.kernels import keys as plain_keys
from headway.kernels.aggregates import bind, numbers, picks
from headway.kernels.aggregates.base import Function
from headway.kernels.api import Changes, partial_schema
from headway.kernels.cell_tables import CellTables, Found, Part
from headway.kernels.compiled import merging
from headway.kernels.compiled.cells import to_arrow
from headway.kernels.expressions.registry import RowError
from headway.kernels.partials import CHANGED, batch_of

_KINDS: dict[pa.DataType, int] = {
    pa.bool_(): merging.BIT,
    pa.int8(): merging.I8,
    pa.int16(): merging.I16,
    pa.int32(): merging.I32,
    pa.date32(): merging.I32,
    pa.int64(): merging.I64,
    pa.timestamp("us"): merging.I64,
    pa.timestamp("us", "UTC"): merging.I64,
    pa.float32(): merging.F32,
    pa.float64(): merging.F64,
}
_KEY_KINDS = _KINDS | {pa.float32(): merging.KEY_F32, pa.float64(): merging.KEY_F64}
_PLAIN = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
"""As what a key of floats is held (see `keys`)."""
_MOST_KEYS = 60
"""A cell has a bit for each of them."""
_WATERMARKLESS = -(2**63)

Cells = npt.NDArray[np.int64]


def fits(aggregate: Aggregate) -> bool:
    """Whether all of an aggregate's keys and states are of fixed width."""
    leaves = [leaf for key in aggregate.keys for leaf in _leaf_types(arrow_type(key.type), optional=True)]
    return (
        not aggregate.session
        and max(len(leaves), len(aggregate.aggs) * 2) <= _MOST_KEYS
        and all(leaf in _KEY_KINDS for leaf in leaves)
        and all(_how(bind(call)) is not None for call in aggregate.aggs)
    )


def _leaf_types(kind: pa.DataType, optional: bool) -> Iterator[pa.DataType]:
    """The types of the columns that `keys.flatten` makes of a key, but for floats, which stay."""
    if not pa.types.is_struct(kind):
        yield kind
        return
    if optional:
        yield pa.bool_()
    for field in kind:
        yield from _leaf_types(field.type, optional=True)


def _how(function: Function) -> tuple[int, ...] | None:
    """How each state of a function is merged; None: not here."""
    match function:
        case numbers.Count():
            return (merging.SUM,)
        case numbers.LongSum() if function.result == pa.int64():
            return (merging.SUM if function.ansi else merging.WRAPPING_SUM,)
        case numbers.DoubleSum() if function.result == pa.float64():
            return (merging.REAL_SUM,)
        case numbers.DoubleAverage() if function.result == pa.float64():
            return merging.REAL_SUM, merging.SUM
        case picks.FloatExtreme():
            return (merging.REAL_MIN if function.call.function == "min" else merging.REAL_MAX,)
        case picks.Extreme() if function.states[0] in _KINDS:
            return (merging.MIN if function.call.function == "min" else merging.MAX,)
    return None


class CellMerge:
    """The merge kernel of an aggregate that `fits`. See `api.MergeKernel`."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._schema, self._results = partial_schema(aggregate), arrow_schema(aggregate.schema)
        self._functions = [bind(call) for call in aggregate.aggs]
        self._keys = [(arrow_type(key.type), i != aggregate.event_key) for i, key in enumerate(aggregate.keys)]
        per_key = [list(_leaf_types(*key)) for key in self._keys]
        self._leaves = [leaf for leaves in per_key for leaf in leaves]
        ways = [_how(function) or () for function in self._functions]
        self._how = np.array([*chain(*ways)], np.int64)
        self._state_types = list(self._schema.types[len(self._keys) :])
        self._state_kinds = [_KINDS[kind] for kind in self._state_types]
        self._width = len(self._leaves) + 1
        self._end = -1
        if aggregate.event_key is not None:
            self._end = sum(map(len, per_key[: aggregate.event_key + 1])) - 1
        self._columns = np.zeros((len(self._leaves) + len(self._how) + 1, 4), np.int64)
        self._addresses = memoryview(self._columns.reshape(-1))  # type: ignore[arg-type]
        self._tables = CellTables(self._width, len(self._how), self._end)
        self._seeded = not self._keys
        """True iff the one group of an aggregate without keys is there without anything having been restored."""
        if self._seeded:
            initial = [value for function in self._functions for value in function.initial]
            seeds = [pa.array([value], kind) for value, kind in zip(initial, self._state_types, strict=True)]
            self._absorb(batch_of(seeds, self._schema, 1), None, None)

    def merge(self, partials: pa.RecordBatch, watermark: int | None) -> int:
        """See `api.MergeKernel`. Spark drops nothing in complete mode: give no watermark then."""
        header = self._tables.header
        header[merging.LATE] = 0
        self._absorb(partials, watermark, None)
        return int(header[merging.LATE])

    def emit(self, mode: str, watermark: int | None) -> pa.RecordBatch | None:
        tables, given = self._tables, None
        if mode != "append" and tables.changed:
            changed = tables.take_changed()
            given = self._finish(tables.all() if mode == "complete" else changed)
        if mode != "complete" and (ended := tables.ended(watermark)):
            if mode == "append":
                given = self._finish(ended)
            tables.drop(ended)
        return given

    def snapshot(self) -> pa.Table:
        found = self._tables.copy(self._tables.all(), marked=True)
        batch = batch_of([*self._export_keys(found), *self._export_states(found)], self._schema, found.rows)
        marks = found.cells[self._width + 1]
        return pa.Table.from_batches([batch]).append_column(CHANGED, pa.array(marks & 1 != 0))

    def changes(self) -> Changes | None:
        """Its groups are few, or end soon."""
        return None

    def restore(self, state: pa.Table) -> None:
        if self._seeded and state.num_rows:
            self._seeded = False
            self._tables.clear()
        for batch in state.to_batches():
            flags = pc.fill_null(batch.column(CHANGED), True)
            self._absorb(batch.drop_columns([CHANGED]), None, flags)

    @property
    def groups(self) -> int:
        return self._tables.groups

    @property
    def bytes(self) -> int:
        return self._tables.groups * self._tables.stride * 8

    def _absorb(self, partials: pa.RecordBatch, watermark: int | None, flags: pa.Array | None) -> None:
        held = self._point_to(partials, flags)
        tables, reached = self._tables, _WATERMARKLESS if watermark is None else watermark
        header, rows = tables.header, partials.num_rows
        header[merging.NEXT] = 0
        tables.consider()
        while True:
            code = merging.absorb(
                tables.rows, tables.slots, self._columns, self._how, header, rows, self._end, reached, tables.shift
            )
            if code == merging.FULL:
                tables.grow(int(header[merging.WHERE]))
            elif code == merging.NEW_END:
                tables.open(int(header[merging.WHERE]))
            else:
                break
        del held  # until here, what the columns' addresses are of
        if code == merging.OVERFLOW:
            raise RowError("[ARITHMETIC_OVERFLOW] long overflow in sum. Use 'try_sum', or a decimal argument.")

    def _point_to(self, partials: pa.RecordBatch, flags: pa.Array | None) -> list[Any]:
        """Tell machine code where the columns are; gives what must live while it runs."""
        found = partials.columns
        held = [leaf for array, key in zip(found, self._keys, strict=False) for leaf in _leaves(array, *key)]
        held += zip(found[len(self._keys) :], self._state_kinds, strict=True)
        held.append((flags, merging.ALWAYS if flags is None else merging.BIT))
        columns, at = self._addresses, 0
        for array, kind in held:
            columns[at + 1] = kind
            if array is not None:
                validity, data = array.buffers()
                columns[at] = 0 if data is None else data.address
                columns[at + 2] = array.offset
                columns[at + 3] = 0 if validity is None else validity.address
            at += 4
        return held

    def _finish(self, groups: list[Part]) -> pa.RecordBatch | None:
        if not groups:
            return None
        found = self._tables.copy(groups)
        columns, states = self._export_keys(found), iter(self._export_states(found))
        for function in self._functions:
            if isinstance(function, numbers.DoubleAverage):
                columns.append(function.finish([next(states), next(states)]))
            else:
                columns.append(next(states))
        return batch_of(columns, self._results, found.rows)

    def _export_keys(self, found: Found) -> list[pa.Array]:
        cells, nulls = found.cells, found.cells.get(self._width - 1)
        plain = (
            to_arrow(cells[i], _PLAIN.get(kind, kind), None if nulls is None else (nulls >> i) & 1 == 1)
            for i, kind in enumerate(self._leaves)
        )
        return [plain_keys.unflatten(kind, plain, optional) for kind, optional in self._keys]

    def _export_states(self, found: Found) -> list[pa.Array]:
        cells, seen = found.cells, found.cells.get(self._width)
        return [
            _state(cells[self._width + 2 + i], kind, None if seen is None else (seen >> i) & 1 == 0)
            for i, kind in enumerate(self._state_types)
        ]


def _state(cells: Cells, kind: pa.DataType, null: npt.NDArray[np.bool_] | None) -> pa.Array:
    """Floats of either width are held as doubles."""
    return to_arrow(cells.view(np.float64) if pa.types.is_floating(kind) else cells, kind, null)


def _leaves(array: pa.Array, kind: pa.DataType, optional: bool) -> Iterator[tuple[pa.Array | None, int]]:
    """The plain columns of a key and what they are; None: 1 in every row."""
    if not pa.types.is_struct(kind):
        yield array, _KEY_KINDS[kind]
    elif array.null_count:
        for plain in plain_keys.flatten(array, optional):
            yield plain, _KEY_KINDS[plain.type]
    else:
        if optional:
            yield None, merging.ALWAYS
        for i, field in enumerate(kind):
            yield from _leaves(array.field(i), field.type, True)
