"""Rows that are made once, from a seed, and replayed in a ring: row i is row i mod n of a table, at its own time.

What is replayed is not copied: a batch is a slice of the table, with new event times. So a source costs little, as the
papers' generators, which replay an array.
"""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np
import pyarrow as pa

from bench.numbered import TIME, Columns, Leg, NumberedPartition, times

EVENT_TIME = "event_time"
"""The first column, which every row has anew."""


class RingPartition(NumberedPartition):
    """A partition of a ring: every step-th row of the table, in the order in which this partition meets them."""

    def __init__(self, position: dict[str, Any], columns: Columns = None) -> None:
        super().__init__(position, columns)
        ring = self.ring(position)
        self._table = self._share(ring.select(self.replayed(ring)), position["next"] % self.step)

    def replayed(self, ring: pa.Table) -> list[str]:
        """The columns of the ring that are needed."""
        return [name for name in self.schema.names if name != EVENT_TIME]

    @classmethod
    def ring(cls, position: dict[str, Any]) -> pa.Table:
        """All rows of the ring, without the event time; made once per process."""
        raise NotImplementedError

    def _share(self, ring: pa.Table, first: int) -> pa.RecordBatch:
        """The rows that a partition meets, until it meets the first again; several turns of a short ring."""
        turn = ring.num_rows // gcd(ring.num_rows, self.step)
        turns = max(1, (1 << 17) // turn)
        return ring.take((first + np.arange(turn * turns) * self.step) % ring.num_rows).combine_chunks().to_batches()[0]

    def columns(self, first: int, rows: int, leg: Leg) -> list[pa.Array]:
        replayed = self._table.slice(self._row(first), rows).columns
        return replayed if EVENT_TIME not in self.schema.names else [self._times(first, rows, leg), *replayed]

    def _times(self, first: int, rows: int, leg: Leg) -> pa.Array:
        at = pa.allocate_buffer(rows * 8)
        times(first - leg.first, self.step, leg.start_us, leg.rate, np.frombuffer(at, np.int64))
        return pa.Array.from_buffers(TIME, rows, [None, at], 0)

    def contiguous(self, first: int) -> int:
        return int(self._table.num_rows - self._row(first))

    def _row(self, number: int) -> int:
        return int(number // self.step % self._table.num_rows)


def occurrences(first: int, last: int, size: int) -> Any:
    """How often each row of a ring of `size` rows is among the rows first, …, last - 1."""
    times_each = np.full(size, max(0, last - first) // size)
    times_each[(first + np.arange(max(0, last - first) % size)) % size] += 1
    return times_each
