"""The first row of every key: those that come later with a key that is known are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headway.dataflow.graph import Deduplicate, DeduplicateWithin
from headway.dataflow.types import arrow_schema, arrow_type
from headway.kernels.api import KeyedKernel, Outcome
from headway.kernels.event_times import end_times, without_late
from headway.kernels.hashing import hash_keys
from headway.kernels.keyed_rows import NEVER, Hashes, KeyedRows, Rows
from headway.kernels.keys import equal_rows, flatten_all, unflatten
from headway.kernels.partials import batch_of

_TIME = "ends"


class Deduplication(KeyedKernel):
    """The kernel of a `Deduplicate`; its state has the key columns, and when each key is forgotten."""

    def __init__(self, relation: Deduplicate) -> None:
        self._relation = relation
        self._schema = arrow_schema(relation.schema)
        self._keys = relation.keys[0]
        schema = relation.streams[0].schema
        fields = [pa.field(f"k{i}", arrow_type(schema[key].type)) for i, key in enumerate(self._keys)]
        self._state = pa.schema([*fields, pa.field(_TIME, pa.int64())])
        self._known = KeyedRows()

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        batch, late = without_late(batch, self._relation.time, watermark)
        keys = [batch.column(key) for key in self._keys]
        plain, hashes = flatten_all(keys), hash_keys(keys)
        fresh = self._fresh(plain, hashes)
        duplicates = batch.num_rows - len(fresh)
        if not len(fresh):
            return Outcome(late=late, duplicates=duplicates)
        if duplicates:
            batch, hashes = batch.take(pa.array(fresh)), hashes[fresh]
            plain = [column.take(pa.array(fresh)) for column in plain]
        self._keep(plain, hashes, self._times(batch))
        out = batch_of(batch.columns, self._schema, batch.num_rows)
        return Outcome(out, late, updated=len(fresh), duplicates=duplicates)

    def advance(self, watermark: int) -> Outcome:
        return Outcome(removed=sum(len(rows) for _, rows in self._known.end(watermark)))

    def snapshot(self) -> pa.Table:
        return pa.Table.from_batches([self._saved(s.taken(rows), s.times[rows]) for s, rows in self._known.held()],
                                     self._state)  # fmt: skip

    def restore(self, state: pa.Table) -> None:
        for batch in state.combine_chunks().to_batches():
            keys = batch.columns[:-1]
            self._keep(flatten_all(keys), hash_keys(keys), batch.column(_TIME).to_numpy())

    @property
    def rows(self) -> int:
        return self._known.count

    @property
    def bytes(self) -> int:
        return self._known.bytes

    def _times(self, batch: pa.RecordBatch) -> Rows:
        relation = self._relation
        if isinstance(relation, DeduplicateWithin):
            assert relation.time is not None
            # Spark reads a time that is null as the first moment of 1970 here.
            return end_times(batch.column(relation.time), missing=0) + relation.delay_us
        if relation.ends is None:
            return np.full(batch.num_rows, NEVER)
        return end_times(batch.column(relation.ends))

    def _fresh(self, plain: Sequence[pa.Array], hashes: Hashes) -> Rows:
        """The first row of every key that is not known, in order."""
        fresh = np.ones(len(hashes), np.bool_)
        for found in self._known.find(hashes):
            equal = equal_rows(plain, found.asked, found.segment.rows.columns, found.rows)
            fresh[found.asked[equal]] = False
        return np.sort(_firsts(plain, hashes, np.flatnonzero(fresh)))

    def _keep(self, plain: Sequence[pa.Array], hashes: Hashes, times: Rows) -> None:
        names = [f"p{i}" for i in range(len(plain))]
        self._known.add(pa.RecordBatch.from_arrays(list(plain), names), hashes, times)

    def _saved(self, plain: pa.RecordBatch, times: Rows) -> pa.RecordBatch:
        columns = iter(plain.columns)
        keys = [unflatten(field.type, columns) for field in list(self._state)[:-1]]
        return batch_of([*keys, pa.array(times)], self._state, plain.num_rows)


def _firsts(plain: Sequence[pa.Array], hashes: Hashes, rows: Rows) -> Rows:
    """The first of those of `rows` that have equal keys."""
    _, first, group = np.unique(hashes[rows], return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return rows
    others = np.flatnonzero(first[group] != np.arange(len(rows)))
    differ = ~equal_rows(plain, rows[others], plain, rows[first[group[others]]])
    # Keys that are not equal though their hashes are have firsts of their own.
    alone = _firsts(plain, hashes, rows[others[differ]]) if differ.any() else rows[:0]
    return np.concatenate([rows[first], alone])
