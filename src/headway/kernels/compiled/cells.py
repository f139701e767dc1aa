"""The groups that a compiled kernel holds: their memory, its growth, and their way out as partials.

Generated code fills the cells (see aggregation.py); here they are only moved, and only between calls.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headway.dataflow.graph import AggCall, Aggregate
from headway.dataflow.types import arrow_type
from headway.kernels.api import partial_schema, state_types
from headway.kernels.compiled import layout
from headway.kernels.compiled.aggregation import AggregationPlan
from headway.kernels.compiled.dealing import deal
from headway.kernels.compiled.values import is_float

_FIRST = 1024
_NEVER = 2**63 - 1

Cells = npt.NDArray[np.int64]


class CellTable:
    """The groups of one kernel; the header tells generated code where they are."""

    def __init__(self, aggregate: Aggregate, plan: AggregationPlan, header: memoryview) -> None:
        self._aggregate = aggregate
        self._plan = plan
        self._header = header
        self.schema = partial_schema(aggregate)
        self._key_types = [arrow_type(key.type) for key in aggregate.keys]
        self._state_types = [state_types(agg) for agg in aggregate.aggs]
        hashed = [(place, _hashed_bytes(kind)) for place, kind in enumerate(self._key_types)]
        self._hashed = np.array(hashed, np.int64).reshape(-1, 2)
        self._cells: Cells = np.zeros((0, plan.width), np.int64)
        self._ways = np.zeros(layout.WAYS, np.int64)
        self._dense = np.zeros(0, np.int32)
        self._examined = 0
        self._timed = 0
        """So many groups are known to end at `_first_end` or later."""
        self._first_end = _NEVER
        header[layout.WAY_STARTS] = self._ways.ctypes.data
        self._resize(_FIRST)
        if plan.places:
            self._index(0, plan.places)

    @property
    def groups(self) -> int:
        return self._header[layout.GROUPS]

    @property
    def bytes(self) -> int:
        """What the groups take of the memory that there is for them."""
        return int(self._cells[: self.groups].nbytes)

    def grow(self) -> None:
        """Twice the room."""
        self._resize(2 * len(self._cells))

    def _resize(self, capacity: int) -> None:
        cells = np.empty((capacity, self._plan.width), np.int64)
        cells[: self.groups] = self._cells[: self.groups]
        self._cells = cells
        self._table = np.empty(2 * capacity, np.int32)
        header = self._header
        header[layout.CELLS], header[layout.TABLE] = cells.ctypes.data, self._table.ctypes.data
        header[layout.LIMIT], header[layout.MASK], header[layout.DIRTY] = capacity, 2 * capacity - 1, 1

    def examine(self) -> None:
        """Set the dense index up for the keys seen, each time there are twice as many groups as before."""
        plan = self._plan
        if plan.dense_key is None or plan.places or self.groups < 2 * self._examined or not self.groups:
            return
        self._examined = self.groups
        low, high = self._key_range()
        span = high - low + 1
        header = self._header
        if low >= header[layout.KEY_LOW] and high < header[layout.KEY_LOW] + header[layout.KEY_RANGE]:
            return
        if span <= layout.DENSE_KEYS:
            # Room on both sides, so that a key slightly out of the range does not set the index up again.
            self._index(low - span // 2 if span > 1 else low, 2 * span if span > 1 else 1)

    def _key_range(self) -> tuple[int, int]:
        assert self._plan.dense_key is not None
        if self._plan.dense_key < 0:
            return 0, 0
        keys = self._cells[: self.groups, self._plan.dense_key]
        return int(keys.min()), int(keys.max())

    def _index(self, low: int, span: int) -> None:
        ways = layout.WAYS if any(self._plan.windows) else 1
        self._dense = np.full(ways * span, -1, np.int32)
        self._ways[:] = layout.NO_TIME
        header = self._header
        header[layout.KEY_LOW], header[layout.KEY_RANGE] = low, span
        header[layout.DENSE] = self._dense.ctypes.data

    def partials(self) -> pa.RecordBatch:
        """All groups."""
        return self._export(np.ascontiguousarray(self._cells[: self.groups].T))

    def take(self, watermark: int | None, owners: int) -> list[pa.RecordBatch] | None:
        """Remove the groups that `watermark` ends, all if it is None; give those of each of so many owners."""
        held = self._cells[: self.groups]
        if watermark is not None and self._earliest(held) > watermark:
            return None
        ended = self._ended(held, watermark)
        if not ended.any():
            return None
        null_cell = self._plan.keys if self._plan.null_cell else -1
        columns, bounds = deal(self._cells, len(held), ended, self._hashed, null_cell, owners)
        taken, begins = self._export(columns), bounds.tolist()
        self._header[layout.GROUPS], self._header[layout.DIRTY] = len(held) - taken.num_rows, 1
        self._dense.fill(-1)
        self._timed, self._first_end = 0, _NEVER
        return [taken.slice(begin, end - begin) for begin, end in pairwise(begins)]

    def _earliest(self, held: Cells) -> int:
        """When the first group ends. Watermarks come often and end nothing mostly: only new groups are looked at."""
        event_key, new = self._aggregate.event_key, held[self._timed :]
        if event_key is not None and len(new):
            null = self._null(new, event_key)
            starts = new[:, event_key] if null is None else new[~null, event_key]
            if len(starts):
                self._first_end = min(self._first_end, int(starts.min()) + self._plan.windows[event_key])
            self._timed = len(held)
        return self._first_end

    def _ended(self, held: Cells, watermark: int | None) -> npt.NDArray[np.bool_]:
        if watermark is None:
            return np.ones(len(held), np.bool_)
        event_key = self._aggregate.event_key
        if event_key is None:
            return np.zeros(len(held), np.bool_)
        ended: npt.NDArray[np.bool_] = held[:, event_key] + self._plan.windows[event_key] <= watermark
        null = self._null(held, event_key)
        return ended if null is None else ended & ~null

    def _null(self, held: Cells, key: int) -> npt.NDArray[np.bool_] | None:
        """Where a key is null; None: nowhere."""
        if not self._plan.null_cell:
            return None
        bits: npt.NDArray[np.bool_] = (held[:, self._plan.keys] >> key) & 1 == 1
        return bits

    def _export(self, cells: Cells) -> pa.RecordBatch:
        """The groups of cells that are given column by column, as Arrow has them."""
        held = cells.T
        columns = [self._key(held, i) for i in range(len(self._aggregate.keys))]
        for number, agg in enumerate(self._aggregate.aggs):
            columns += self._states(held, number, agg)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _key(self, held: Cells, key: int) -> pa.Array:
        kind = self._key_types[key]
        null = self._null(held, key)
        if not pa.types.is_struct(kind):
            return to_arrow(held[:, key], kind, null)
        start = held[:, key]
        ends = (start, start + self._plan.windows[key])
        fields = list(kind)
        children = [to_arrow(values, f.type, null) for values, f in zip(ends, fields, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields)

    def _states(self, held: Cells, number: int, agg: AggCall) -> list[pa.Array]:
        cells, kinds = self._plan.states[number], self._state_types[number]
        if agg.function == "avg":
            count = held[:, cells[1]]
            total = held[:, cells[0]].view(np.float64)
            return [to_arrow(total, kinds[0], count == 0), to_arrow(count, kinds[1])]
        values = held[:, cells[0]]
        if agg.function != "count" and is_float(agg.args[0].type):
            values = values.view(np.float64)
        return [to_arrow(values, kinds[0], self._unseen(held, number, agg))]

    def _unseen(self, held: Cells, number: int, agg: AggCall) -> npt.NDArray[np.bool_] | None:
        if agg.function == "count" or not self._plan.seen_cell:
            return None
        bits: npt.NDArray[np.bool_] = (held[:, self._plan.seen] >> number) & 1 == 0
        return bits


def _hashed_bytes(key: pa.DataType) -> int:
    """How many bytes of a key are hashed: a window is hashed by its start, and no number as less than 4."""
    return 8 if pa.types.is_struct(key) else max(key.bit_width // 8, 4)


def to_arrow(values: np.ndarray, kind: pa.DataType, null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Cells, one after the other, as an Arrow column of `kind`."""
    mask = null if null is not None and null.any() else None
    if mask is None and not pa.types.is_floating(kind) and kind.bit_width == 8 * values.itemsize:
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)], 0)
    if pa.types.is_timestamp(kind) or pa.types.is_date32(kind):
        plain = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array(values, plain, mask=mask).view(kind)
    if pa.types.is_floating(kind) and values.dtype == np.int64:
        bits = values.astype(np.int32).view(np.float32) if kind == pa.float32() else values.view(np.float64)
        return pa.array(bits, kind, mask=mask)
    return pa.array(values != 0 if pa.types.is_boolean(kind) else values, kind, mask=mask)
