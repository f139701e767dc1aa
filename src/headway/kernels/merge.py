"""The second step of an aggregation: partials of many nodes become groups, groups become results.

1. What came since the last result is kept apart from what was there before: to give the groups that changed costs in
   proportion to them, not to all groups.
2. With few groups it is cheaper to merge them all than to look some of them up. Then sets of which the size alone is
   asked for are kept apart: they may be large. Many groups are looked up.
3. What came is kept until the next checkpoint, which needs nothing else if the ones before are there: partials of a
   group are merged when they are restored. Not where groups end, for they would come back; nor if it is more than all
   groups.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.graph import Aggregate
from headway.kernels.api import Changes
from headway.kernels.groups import Groups
from headway.kernels.kept_groups import KeptGroups
from headway.kernels.partials import CHANGED, NUMBER, Partials, flagged
from headway.kernels.sets import Sets

_FEW = 4096
_COUNTED = 1 << 15
"""Rows whose groups are counted whenever somebody asks; of more, when they have become half as many again."""
_LOGGED = 1 << 24
"""Bytes that are kept for the next checkpoint even if all groups are less."""


class Merge:
    """The merge kernel of one aggregate, for the groups of the buckets it is given. See `api.MergeKernel`.

    An aggregate without keys has one group from the start: only one operator may run its Merge.
    """

    def __init__(self, aggregate: Aggregate) -> None:
        self._partials = Partials(aggregate)
        self._settled = Groups(self._partials)
        self._changed = Groups(self._partials)
        sets = Sets(self._partials)
        self._sets = sets if sets else None
        """Not None iff sets of settled groups are kept apart: not where there are none, or many groups."""
        self._kept: KeptGroups | None = None
        """Not None iff there are many groups, and what changes is asked for: then it has what is settled."""
        self._emit = {"append": self._append, "update": self._update, "complete": self._complete}
        self._log: list[pa.Table] | None = [] if aggregate.event_key is None and not aggregate.session else None
        """What was settled since the last checkpoint; None: it has to be a snapshot."""
        self._loggable, self._logged, self._most_logged = self._log is not None, 0, _LOGGED
        self._counted = 0
        """Groups, when they were counted last."""
        # True iff the one group of an aggregate without keys is there without anything having been restored.
        self._seeded = not aggregate.keys
        if self._seeded:
            self._changed.add(self._partials.empty_group())

    def merge(self, partials: pa.RecordBatch, watermark: int | None) -> int:
        """See `api.MergeKernel`. Spark drops nothing in complete mode: give no watermark then."""
        table = self._partials.encode(partials)
        late = 0
        if watermark is not None and table.num_rows and self._partials.span(table)[0] <= watermark:
            ended = self._partials.ended(table, watermark)
            late = ended.true_count
            table = table.filter(pc.invert(ended))
        self._changed.add(table, merged=False)
        return late

    def emit(self, mode: str, watermark: int | None) -> pa.RecordBatch | None:
        due = self._emit[mode](watermark)
        return self._partials.finish(due) if due is not None and due.num_rows else None

    def changes(self) -> Changes | None:
        if self._log is None or self._changed.rows:
            return None
        news, size = self._log, self._logged
        self._begin_log()
        return Changes(size, lambda: self._saved(news))

    def _saved(self, news: list[pa.Table]) -> pa.Table:
        """Tables of partials, as a snapshot has them."""
        batches = [self._partials.decode(table) for table in news]
        table = pa.Table.from_batches(batches, self._partials.schema)
        return table.append_column(CHANGED, pa.repeat(False, table.num_rows))

    def _begin_log(self) -> None:
        if self._loggable:
            self._log, self._logged = [], 0

    def _keep_for_checkpoint(self, news: pa.Table) -> None:
        if self._log is None:
            return
        self._log.append(news)
        self._logged += news.nbytes
        if self._logged > self._most_logged:
            self._most_logged = max(_LOGGED, self.bytes)
            if self._logged > self._most_logged:
                self._log = None

    def snapshot(self) -> pa.Table:
        self._begin_log()
        pairs = [(self._with_lists(self._all_settled()), False), (self._changed.merged(), True)]
        table = self._merged([table if table is None else flagged(table, changed) for table, changed in pairs])
        if table is None:
            return self._partials.schema.append(pa.field(CHANGED, pa.bool_())).empty_table()
        partials = pa.Table.from_batches([self._partials.decode(table)])
        return partials.append_column(CHANGED, table.column(CHANGED))

    def restore(self, state: pa.Table) -> None:
        if self._seeded and state.num_rows:
            self._changed.take()
            self._seeded = False
        for batch in state.combine_chunks().to_batches():
            table = self._partials.encode(batch)
            changed = pc.fill_null(table.column(CHANGED), True)
            table = table.drop_columns([CHANGED])
            self._changed.add(table.filter(changed), merged=False)
            self._settled.add(table.filter(pc.invert(changed)), merged=False)

    @property
    def groups(self) -> int:
        rows = self._settled.rows + self._changed.rows + (self._kept.rows if self._kept else 0)
        if rows <= _COUNTED or (self._kept is None and 2 * rows > 3 * self._counted):
            rows = self._counted = self._count()
        return rows

    def _count(self) -> int:
        tables = [table for table in (self._all_settled(), self._changed.merged()) if table is not None]
        if len(tables) < 2:
            return sum(table.num_rows for table in tables)
        keys = self._partials.keys
        return int(pa.concat_tables([table.select(keys) for table in tables]).group_by(keys).aggregate([]).num_rows)

    @property
    def bytes(self) -> int:
        parts = (self._settled, self._changed, self._sets, self._kept)
        return sum(part.bytes for part in parts if part is not None)

    def _append(self, watermark: int | None) -> pa.Table | None:
        return self._merged([self._settled.take_ended(watermark), self._changed.take_ended(watermark)])

    def _update(self, watermark: int | None) -> pa.Table | None:
        news = self._changed.drain()
        if news is not None:
            self._keep_for_checkpoint(news)
        changed = None if news is None else self._settle(news)
        if self._kept is not None and watermark is not None:
            self._kept.end(watermark)
        ended = self._settled.take_ended(watermark)
        if ended is not None and self._sets is not None:
            self._sets.forget(ended)
        return changed

    def _complete(self, watermark: int | None) -> pa.Table | None:
        news = self._changed.drain()
        if news is None:
            return None
        self._keep_for_checkpoint(news)
        if self._sets is None and self._kept is None:
            self._settled.add(news, merged=False)
        else:
            self._settle(news)
        return self._all_settled()

    def _settle(self, news: pa.Table) -> pa.Table:
        """Add `news` to the settled groups; the groups that this changed, as they are now."""
        if self._kept is None and self._settled.rows > _FEW:
            self._kept = self._looked_up()
        if self._kept is not None:
            return self._kept.settle(news)
        if self._sets is not None:
            return self._settle_apart(news, self._sets)
        old = self._settled.merged()
        tables = [*([] if old is None else [flagged(old, False)]), flagged(news, True)]
        merged = self._partials.merge(pa.concat_tables(tables).combine_chunks())
        self._settled.replace(merged.drop_columns([CHANGED]))
        return merged.filter(merged.column(CHANGED))

    def _settle_apart(self, news: pa.Table, sets: Sets) -> pa.Table:
        """The same of few groups, whose sets are kept apart."""
        old = self._settled.merged()
        if old is not None and NUMBER not in old.column_names:  # it was restored
            old = sets.settle(sets.opened(old))
        new = flagged(sets.opened(news), True)
        tables = [new] if old is None else [flagged(old, False).select(new.column_names), new]
        merged = sets.settle(self._partials.merge(pa.concat_tables(tables).combine_chunks()))
        self._settled.replace(merged.drop_columns([CHANGED]))
        return merged.filter(merged.column(CHANGED))

    def _looked_up(self) -> KeptGroups:
        """There are many groups now: they are looked up, and their sets, which are small, are lists."""
        table = self._with_lists(self._settled.take())
        self._sets, kept = None, KeptGroups(self._partials)
        if table is not None:
            kept.settle(table)
        return kept

    def _all_settled(self) -> pa.Table | None:
        return self._settled.merged() if self._kept is None else self._kept.all()

    def _with_lists(self, table: pa.Table | None) -> pa.Table | None:
        return table if table is None or self._sets is None else self._sets.lists(table)

    def _merged(self, tables: list[pa.Table | None]) -> pa.Table | None:
        """One row of every group in `tables`, of each of which that is true already."""
        present = [table for table in tables if table is not None]
        if len(present) < 2:
            return present[0] if present else None
        return self._partials.merge(pa.concat_tables(present).combine_chunks())
