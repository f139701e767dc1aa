"""The second step of an aggregation: partials of many nodes become groups, groups become results."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Aggregate
from headway.kernels.groups import Groups
from headway.kernels.partials import CHANGED, Partials


class Merge:
    """The merge kernel of one aggregate, for the groups of the buckets it is given. See `api.MergeKernel`.

    An aggregate without keys has one group from the start: only one operator must run its Merge.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self._partials = Partials(aggregate)
        self._groups = Groups(self._partials)
        self._emit = {"append": self._append, "update": self._update, "complete": self._complete}
        self._any_changed = False
        # True iff the one group of an aggregate without keys is there without anything having come.
        self._seeded = not aggregate.keys
        if self._seeded:
            self._add(self._partials.empty_group(), changed=True)

    def merge(self, partials: pa.RecordBatch, watermark: int | None) -> int:
        table = self._partials.encode(partials)
        late = 0
        if watermark is not None and self._partials.aggregate.event_key is not None:
            timely = pc.invert(self._partials.ended(table, watermark))
            late = timely.length() - pc.sum(timely).as_py()
            table = table.filter(timely) if late else table
        if table.num_rows:
            self._add(self._partials.merge(table), changed=True)
        return late

    def emit(self, mode: str, watermark: int | None) -> pa.RecordBatch | None:
        due = self._emit[mode](watermark)
        return self._partials.finish(due) if due is not None and due.num_rows else None

    def snapshot(self) -> pa.Table:
        table = self._groups.merged()
        if table is None:
            return self._snapshot_schema.empty_table()
        batch = self._partials.decode(table)
        return pa.Table.from_batches([batch]).append_column(CHANGED, table.column(CHANGED))

    def restore(self, state: pa.Table) -> None:
        if self._seeded and state.num_rows:
            self._groups.take()
            self._any_changed = self._seeded = False
        for batch in state.combine_chunks().to_batches():
            table = self._partials.encode(batch)
            self._any_changed |= pc.any(table.column(CHANGED)).as_py() is True
            self._groups.add(self._partials.merge(table))

    @property
    def groups(self) -> int:
        table = self._groups.merged()
        return 0 if table is None else table.num_rows

    @property
    def _snapshot_schema(self) -> pa.Schema:
        return self._partials.schema.append(pa.field(CHANGED, pa.bool_()))

    def _add(self, table: pa.Table, changed: bool) -> None:
        self._groups.add(table.append_column(CHANGED, pa.repeat(changed, table.num_rows)))
        self._any_changed |= changed

    def _append(self, watermark: int | None) -> pa.Table | None:
        return self._groups.take_ended(watermark)

    def _update(self, watermark: int | None) -> pa.Table | None:
        changed = None
        if self._any_changed:
            table = self._groups.merged()
            changed = None if table is None else table.filter(table.column(CHANGED))
            self._settle(table)
        self._groups.take_ended(watermark)
        return changed

    def _complete(self, watermark: int | None) -> pa.Table | None:
        if not self._any_changed:
            return None
        table = self._groups.merged()
        self._settle(table)
        return table

    def _settle(self, table: pa.Table | None) -> None:
        """All groups are as they were last emitted."""
        self._any_changed = False
        if table is not None:
            at = table.column_names.index(CHANGED)
            self._groups.replace(table.set_column(at, CHANGED, pa.repeat(False, table.num_rows)))
