"""The groups that a kernel holds: tables of partials, merged only when they must be.

1. What comes in is appended. When the last eight tables are of about one size, they are merged into one; so there are
   few tables, memory is in proportion to the number of groups, and a row is merged a logarithmic number of times.
2. Asking for ended groups costs next to nothing while the earliest end is ahead of the watermark.
3. Looking groups up by key costs in proportion to what is looked up: a table is indexed by the hash of its keys when it
   is first asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.kernels.grouping import whole
from headway.kernels.hashing import hash_plain
from headway.kernels.partials import Partials

_FAN = 8


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

    @property
    def hashes(self) -> npt.NDArray[np.int64]:
        return hash_plain([whole(self.table.column(i)) for i in range(len(self.partials.keys))])

    @cached_property
    def index(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The hashes in order, and the row of each."""
        hashes = self.hashes
        rows = np.argsort(hashes)
        return hashes[rows], rows

    def alike(self, hashes: npt.NDArray[np.int64]) -> pa.Table:
        """The rows with one of the hashes, which are distinct."""
        ordered, rows = self.index
        starts, ends = np.searchsorted(ordered, hashes, "left"), np.searchsorted(ordered, hashes, "right")
        counts = ends - starts
        at = np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        return self.table.take(pa.array(rows[at]))


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
        while self._last_are_alike():
            self._runs[-_FAN:] = [self._merge(self._runs[-_FAN:])]

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

    def alike(self, table: pa.Table) -> list[pa.Table]:
        """Rows held of all the groups in `table`, and maybe of a few others."""
        hashes = np.unique(self._run(table, True).hashes)
        return [run.alike(hashes) for run in self._runs]

    def replace(self, table: pa.Table) -> None:
        """Hold `table`, which has one row per group, instead of all that was held."""
        self._runs = []
        self.add(table)

    def _run(self, table: pa.Table, merged: bool) -> _Run:
        return _Run(table, self.partials, merged)

    def _last_are_alike(self) -> bool:
        oldest, *others = [run.table.num_rows for run in self._runs[-_FAN:]]
        return len(others) == _FAN - 1 and oldest <= _FAN * sum(others)

    def _merge(self, runs: list[_Run]) -> _Run:
        if len(runs) == 1 and runs[0].merged:
            return runs[0]
        return self._run(self.partials.merge(pa.concat_tables([run.table for run in runs]).combine_chunks()), True)
