"""Equi-join of two streams: each side's rows are kept, and looked up by the rows of the other that come later.

1. A row that comes finds the rows of the other side that came before it; so every pair is found once, by its later row.
2. A row has ended when no row that may still come can match it (see `graph.Ending`). It is forgotten then, and on an
   outer side leaves alone if it has matched nothing.
3. A row of a semi-join's left side leaves with its first match, and is forgotten.
4. Rows of an inner join do not change while they are held. So a checkpoint needs only those that are new since the one
   before; rows that have ended meanwhile are restored too, match nothing, and end with the next watermark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Column, moved, walk
from headway.dataflow.graph import StreamJoin
from headway.dataflow.types import arrow_schema
from headway.kernels.api import Changes, KeyedKernel, Outcome
from headway.kernels.event_times import end_times, without_late
from headway.kernels.expressions.registry import evaluate
from headway.kernels.hashing import hash_keys
from headway.kernels.keyed_rows import NEVER, Flags, Found, Hashes, KeyedRows, Rows, Segment
from headway.kernels.keys import equal_rows, flatten_all
from headway.kernels.partials import batch_of

_PAIRS = 1 << 18
"""Pairs whose condition is evaluated at once."""
_SIDE, _MATCHED, _ROWS = "side", "matched", ("left", "right")


class _Side:
    """One side's rows."""

    def __init__(self, join: StreamJoin, number: int) -> None:
        self.number = number
        self.keys = join.keys[number]
        self.outer = join.outer(number)
        self.schema = arrow_schema(join.streams[number].schema)
        self.kept = KeyedRows()
        self._described = join.sides[number]
        self._until: int | None = None

    def passing(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch | None]:
        """The rows that may match something, and those that may not (None if there are none)."""
        condition = self._described.condition
        if condition is None:
            return batch, None
        passes = pc.fill_null(evaluate(condition, batch), False)
        return batch.filter(passes), batch.filter(pc.invert(passes))

    def on_time(self, batch: pa.RecordBatch, watermark: int | None) -> tuple[pa.RecordBatch, int]:
        return without_late(batch, self._described.time, watermark)

    def key_columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        return [batch.column(key) for key in self.keys]

    def keep(self, batch: pa.RecordBatch, hashes: Hashes, matched: Flags, chosen: Flags) -> Rows:
        """Keep the rows `chosen`; gives those of them that have ended already and match nothing."""
        times = self._times(batch)
        ended = chosen & (times <= self._until) if self._until is not None else np.zeros(len(times), np.bool_)
        stays = chosen & ~ended
        if stays.all():
            self.kept.add(batch, hashes, times, matched)
        elif stays.any():
            rows = np.flatnonzero(stays)
            self.kept.add(batch.take(pa.array(rows)), hashes[rows], times[rows], matched[rows])
        return np.flatnonzero(ended & ~matched)

    def end(self, watermark: int) -> Iterator[tuple[Segment, Rows]]:
        """Forget the rows that the watermark ends; gives them."""
        ends = self._described.ends
        if ends is not None:
            self._until = ends.until(watermark)
            yield from self.kept.end(self._until)

    def _times(self, batch: pa.RecordBatch) -> Rows:
        ends = self._described.ends
        return np.full(batch.num_rows, NEVER) if ends is None else end_times(batch.column(ends.column))


class StreamJoining(KeyedKernel):
    """The kernel of a `StreamJoin`. Its state: the key columns, which side, whether the row has matched, the row."""

    def __init__(self, join: StreamJoin) -> None:
        self._join = join
        self._schema = arrow_schema(join.schema)
        self._sides = _Side(join, 0), _Side(join, 1)
        self._condition = _Condition(join)

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        side, other = self._sides[input], self._sides[1 - input]
        batch, late = side.on_time(batch, watermark)
        batch, failing = side.passing(batch)
        out = [self._alone(side, failing)] if side.outer and failing is not None else []
        if not batch.num_rows:
            return Outcome(_together(out), late)
        keys = side.key_columns(batch)
        hashes, present = hash_keys(keys), _present(keys)
        matched = np.zeros(batch.num_rows, np.bool_)
        removed = 0
        for found in self._matches(side, other, batch, keys, hashes, present):
            matched[found.asked] = True
            if self._join.how == "semi":
                removed += self._leave(input, found, out)
            else:
                found.segment.marked[found.rows] = True
                out.append(self._joined(input, batch, found))
        if self._join.how == "semi" and input == 0:
            out.append(self._left(batch.filter(pa.array(matched))))
            present &= ~matched
        chosen = np.ones_like(present) if side.outer else present
        alone = side.keep(batch, hashes, matched, chosen)
        if side.outer:
            out.append(self._alone(side, batch.take(pa.array(alone))))
        return Outcome(_together(out), late, int(np.count_nonzero(chosen)), removed)

    def advance(self, watermark: int) -> Outcome:
        out, removed = [], 0
        for side in self._sides:
            for segment, rows in side.end(watermark):
                removed += len(rows)
                unmatched = rows[~segment.marked[rows]] if side.outer else rows[:0]
                if len(unmatched):
                    out.append(self._alone(side, segment.rows.take(pa.array(unmatched))))
        return Outcome(_together(out), removed=removed)

    def output_watermark(self, watermark: int) -> int:
        return self._join.output_watermark(watermark)

    def snapshot(self) -> pa.Table:
        saved = [self._saved(side, *held) for side in self._sides for held in side.kept.held()]
        for side in self._sides:
            side.kept.saved()
        return pa.Table.from_batches(saved, self._state)

    def changes(self) -> Changes | None:
        if self._join.how != "inner":
            return None
        new = [(side, *held) for side in self._sides for held in side.kept.unsaved()]
        size = sum(segment.bytes for _, segment, _ in new)
        return Changes(size, lambda: pa.Table.from_batches([self._saved(*one) for one in new], self._state))

    def restore(self, state: pa.Table) -> None:
        for batch in state.combine_chunks().to_batches():
            for side in self._sides:
                mine = batch.filter(pc.equal(batch.column(_SIDE), side.number))
                rows = batch_of(mine.column(_ROWS[side.number]).flatten(), side.schema, mine.num_rows)
                matched = np.array(mine.column(_MATCHED))
                side.keep(rows, hash_keys(side.key_columns(rows)), matched, np.ones(mine.num_rows, np.bool_))

    @property
    def rows(self) -> int:
        return sum(side.kept.count for side in self._sides)

    @property
    def bytes(self) -> int:
        return sum(side.kept.bytes for side in self._sides)

    def _matches(
        self, side: _Side, other: _Side, batch: pa.RecordBatch, keys: Sequence[pa.Array], hashes: Hashes, present: Flags
    ) -> Iterator[Found]:
        """The pairs that match, of `batch` and of the other side's rows."""
        plain = flatten_all(keys)
        for found in other.kept.find(hashes):
            for at in range(0, len(found.rows), _PAIRS):
                segment, asked, rows = found.segment, found.asked[at : at + _PAIRS], found.rows[at : at + _PAIRS]
                theirs = [column.take(pa.array(rows)) for column in other.key_columns(segment.rows)]
                same = equal_rows(plain, asked, flatten_all(theirs), np.arange(len(rows)))
                same &= present[asked]
                pairs = Found(segment, asked[same], rows[same])
                if len(pairs.rows):
                    yield self._condition.filter(side.number, batch, pairs)

    def _leave(self, input: int, found: Found, out: list[pa.RecordBatch]) -> int:
        """Of a semi-join: rows of the left that are matched by rows of the right that came."""
        if input == 0 or not len(found.rows):
            return 0
        rows = np.unique(found.rows)
        rows = rows[~found.segment.gone[rows]]
        found.segment.lose(rows)
        out.append(self._left(found.segment.rows.take(pa.array(rows))))
        return len(rows)

    def _left(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return batch_of(rows.columns, self._schema, rows.num_rows)

    def _joined(self, input: int, batch: pa.RecordBatch, found: Found) -> pa.RecordBatch:
        mine = batch.take(pa.array(found.asked)).columns
        theirs = found.segment.rows.take(pa.array(found.rows)).columns
        return batch_of(mine + theirs if input == 0 else theirs + mine, self._schema, len(found.rows))

    def _alone(self, side: _Side, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of one side with nulls for the other."""
        nulls = [pa.nulls(rows.num_rows, field.type) for field in self._sides[1 - side.number].schema]
        columns = rows.columns + nulls if side.number == 0 else nulls + rows.columns
        return batch_of(columns, self._schema, rows.num_rows)

    @property
    def _state(self) -> pa.Schema:
        left = self._sides[0]
        keys = [pa.field(f"k{i}", left.schema.field(key).type) for i, key in enumerate(left.keys)]
        rows = [pa.field(name, _row_type(side.schema)) for name, side in zip(_ROWS, self._sides, strict=True)]
        return pa.schema([*keys, pa.field(_SIDE, pa.int8()), pa.field(_MATCHED, pa.bool_()), *rows])

    def _saved(self, side: _Side, segment: Segment, rows: Rows) -> pa.RecordBatch:
        batch = segment.taken(rows)
        structs = [pa.nulls(len(rows), _row_type(s.schema)) for s in self._sides]
        structs[side.number] = pa.StructArray.from_arrays(batch.columns, fields=list(_row_type(side.schema)))
        keys = side.key_columns(batch)
        flags = [pa.array(np.full(len(rows), side.number, np.int8)), pa.array(segment.marked[rows])]
        return batch_of([*keys, *flags, *structs], self._state, len(rows))


class _Condition:
    """A join's condition, over just the columns that it reads."""

    def __init__(self, join: StreamJoin) -> None:
        read = sorted({e.index for e in walk(join.condition) if isinstance(e, Column)}) if join.condition else []
        width = len(join.streams[0].schema)
        self._places = [(0, at) if at < width else (1, at - width) for at in read]
        self._expr = None if join.condition is None else moved(join.condition, {at: i for i, at in enumerate(read)})

    def filter(self, input: int, batch: pa.RecordBatch, found: Found) -> Found:
        """The pairs of rows of `batch`, which is of the side `input`, and of a segment that fulfil it."""
        if self._expr is None:
            return found
        asked, rows = pa.array(found.asked), pa.array(found.rows)
        columns = [
            batch.column(at).take(asked) if side == input else found.segment.rows.column(at).take(rows)
            for side, at in self._places
        ]
        names = [str(i) for i in range(len(columns))]
        true = pc.fill_null(evaluate(self._expr, pa.RecordBatch.from_arrays(columns, names)), False)
        kept: npt.NDArray[np.bool_] = true.to_numpy(zero_copy_only=False)
        return Found(found.segment, found.asked[kept], found.rows[kept])


def _row_type(schema: pa.Schema) -> pa.StructType:
    """A row as one value; names of columns may repeat, so that places name them here."""
    return pa.struct([pa.field(f"c{i}", field.type) for i, field in enumerate(schema)])


def _present(keys: Sequence[pa.Array]) -> Flags:
    """The rows in which no key is null."""
    present = np.ones(len(keys[0]), np.bool_)
    for key in keys:
        if key.null_count:
            present &= key.is_valid().to_numpy(zero_copy_only=False)
    return present


def _together(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    rows = [batch for batch in batches if batch.num_rows]
    if len(rows) < 2:
        return rows[0] if rows else None
    return pa.concat_batches(rows)
