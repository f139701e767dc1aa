"""Equi-join of batches with a static table, which is indexed once.

1. Table rows lie sorted by the hash of their key; a directory over the hash's first bits, about one entry per row,
   says where each range begins. A probe looks at one range per stream row and compares what it finds, hash, then key.
2. A key that is one integer, unique, and whose values lie close together, as ids do, tells the row by itself.
3. Null keys match nothing; NaN matches NaN and negative zero zero, as Spark normalises join keys.
4. Where all rows have the same key, a condition is tested on every pair: few rows of the stream are taken at a time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Expr, Literal
from headway.dataflow.graph import StaticJoin
from headway.dataflow.types import arrow_schema
from headway.kernels.expressions.registry import evaluate
from headway.kernels.expressions.vectors import numbers
from headway.kernels.hashing import hash_plain
from headway.kernels.keys import equal_rows, flatten_all

Rows = npt.NDArray[np.int64]
_PAIRS_AT_ONCE = 1 << 20
_SPARSE = 8
"""So many places per row an array of rows by key may have."""


class _Direct:
    """Rows of a table by their key; see rule 2."""

    def __init__(self, low: int, rows: Rows) -> None:
        self._low = low
        self._rows = rows

    @classmethod
    def of(cls, keys: list[pa.Array], present: Rows) -> _Direct | None:
        """None if the keys are not such."""
        if len(keys) != 1 or not pa.types.is_integer(keys[0].type) or not len(present):
            return None
        found = numbers(keys[0])[present].astype(np.int64)
        low, span = int(found.min()), int(found.max()) - int(found.min()) + 1
        if span > _SPARSE * len(found) + 1024:
            return None
        rows = np.full(span, -1)
        rows[found - low] = present
        return cls(low, rows) if np.count_nonzero(rows >= 0) == len(found) else None

    def matches(self, keys: list[pa.Array], present: Rows) -> tuple[Rows, Rows]:
        """Pairs of rows, of the stream and of the table."""
        all_there = len(present) == len(keys[0])
        found = numbers(keys[0]) if all_there else numbers(keys[0])[present]
        # What is below the lowest key is far above the highest as an unsigned number.
        at = (found.astype(np.int64) - self._low).view(np.uint64)
        table = self._rows[np.minimum(at, np.uint64(len(self._rows) - 1))]
        same = (table >= 0) & (at < len(self._rows))
        return present[same], table[same]


class StaticProbe:
    """The index of a join's table, and how batches are joined with it."""

    def __init__(self, join: StaticJoin) -> None:
        self._join = join
        self._schema = arrow_schema(join.schema)
        fields = list(self._schema)[len(join.input.schema) :]
        columns = [
            column.combine_chunks().cast(field.type)
            for column, field in zip(join.table.table.columns, fields, strict=True)
        ]
        self._table = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        constant = all(isinstance(key, Literal) for key in join.table_keys)
        self._most = max(1, _PAIRS_AT_ONCE // max(1, self._table.num_rows)) if constant else None
        """Rows to take at once; see rule 4. None: all."""
        keys, present = _keys(join.table_keys, self._table)
        self._direct = _Direct.of(keys, present)
        hashes = hash_plain(keys).view(np.uint64)[present]
        order = np.argsort(hashes, kind="stable")
        # Both are of the rows with a key, by hash.
        self._rows: Rows = present[order]
        self._hashes = hashes[order]
        self._keys = [key.take(pa.array(self._rows)) for key in keys]
        bits = max(len(order) - 1, 1).bit_length()
        self._shift = np.uint64(64 - bits)
        entries = np.arange(1, 1 << bits, dtype=np.uint64) << self._shift
        self._starts = np.concatenate([[0], np.searchsorted(self._hashes, entries), [len(order)]])

    def probe(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The joined rows, in the order of the stream's."""
        if self._most is None or batch.num_rows <= self._most:
            return self._probe(batch)
        starts = range(0, batch.num_rows, self._most)
        return pa.concat_batches([self._probe(batch.slice(at, self._most)) for at in starts])

    def _probe(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        stream, table = self._matches(batch)
        if self._join.condition is not None and len(stream):
            kept = evaluate(self._join.condition, self._joined(batch, stream, pa.array(table)))
            kept = pc.fill_null(kept, False).to_numpy(zero_copy_only=False)
            stream, table = stream[kept], table[kept]
        return self._joined(batch, *_PAIRS[self._join.how](stream, table, batch.num_rows))

    def _matches(self, batch: pa.RecordBatch) -> tuple[Rows, Rows]:
        """Pairs of rows with equal keys, of the batch and of the table."""
        keys, present = _keys(self._join.stream_keys, batch)
        if self._direct is not None:
            return self._direct.matches(keys, present)
        hashes = hash_plain(keys).view(np.uint64)[present]
        entry = (hashes >> self._shift).astype(np.int64)
        starts, counts = self._starts[entry], self._starts[entry + 1] - self._starts[entry]
        pair = np.repeat(np.arange(len(present)), counts)
        at = np.arange(len(pair)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
        same = self._hashes[at] == hashes[pair]
        stream, at = present[pair[same]], at[same]
        equal = equal_rows(keys, stream, self._keys, at)
        return stream[equal], self._rows[at[equal]]

    def _joined(self, batch: pa.RecordBatch, stream: Rows, table: pa.Array) -> pa.RecordBatch:
        as_they_came = len(stream) == batch.num_rows and bool((np.diff(stream) == 1).all())
        left = (batch if as_they_came else batch.take(pa.array(stream))).columns
        return pa.RecordBatch.from_arrays(left + self._table.take(table).columns, schema=self._schema)


def _keys(exprs: tuple[Expr, ...], batch: pa.RecordBatch) -> tuple[list[pa.Array], Rows]:
    """The plain key columns, and the rows in which no key is null."""
    keys = [evaluate(expr, batch) for expr in exprs]
    present = np.ones(batch.num_rows, np.bool_)
    for key in keys:
        if key.null_count:
            present &= key.is_valid().to_numpy(zero_copy_only=False)
    return flatten_all(keys), np.flatnonzero(present)


def _all(stream: Rows, table: Rows, rows: int) -> tuple[Rows, pa.Array]:
    return stream, pa.array(table)


def _one_each(stream: Rows, table: Rows, rows: int) -> tuple[Rows, pa.Array]:
    """Every row of the batch that is in a pair, once."""
    once, first = np.unique(stream, return_index=True)
    return once, pa.array(table[first])


def _unmatched(stream: Rows, table: Rows, rows: int) -> tuple[Rows, pa.Array]:
    """Every row of the batch that is in no pair, paired with null."""
    alone = np.setdiff1d(np.arange(rows), stream)
    return alone, pa.nulls(len(alone), pa.int64())


def _with_unmatched(stream: Rows, table: Rows, rows: int) -> tuple[Rows, pa.Array]:
    """The pairs and every row of the batch that is in none, paired with null, in the batch's order."""
    alone = np.setdiff1d(np.arange(rows), stream)
    both = np.concatenate([stream, alone])
    order = np.argsort(both, kind="stable")
    found = np.concatenate([table, np.zeros(len(alone), np.int64)])
    missing = np.arange(len(both)) >= len(stream)
    return both[order], pa.array(found[order], mask=missing[order])


def _one_or_none(stream: Rows, table: Rows, rows: int) -> tuple[Rows, pa.Array]:
    """Every row of the batch once, with some row of the table or with null."""
    first = np.full(rows, -1)
    first[stream] = table
    return np.arange(rows), pa.array(first, mask=first < 0)


_PAIRS = {
    "inner": _all,
    "left": _with_unmatched,
    "semi": _one_each,
    "anti": _unmatched,
    "exists": _one_or_none,
}
"""Which pairs a join gives, of those that match and of the number of rows in the batch."""
