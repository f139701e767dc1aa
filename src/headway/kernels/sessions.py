"""Session windows: partials whose last key is a window from its first event to the end of its last gap.

1. Partials of equal other keys are one session if the next begins no later than the one before ends; then it reaches
   from the first start to the last end. That may go on: a late event can join two sessions.
2. Merged sessions of one key are apart from each other, so that each ends by itself, and what comes has to be compared
   with the sessions of its own key alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Aggregate
from headway.kernels.aggregates.base import Columns, Ints
from headway.kernels.api import Changes
from headway.kernels.grouping import number_rows, whole
from headway.kernels.hashing import hash_plain
from headway.kernels.keyed_rows import Hashes, KeyedRows
from headway.kernels.partials import CHANGED, Partials

_SESSION = "session"


class SessionPartials(Partials):
    """The tables of an aggregate by session; the last two of the key columns are the start and the end."""

    _gathers = False

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(aggregate)
        self.others = self.keys[:-2]
        self._start, self._last = self.keys[-2:]

    def merge(self, table: pa.Table, raw: Mapping[str, Columns] | None = None) -> pa.Table:
        """One row per session."""
        if not table.num_rows:
            return table
        groups = self._groups(table)
        starts = whole(table.column(self._start)).view(pa.int64()).to_numpy()
        order = np.lexsort((starts, groups))
        table = table.take(pa.array(order))
        new, ends = _sessions(groups[order], starts[order], self.ends_of(table))
        states = table.drop_columns(self.keys).append_column(_SESSION, pa.array(np.cumsum(new) - 1))
        merged = super().merge(states)
        sessions = merged.column(_SESSION).to_numpy()
        keys = table.select(self.keys).take(pa.array(np.flatnonzero(new)[sessions]))
        end = pa.array(ends[sessions]).view(keys.schema.field(self._last).type)
        keys = keys.set_column(len(self.keys) - 1, self._last, end)
        names = [name for name in table.column_names if name not in self.keys]
        return pa.Table.from_arrays([*keys.columns, *merged.select(names).columns], [*self.keys, *names])

    def ends_of(self, table: pa.Table) -> Ints:
        """When the sessions end, in microseconds."""
        ends: Ints = whole(table.column(self._last)).view(pa.int64()).to_numpy()
        return ends

    def _group_by(self) -> list[str]:
        return [_SESSION]

    def _groups(self, table: pa.Table) -> Ints:
        """A number for every row, the same for equal keys."""
        if not self.others:
            return np.zeros(table.num_rows, np.int64)
        return number_rows([whole(table.column(name)) for name in self.others])[0]


class SessionMerge:
    """The merge kernel of an aggregate by session. See `api.MergeKernel`."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._partials = SessionPartials(aggregate)
        self._held = KeyedRows()
        self._changed = False

    def merge(self, partials: pa.RecordBatch, watermark: int | None) -> int:
        table = self._partials.encode(partials)
        late = 0
        if watermark is not None:
            on_time = self._partials.ends_of(table) > watermark
            late = len(on_time) - int(np.count_nonzero(on_time))
            table = table.filter(pa.array(on_time)) if late else table
        if table.num_rows:
            self._keep(table)
            self._changed = True
        return late

    def emit(self, mode: str, watermark: int | None) -> pa.RecordBatch | None:
        if mode == "append":
            return None if watermark is None else self._ended(watermark)
        if not self._changed:
            return None
        self._changed = False
        table = self._all()
        return None if table is None else self._partials.finish(table)

    def snapshot(self) -> pa.Table:
        table = self._all()
        if table is None:
            return self._partials.schema.append(pa.field(CHANGED, pa.bool_())).empty_table()
        partials = pa.Table.from_batches([self._partials.decode(table)])
        return partials.append_column(CHANGED, pa.repeat(self._changed, table.num_rows))

    def changes(self) -> Changes | None:
        """Sessions become one, and end."""
        return None

    def restore(self, state: pa.Table) -> None:
        for batch in state.combine_chunks().to_batches():
            table = self._partials.encode(batch)
            self._changed = self._changed or bool(pc.any(table.column(CHANGED)).as_py())
            self._keep(table.drop_columns([CHANGED]))

    @property
    def groups(self) -> int:
        return self._held.count

    @property
    def bytes(self) -> int:
        return self._held.bytes

    def _keep(self, table: pa.Table) -> None:
        """Merge `table` with the sessions of its keys that are held."""
        alike = [table]
        for found in self._held.find(np.unique(self._hashes(table))):
            found.segment.lose(found.rows)
            alike.insert(0, pa.Table.from_batches([found.segment.rows.take(pa.array(np.sort(found.rows)))]))
        merged = self._partials.merge(pa.concat_tables(alike).combine_chunks())
        (batch,) = merged.combine_chunks().to_batches()
        self._held.add(batch, self._hashes(merged), self._partials.ends_of(merged))

    def _hashes(self, table: pa.Table) -> Hashes:
        if not self._partials.others:
            return np.zeros(table.num_rows, np.uint64)
        return hash_plain([whole(table.column(name)) for name in self._partials.others]).view(np.uint64)

    def _ended(self, watermark: int) -> pa.RecordBatch | None:
        return self._finished([segment.rows.take(pa.array(rows)) for segment, rows in self._held.end(watermark)])

    def _finished(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch | None:
        present = [batch for batch in batches if batch.num_rows]
        return self._partials.finish(pa.Table.from_batches(present)) if present else None

    def _all(self) -> pa.Table | None:
        batches = [segment.taken(rows) for segment, rows in self._held.held()]
        return pa.Table.from_batches(batches) if batches else None


def _sessions(groups: Ints, starts: Ints, ends: Ints) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Ints]:
    """Of windows in order of groups and starts: which of them begin a session, and when each session ends."""
    distinct, rank = np.unique(ends, return_inverse=True)
    # The highest end so far of the own group: all of a later group are above those of an earlier one.
    latest = np.maximum.accumulate(groups * len(distinct) + rank)
    reached = distinct[latest % len(distinct)]
    new = np.ones(len(starts), np.bool_)
    new[1:] = (groups[1:] != groups[:-1]) | (starts[1:] > reached[:-1])
    lasts = np.append(np.flatnonzero(new)[1:], len(starts)) - 1
    return new, reached[lasts]
