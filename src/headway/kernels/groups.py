"""The groups that a kernel holds: tables of partials, merged only when they must be.

1. What comes in is appended. When the last eight tables are of about one size, they are merged into one (of small ones,
   the last sixteen, for often they are all asked for before); so there are few tables, memory is in proportion to the
   number of groups, and a row is merged a logarithmic number of times.
2. Asking for ended groups costs next to nothing while the earliest end is ahead of the watermark.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.partials import Partials

_FAN, _SMALL_FAN = 8, 16
_SMALL = 2048
"""Rows."""


@dataclass(frozen=True)
class _Run:
    """A table of partials; `merged` says that it has one row per group."""

    table: pa.Table
    partials: Partials
    merged: bool

    @cached_property
    def ends(self) -> tuple[float, float]:
        """When the first and the last of the groups end; infinite: never."""
        return self.partials.span(self.table)

    def split(self, watermark: int) -> tuple[pa.Table, pa.Table | None]:
        """The groups that `watermark` ends, and the others, None if there are none."""
        if self.ends[1] <= watermark:
            return self.table, None
        ended = self.partials.ended(self.table, watermark)
        return self.table.filter(ended), self.table.filter(pc.invert(ended))


class Groups:
    """Groups of one aggregate; one of them may have rows in several runs."""

    def __init__(self, partials: Partials) -> None:
        self.partials = partials
        self._runs: list[_Run] = []

    @property
    def rows(self) -> int:
        """How many rows are held: at least as many as groups."""
        return sum(run.table.num_rows for run in self._runs)

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        return sum(run.table.nbytes for run in self._runs)

    def add(self, table: pa.Table, merged: bool = True) -> None:
        """Take a table of partials; `merged` says that it has one row per group."""
        if table.num_rows == 0:
            return
        self._runs.append(self._run(table, merged))
        while alike := self._last_alike():
            self._runs[-alike:] = [self._merge(self._runs[-alike:])]

    def merged(self) -> pa.Table | None:
        """All groups in one table, one row of each; None if there are none."""
        if not self._runs:
            return None
        self._runs = [self._merge(self._runs)]
        return self._runs[0].table

    def take(self) -> pa.Table | None:
        """Remove and give all groups."""
        table = self.merged()
        self._runs = []
        return table

    def drain(self) -> pa.Table | None:
        """Remove and give all groups, a group maybe in several rows."""
        tables = [run.table for run in self._runs]
        self._runs = []
        return pa.concat_tables(tables) if tables else None

    def take_ended(self, watermark: int | None) -> pa.Table | None:
        """Remove and give the groups that `watermark` ends."""
        if watermark is None or all(run.ends[0] > watermark for run in self._runs):
            return None
        pairs = [(run.merged, *run.split(watermark)) for run in self._runs]
        self._runs = [self._run(rest, merged) for merged, _, rest in pairs if rest is not None and rest.num_rows]
        return self._merge([self._run(ended, merged) for merged, ended, _ in pairs if ended.num_rows]).table

    def replace(self, table: pa.Table) -> None:
        """Hold `table`, which has one row per group, instead of all that was held."""
        self._runs = []
        self.add(table)

    def _run(self, table: pa.Table, merged: bool) -> _Run:
        return _Run(table, self.partials, merged)

    def _last_alike(self) -> int:
        """How many of the last tables are to become one."""
        fan = _FAN if self._runs[-1].table.num_rows >= _SMALL else _SMALL_FAN
        oldest, *others = [run.table.num_rows for run in self._runs[-fan:]]
        return fan if len(others) == fan - 1 and oldest <= fan * sum(others) else 0

    def _merge(self, runs: list[_Run]) -> _Run:
        if len(runs) == 1 and runs[0].merged:
            return runs[0]
        return self._run(self.partials.merge(pa.concat_tables([run.table for run in runs]).combine_chunks()), True)
