"""When results are given, and what is forgotten, in every output mode."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from aggregation import WINDOW, aggregate_of, call, comparable, source_of
from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Aggregate
from headway.dataflow.types import arrow_type
from headway.kernels.api import Chain, MergeKernel, partial_schema
from headway.kernels.cell_merge import CellMerge, fits
from headway.kernels.expressions.registry import RowError
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge

L = T.LongType()
SOURCE = source_of([("w", WINDOW), ("k", L), ("v", L)])
CALLS = [call("count", None), call("sum", Column(L, 2))]
WINDOWED = aggregate_of(SOURCE, [0, 1], CALLS, event_key=0)
Make = Callable[[Aggregate], MergeKernel]


@pytest.fixture(params=[Merge, CellMerge])
def make(request: pytest.FixtureRequest) -> Make:
    """Both kernels do the same."""
    kernel: Make = request.param
    return kernel


def _rows(*rows: tuple[int, int, int]) -> pa.RecordBatch:
    """Rows of (window start, key, value); windows are 10 microseconds long."""
    windows = [{"start": start, "end": start + 10} for start, _, _ in rows]
    columns = [pa.array(windows, arrow_type(WINDOW)), pa.array([r[1] for r in rows]), pa.array([r[2] for r in rows])]
    return pa.RecordBatch.from_arrays(columns, ["w", "k", "v"])


def _partials(aggregate: Aggregate, batch: pa.RecordBatch) -> pa.RecordBatch:
    chain = InterpretedChain(Chain(SOURCE, (), aggregate))
    chain.process(batch)
    partials = chain.flush(None)
    assert partials is not None
    return partials


def _plain(batch: pa.RecordBatch | None) -> list[tuple[int, ...]] | None:
    """Results as sorted (window start, key, count, sum)."""
    if batch is None:
        return None
    starts = pa.compute.struct_field(batch.column(0), 0).cast(pa.int64())
    return sorted(zip(starts.to_pylist(), *(column.to_pylist() for column in batch.columns[1:]), strict=True))


def test_append_gives_a_window_once_when_it_has_ended(make: Make) -> None:
    merge = make(WINDOWED)
    assert merge.merge(_partials(WINDOWED, _rows((0, 1, 5), (0, 2, 7), (10, 1, 1))), None) == 0
    assert merge.emit("append", None) is None
    assert merge.emit("append", 9) is None
    merge.merge(_partials(WINDOWED, _rows((0, 1, 6))), 9)
    assert _plain(merge.emit("append", 10)) == [(0, 1, 2, 11), (0, 2, 1, 7)]
    assert merge.emit("append", 10) is None
    assert merge.groups == 1


def test_late_partials_are_dropped_and_counted(make: Make) -> None:
    merge = make(WINDOWED)
    assert merge.merge(_partials(WINDOWED, _rows((0, 1, 5), (1, 1, 1), (10, 1, 1))), 10) == 1
    assert _plain(merge.emit("append", 100)) == [(1, 1, 1, 1), (10, 1, 1, 1)]


def test_nothing_is_late_without_event_time(make: Make) -> None:
    aggregate = aggregate_of(SOURCE, [0, 1], CALLS)
    merge = make(aggregate)
    assert merge.merge(_partials(aggregate, _rows((0, 1, 5))), 1000) == 0
    assert merge.emit("append", 1000) is None
    assert _plain(merge.emit("update", 1000)) == [(0, 1, 1, 5)]
    assert merge.groups == 1


def test_update_gives_what_changed_then_forgets_what_ended(make: Make) -> None:
    merge = make(WINDOWED)
    merge.merge(_partials(WINDOWED, _rows((0, 1, 5), (10, 1, 1))), None)
    assert _plain(merge.emit("update", None)) == [(0, 1, 1, 5), (10, 1, 1, 1)]
    assert merge.emit("update", None) is None
    merge.merge(_partials(WINDOWED, _rows((0, 1, 6))), None)
    assert _plain(merge.emit("update", 10)) == [(0, 1, 2, 11)]
    assert merge.groups == 1
    assert merge.emit("update", 10) is None


def test_complete_gives_all_if_any_changed_and_forgets_nothing(make: Make) -> None:
    merge = make(WINDOWED)
    merge.merge(_partials(WINDOWED, _rows((0, 1, 5), (10, 1, 1))), None)
    assert _plain(merge.emit("complete", 1000)) == [(0, 1, 1, 5), (10, 1, 1, 1)]
    assert merge.emit("complete", 1000) is None
    merge.merge(_partials(WINDOWED, _rows((0, 1, 6))), None)
    assert _plain(merge.emit("complete", 1000)) == [(0, 1, 2, 11), (10, 1, 1, 1)]


def test_a_plain_timestamp_key_ends_at_itself_and_null_never(make: Make) -> None:
    source = source_of([("t", T.TimestampType())])
    aggregate = aggregate_of(source, [0], [call("count", None)], event_key=0)
    batch = pa.RecordBatch.from_arrays([pa.array([5, 6, 6, None], pa.timestamp("us", "UTC"))], ["t"])
    chain = InterpretedChain(Chain(source, (), aggregate))
    chain.process(batch)
    assert chain.flush(4) is None
    merge = make(aggregate)
    for watermark in (5, None):
        partials = chain.flush(watermark)
        assert partials is not None
        assert merge.merge(partials, 4) == 0
    result = merge.emit("append", 10**15)
    assert result is not None
    assert sorted(result.column(1).to_pylist()) == [1, 2]
    assert merge.groups == 1


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_without_keys_there_is_one_row_from_the_start(make: Make, mode: str) -> None:
    aggregate = aggregate_of(SOURCE, [], CALLS)
    merge = make(aggregate)
    assert merge.groups == 1
    first = merge.emit(mode, None)
    assert first is not None
    assert first.to_pylist() == [{"r0": 0, "r1": None}]
    assert merge.emit(mode, None) is None
    merge.merge(_partials(aggregate, _rows((0, 1, 5), (0, 1, 6))), None)
    second = merge.emit(mode, None)
    assert second is not None
    assert second.to_pylist() == [{"r0": 2, "r1": 11}]
    restored = make(aggregate)
    restored.restore(merge.snapshot())
    assert restored.emit(mode, None) is None
    assert restored.groups == 1


@pytest.mark.parametrize("mode", ["append", "update", "complete"])
def test_a_snapshot_goes_on_where_it_was_taken(make: Make, mode: str) -> None:
    rng = random.Random(mode)
    one, other = make(WINDOWED), make(WINDOWED)
    for step in range(40):
        rows = [(rng.randrange(step // 10 * 10, step + 1), rng.randrange(4), rng.randrange(9)) for _ in range(5)]
        watermark = max(step - 12, 0)
        partials = _partials(WINDOWED, _rows(*rows))
        assert one.merge(partials, watermark) == other.merge(partials, watermark)
        if rng.random() < 0.5:
            assert _plain(one.emit(mode, watermark)) == _plain(other.emit(mode, watermark))
        if rng.random() < 0.3:
            state = other.snapshot()
            assert state.schema == partial_schema(WINDOWED).append(pa.field("changed", pa.bool_()))
            other = make(WINDOWED)
            other.restore(state)
        assert one.groups == other.groups


@pytest.mark.parametrize("mode", ["update", "complete"])
@pytest.mark.parametrize("groups", [5, 20_000])
def test_what_came_since_each_checkpoint_is_the_state(mode: str, groups: int) -> None:
    """A merge that goes on from all its parts gives what one does that was never stopped, few groups or many."""
    sizes = AggCall("set_size", (Column(L, 1),), T.IntegerType(), options=(("ignore_nulls", True),))
    aggregate = aggregate_of(source_of([("k", L), ("v", L)]), [0], [call("sum", Column(L, 1)), sizes])
    one, other, rng = Merge(aggregate), Merge(aggregate), np.random.default_rng(1)
    parts: list[pa.Table] = []
    for step in range(30):
        size = int(rng.integers(1, 6000))
        keys, values = pa.array(rng.integers(0, groups, size)), pa.array(rng.integers(0, 100, size))
        chain = InterpretedChain(Chain(aggregate.input, (), aggregate))
        chain.process(pa.RecordBatch.from_arrays([keys, values], ["k", "v"]))
        partials = chain.flush(None)
        assert partials is not None
        one.merge(partials, None), other.merge(partials, None)
        given, expected = other.emit(mode, None), one.emit(mode, None)
        assert given is not None
        assert expected is not None
        assert comparable(pa.Table.from_batches([given])) == comparable(pa.Table.from_batches([expected]))
        if step % 3 == 2:
            changes = other.changes()
            assert changes is not None
            parts.append(changes.table())
        if step % 9 == 8:
            other = Merge(aggregate)
            for part in parts:
                other.restore(part)
            parts = [other.snapshot()]
    assert len(parts) > 1


def test_groups_that_end_are_written_whole(make: Make) -> None:
    merge = make(WINDOWED)
    merge.merge(_partials(WINDOWED, _rows((0, 1, 5))), None)
    assert merge.emit("update", None) is not None
    assert merge.changes() is None


def test_what_came_is_not_kept_if_it_is_more_than_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.kernels.merge._LOGGED", 1000)
    aggregate = aggregate_of(source_of([("k", L), ("v", L)]), [0], [call("sum", Column(L, 1))])
    merge = Merge(aggregate)
    merge._most_logged = 1000
    for _ in range(200):
        partials = [pa.array([1]), pa.array([1])]
        merge.merge(pa.RecordBatch.from_arrays(partials, schema=partial_schema(aggregate)), None)
        merge.emit("update", None)
    assert merge.changes() is None
    assert merge.snapshot().column("a0_0").to_pylist() == [200]
    changes = merge.changes()
    assert changes is not None
    assert changes.table().num_rows == 0


def test_update_of_many_groups_gives_the_changed_ones(make: Make) -> None:
    """So many groups that the changed ones are looked up instead of merging all."""
    aggregate = aggregate_of(source_of([("k", L), ("v", L)]), [0], [call("sum", Column(L, 1)), call("count", None)])
    merge, rng = make(aggregate), np.random.default_rng(1)
    totals, counts = np.zeros(20_000, np.int64), np.zeros(20_000, np.int64)
    for size in (20_000, 5_000, 3, 700, 20_000, 1, 2, 3, 4, 5, 6, 7, 8, 9):
        keys, values = rng.integers(0, 20_000, size), rng.integers(0, 100, size)
        np.add.at(totals, keys, values)
        np.add.at(counts, keys, 1)
        partials = [pa.array(keys), pa.array(values), pa.array(np.ones(size, np.int64))]
        merge.merge(pa.RecordBatch.from_arrays(partials, schema=partial_schema(aggregate)), None)
        result = merge.emit("update", None)
        assert result is not None
        changed = np.unique(keys)
        expected = pa.table({"k": changed, "r0": totals[changed], "r1": counts[changed]})
        assert comparable(pa.Table.from_batches([result])) == comparable(expected)
    assert merge.groups == np.count_nonzero(counts)


def test_update_of_many_groups_tells_keys_with_one_hash_apart(make: Make) -> None:
    """A null does not change a hash: (k, null) and (null, k) have the same."""
    aggregate = aggregate_of(source_of([("k", L), ("j", L), ("v", L)]), [0, 1], [call("sum", Column(L, 2))])
    merge, keys = make(aggregate), list(range(5000))

    def update(k: list[int | None], j: list[int | None]) -> list[tuple[int | None, ...]]:
        columns = [pa.array(k, pa.int64()), pa.array(j, pa.int64()), pa.array([1] * len(k))]
        merge.merge(pa.RecordBatch.from_arrays(columns, schema=partial_schema(aggregate)), None)
        result = merge.emit("update", None)
        assert result is not None
        return list(zip(*(column.to_pylist() for column in result.columns), strict=True))

    update([*keys, *[None] * len(keys)], [*[None] * len(keys), *keys])
    update(keys, [None] * len(keys))
    assert set(update([None, 7], [5, None])) == {(None, 5, 2), (7, None, 3)}


def test_memory_stays_in_proportion_to_the_groups(make: Make) -> None:
    chain = InterpretedChain(Chain(SOURCE, (), WINDOWED))
    merge = make(WINDOWED)
    before = pa.total_allocated_bytes()
    batch = _rows(*((start, key, 1) for start in (0, 10) for key in range(50)))
    partials = _partials(WINDOWED, batch)
    for _ in range(500):
        chain.process(batch)
        merge.merge(partials, None)
    assert pa.total_allocated_bytes() - before < 2_000_000
    assert merge.bytes < 100_000
    assert chain.groups == merge.groups == 100


def test_room_is_given_back_when_groups_have_left() -> None:
    merge = CellMerge(WINDOWED)
    merge.merge(_partials(WINDOWED, _rows(*((0, key, 1) for key in range(5000)))), None)
    most = merge._tables.room
    for start in range(10, 200, 10):
        result = merge.emit("append", start)
        assert result is not None
        merge.merge(_partials(WINDOWED, _rows((start, 1, 1))), start)
    assert merge._tables.room * 8 <= most
    assert _plain(merge.emit("append", 1000)) == [(190, 1, 1, 1)]


def test_a_window_finds_the_room_that_the_one_before_it_had() -> None:
    merge = CellMerge(WINDOWED)
    room = []
    for start in (0, 10, 20):
        merge.merge(_partials(WINDOWED, _rows(*((start, key, 1) for key in range(5000)))), start)
        room.append(merge._tables._segments[1])
        result = merge.emit("append", start + 10)
        assert result is not None
        assert result.num_rows == 5000
    assert [s.addresses for s in room[0]] == [s.addresses for s in room[1]] == [s.addresses for s in room[2]]


@pytest.mark.parametrize("ansi", [True, False])
def test_a_sum_beyond_a_long_is_an_error_or_wraps(ansi: bool) -> None:
    aggregate = aggregate_of(SOURCE, [1], [call("sum", Column(L, 2), ansi=ansi)])
    assert fits(aggregate)
    merge = CellMerge(aggregate)
    most = 2**63 - 1
    merge.merge(_partials(aggregate, _rows((0, 1, most))), None)
    more = _partials(aggregate, _rows((0, 1, 1)))
    if ansi:
        with pytest.raises(RowError, match=r"ARITHMETIC_OVERFLOW.*try_sum"):
            merge.merge(more, None)
    else:
        merge.merge(more, None)
        assert merge.emit("update", None).column(1).to_pylist() == [-most - 1]  # type: ignore[union-attr]


def test_what_is_not_of_fixed_width_does_not_fit() -> None:
    source = source_of([("s", T.StringType()), ("d", T.DecimalType(10, 2)), ("v", L)])
    assert fits(aggregate_of(source, [2], [call("max", Column(L, 2))]))
    assert not fits(aggregate_of(source, [0], [call("count", None)]))
    assert not fits(aggregate_of(source, [2], [call("sum", Column(T.DecimalType(10, 2), 1))]))
    assert not fits(aggregate_of(source, [2], [call("max", Column(T.StringType(), 0))]))
