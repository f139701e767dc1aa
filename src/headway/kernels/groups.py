"""The groups that a kernel holds: tables of partials, merged only when they must be.

1. What comes in is appended. When the last eight tables are of about one size, they are merged into one; so there are
   few tables, memory is in proportion to the number of groups, and a row is merged a logarithmic number of times.
2. Asking for ended groups costs nothing while the earliest end is ahead of the watermark.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.partials import Partials

_FAN = 8


class Groups:
    """Groups of one aggregate. A table in `_tables` has one row per group; a group may be in several tables."""

    def __init__(self, partials: Partials) -> None:
        self.partials = partials
        self._timed = partials.aggregate.event_key is not None
        self._tables: list[pa.Table] = []
        # None iff no group held has an end.
        self._first_end: int | None = None

    def add(self, table: pa.Table) -> None:
        """Take a table with one row per group."""
        if table.num_rows == 0:
            return
        self._tables.append(table)
        self._note_end(table)
        while self._last_are_alike():
            merged = self._merge(self._tables[-_FAN:])
            self._tables[-_FAN:] = [merged]

    def merged(self) -> pa.Table | None:
        """All groups in one table, None if there are none."""
        if len(self._tables) > 1:
            self._tables = [self._merge(self._tables)]
        return self._tables[0] if self._tables else None

    def take(self) -> pa.Table | None:
        """Remove and give all groups."""
        table = self.merged()
        self._hold([])
        return table

    def take_ended(self, watermark: int | None) -> pa.Table | None:
        """Remove and give the groups that `watermark` ends."""
        if watermark is None or self._first_end is None or self._first_end > watermark:
            return None
        pairs = [(table, self.partials.ended(table, watermark)) for table in self._tables]
        self._hold([table.filter(pc.invert(mask)) for table, mask in pairs])
        return self._merge([table.filter(mask) for table, mask in pairs])

    def replace(self, table: pa.Table) -> None:
        """Hold `table` instead of all that was held."""
        self._hold([table])

    def _hold(self, tables: list[pa.Table]) -> None:
        self._tables = [table for table in tables if table.num_rows]
        self._first_end = None
        for table in self._tables:
            self._note_end(table)

    def _note_end(self, table: pa.Table) -> None:
        end = pc.min(self.partials.ends(table)).as_py() if self._timed else None
        if end is not None:
            self._first_end = end if self._first_end is None else min(end, self._first_end)

    def _last_are_alike(self) -> bool:
        oldest, *others = [table.num_rows for table in self._tables[-_FAN:]]
        return len(others) == _FAN - 1 and oldest <= _FAN * sum(others)

    def _merge(self, tables: list[pa.Table]) -> pa.Table:
        return self.partials.merge(pa.concat_tables(tables).combine_chunks()) if len(tables) > 1 else tables[0]
