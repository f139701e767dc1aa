"""Many groups of which some change at a time: each is one row, found by the hash of its keys.

What comes is merged with the rows of its own groups alone, which are given up for what becomes of them. So a change has
a cost by how much changes, and none costs much more than another: there is nothing that is merged as a whole.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headway.kernels.grouping import whole
from headway.kernels.hashing import hash_plain
from headway.kernels.keyed_rows import NEVER, Hashes, KeyedRows, Rows
from headway.kernels.partials import CHANGED, Partials, flagged


class KeptGroups:
    """See the module."""

    def __init__(self, partials: Partials) -> None:
        self._partials = partials
        self._rows = KeyedRows()

    @property
    def rows(self) -> int:
        """How many groups there are."""
        return self._rows.count

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return self._rows.bytes

    def settle(self, news: pa.Table) -> pa.Table:
        """Add partials; the groups that this changed, as they are now."""
        tables = [flagged(news, True)]
        for found in self._rows.find(self._hashes(news)):
            rows = np.unique(found.rows)
            found.segment.lose(rows)
            tables.insert(0, flagged(pa.Table.from_batches([found.segment.rows.take(pa.array(rows))]), False))
        merged = self._partials.merge(pa.concat_tables(tables).combine_chunks())
        for batch in merged.drop_columns([CHANGED]).combine_chunks().to_batches():
            self._rows.add(batch, self._hashes(merged), self._ends(merged))
        # Others may have the same hash, such as (1, null) and (null, 1).
        return merged.filter(merged.column(CHANGED))

    def end(self, watermark: int) -> None:
        """Forget the groups that `watermark` ends."""
        for _ in self._rows.end(watermark):
            pass

    def all(self) -> pa.Table | None:
        """All groups in one table, None if there are none."""
        batches = [segment.taken(rows) for segment, rows in self._rows.held()]
        return pa.Table.from_batches(batches) if batches else None

    def _hashes(self, table: pa.Table) -> Hashes:
        return hash_plain([whole(table.column(name)) for name in self._partials.keys]).view(np.uint64)

    def _ends(self, table: pa.Table) -> Rows:
        if not self._partials.ends_by_time:
            return np.full(table.num_rows, NEVER)
        ends: Rows = self._partials.ends(table).fill_null(NEVER).to_numpy()
        return ends
