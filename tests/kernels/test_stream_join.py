"""Joins of two streams in a kernel, against every pair of rows; steps, watermarks and restarts at random."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column
from headway.dataflow.graph import Ending, JoinSide, Source, StreamJoin
from headway.dataflow.types import Field, arrow_schema
from headway.kernels.stream_join import StreamJoining

LONG = T.LongType()
SCHEMA = (Field("ts", T.TimestampType(), event_time=True), Field("k", LONG), Field("v", LONG))
NEAR = 4000
"""Microseconds by which the times of a pair may differ."""
ROWS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([None, 1, 2, 3])), max_size=6)
STEPS = st.lists(st.tuples(ROWS, ROWS, st.integers(0, 6), st.booleans()), max_size=12)
Row = tuple[int, int | None, int]


def join_of(how: str) -> StreamJoin:
    stream = Source(SCHEMA, "rate", ())
    time = T.TimestampType()
    left, right = Column(time, 0), Column(time, 3)

    def near(one: Column, other: Column) -> Call:
        moved = Call(time, "TimestampAddInterval", (other,), (("micros", NEAR), ("time_zone", "UTC")))
        return Call(T.BooleanType(), "LessThanOrEqual", (one, moved))

    sides = JoinSide(0, Ending(0, ((-NEAR, True),))), JoinSide(0, Ending(0, ((-NEAR, True),)))
    condition = Call(T.BooleanType(), "And", (near(left, right), near(right, left)))
    schema = SCHEMA if how == "semi" else SCHEMA + SCHEMA
    return StreamJoin(schema, (stream, stream), ((1,), (1,)), how, sides, condition)


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    fields = arrow_schema(SCHEMA)
    return pa.RecordBatch.from_arrays(
        [pa.array(c, f.type) for c, f in zip(columns, fields, strict=True)], schema=fields
    )


def values(batch: pa.RecordBatch | None) -> list[tuple[Any, ...]]:
    if batch is None:
        return []
    return list(zip(*(batch.column(i).to_pylist() for i in range(2, batch.num_columns, 3)), strict=True))


def expected(how: str, lefts: list[Row], rights: list[Row]) -> Counter[tuple[Any, ...]]:
    pairs = [(a, b) for a in lefts for b in rights if a[1] is not None and a[1] == b[1] and abs(a[0] - b[0]) <= NEAR]
    if how == "semi":
        return Counter((a[2],) for a in {a for a, _ in pairs})
    out = Counter((a[2], b[2]) for a, b in pairs)
    if how in ("left", "full"):
        out.update((a[2], None) for a in lefts if a not in {a for a, _ in pairs})
    if how in ("right", "full"):
        out.update((None, b[2]) for b in rights if b not in {b for _, b in pairs})
    return out


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi"])
@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_every_pair_once(how: str, steps: list[tuple[Any, Any, int, bool]]) -> None:
    kernel, now, number = StreamJoining(join_of(how)), 10_000, 0
    given_: tuple[list[Row], list[Row]] = ([], [])
    seen: Counter[tuple[Any, ...]] = Counter()
    for *sides, ahead, restarts in steps:
        for side, drawn in enumerate(sides):
            rows = [(now + 1 + 1000 * at, key, number + i) for i, (at, key) in enumerate(drawn)]
            number += len(rows)
            given_[side].extend(rows)
            outcome = kernel.process(side, batch_of(rows), now)
            assert outcome.late == 0
            seen.update(values(outcome.rows))
        now += 1000 * ahead
        seen.update(values(kernel.advance(now).rows))
        if restarts:
            state, kernel = kernel.snapshot(), StreamJoining(join_of(how))
            kernel.restore(state)
    seen.update(values(kernel.advance(now + 100_000).rows))
    assert seen == expected(how, *given_)
    assert kernel.rows == 0


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_what_came_since_each_checkpoint_is_the_state(steps: list[tuple[Any, Any, int, bool]]) -> None:
    """A join that goes on from all its parts does as one that was never stopped."""
    kernel, other, now, number = StreamJoining(join_of("inner")), StreamJoining(join_of("inner")), 10_000, 0
    parts: list[pa.Table] = []
    for *sides, ahead, restarts in steps:
        for side, drawn in enumerate(sides):
            batch = batch_of([(now + 1 + 1000 * at, key, number + i) for i, (at, key) in enumerate(drawn)])
            number += len(drawn)
            found = [values(one.process(side, batch, now).rows) for one in (kernel, other)]
            assert sorted(found[0]) == sorted(found[1])
        now += 1000 * ahead
        kernel.advance(now), other.advance(now)
        changes = kernel.changes()
        assert changes is not None
        parts.append(changes.table())
        if restarts:
            kernel = StreamJoining(join_of("inner"))
            for part in parts:
                kernel.restore(part)
            parts = []
            kernel.advance(now)
        assert kernel.rows == other.rows


def test_a_part_has_what_is_new_alone_and_a_snapshot_all() -> None:
    kernel = StreamJoining(join_of("inner"))
    sizes = []
    for number in range(3):
        kernel.process(0, batch_of([(20_000, number, number)]), None)
        changes = kernel.changes()
        assert changes is not None
        sizes.append(changes.table().num_rows)
    assert sizes == [1, 1, 1]
    assert kernel.snapshot().num_rows == 3
    changes = kernel.changes()
    assert changes is not None
    assert (changes.bytes, changes.table().num_rows) == (0, 0)


@pytest.mark.parametrize("how", ["left", "right", "full", "semi"])
def test_rows_that_change_are_written_whole(how: str) -> None:
    assert StreamJoining(join_of(how)).changes() is None


def test_what_is_late_is_dropped_and_what_can_match_nothing_is_not_kept() -> None:
    kernel = StreamJoining(join_of("left"))
    kernel.advance(20_000)
    outcome = kernel.process(0, batch_of([(20_000, 1, 1), (20_001, None, 2), (30_000, 1, 3)]), 20_000)
    assert (outcome.late, outcome.updated, kernel.rows) == (1, 2, 2)
    assert kernel.output_watermark(20_000) == 20_000 - NEAR - 1000
    assert values(kernel.advance(30_000).rows) == [(2, None)]
