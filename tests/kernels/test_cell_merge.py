"""Groups of cells in tables by when they end do what Merge does, however many ends and groups there are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from aggregation import aggregate_of, call, comparable, source_of
from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.kernels import cell_memory, cell_tables
from headway.kernels.api import Chain, partial_schema
from headway.kernels.cell_merge import CellMerge, fits
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge

L, D = T.LongType(), T.DoubleType()
SOURCE = source_of([("t", T.TimestampType()), ("k", L), ("v", L), ("d", D)])
V, X = Column(L, 2), Column(D, 3)
CALLS = [call("count", None), call("sum", V), call("max", V), call("min", X), call("sum", X), call("avg", V)]
AGGREGATE = aggregate_of(SOURCE, [0, 1], CALLS, event_key=0)
COUNTS = aggregate_of(SOURCE, [0, 1], [call("count", None)], event_key=0)

Ends = Callable[[np.random.Generator, int, int], np.ndarray]


def _windows(rng: np.random.Generator, step: int, rows: int) -> np.ndarray:
    return step // 4 * 4 + 4 * rng.integers(1, 6, rows)


def _many_windows(rng: np.random.Generator, step: int, rows: int) -> np.ndarray:
    return step + rng.integers(1, 100, rows)


def _times(rng: np.random.Generator, step: int, rows: int) -> np.ndarray:
    return step + rng.integers(-2, 5000, rows)


def _one_then_another(rng: np.random.Generator, step: int, rows: int) -> np.ndarray:
    return np.full(rows, step // 8 * 8 + 8)


def _partials(rng: np.random.Generator, ends: np.ndarray, keys: int) -> pa.RecordBatch:
    """Of rows with these ends, of which some are null, as values are."""
    size = len(ends)
    values, null = rng.integers(-9, 9, size), rng.random((3, size)) < 0.05
    columns = [
        pa.array(ends, pa.int64(), mask=null[0]).cast(pa.timestamp("us", "UTC")),
        pa.array(rng.integers(0, keys, size), mask=null[1]),
        pa.array(values, mask=rng.random(size) < 0.3),
        pa.array(values / 4.0, mask=null[2]),
    ]
    chain = InterpretedChain(Chain(SOURCE, (), AGGREGATE))
    chain.process(pa.RecordBatch.from_arrays(columns, ["t", "k", "v", "d"]))
    partials = chain.flush(None)
    assert partials is not None
    return partials


def _counts(ends: np.ndarray, keys: np.ndarray) -> pa.RecordBatch:
    columns = [pa.array(ends, pa.timestamp("us", "UTC")), pa.array(keys), pa.array(np.ones(len(keys), np.int64))]
    return pa.RecordBatch.from_arrays(columns, schema=partial_schema(COUNTS))


def _all(rows: pa.RecordBatch | pa.Table | None) -> object:
    return None if rows is None else comparable(pa.table(rows))


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("mode", ["append", "update", "complete"])
@pytest.mark.parametrize("ends", [_windows, _many_windows, _times, _one_then_another])
def test_it_does_what_merge_does(
    monkeypatch: pytest.MonkeyPatch, ends: Ends, mode: str, small: bool, few: bool
) -> None:
    """However small segments are, and however few tables there may be."""
    if small:
        monkeypatch.setattr(cell_memory, "_BYTES", 1)
    if few:
        monkeypatch.setattr(cell_tables, "_MOST", 3)
        monkeypatch.setattr(cell_tables, "_FEW", 3)
    assert fits(AGGREGATE)
    rng = np.random.default_rng(len(mode))
    cells, tables = CellMerge(AGGREGATE), Merge(AGGREGATE)
    for step in range(18):
        watermark = None if step < 3 or mode == "complete" else step
        partials = _partials(rng, ends(rng, step, 500), 600)
        assert cells.merge(partials, watermark) == tables.merge(partials, watermark)
        assert cells.groups == tables.groups
        if rng.random() < 0.6:
            assert _all(cells.emit(mode, watermark)) == _all(tables.emit(mode, watermark))
        if rng.random() < 0.3:
            states = tables.snapshot(), cells.snapshot()
            assert _all(states[0]) == _all(states[1])
            cells, tables = CellMerge(AGGREGATE), Merge(AGGREGATE)
            cells.restore(states[0])
            tables.restore(states[1])
        assert cells.bytes == cells.groups * cells._tables.stride * 8


def test_a_window_leaves_what_is_of_the_others_where_it_is() -> None:
    merge, keys = CellMerge(COUNTS), np.arange(20_000)
    for end in (10, 20, 30):
        merge.merge(_counts(np.full(20_000, end), keys), None)
    held = merge._tables._segments[2:4]
    for end in (10, 20):
        result = merge.emit("append", end)
        assert result is not None
        assert result.column(0).cast(pa.int64()).unique().to_pylist() == [end]
    assert merge._tables._segments[3] is held[1]
    assert merge.groups == 20_000


def test_windows_that_end_together_are_given_in_order() -> None:
    merge = CellMerge(COUNTS)
    merge.merge(_counts(np.array([30, 10, 20, 10]), np.array([1, 2, 3, 4])), None)
    result = merge.emit("append", 20)
    assert result is not None
    assert result.column(0).cast(pa.int64()).to_pylist() == [10, 10, 20]
    assert merge.groups == 1


@pytest.mark.parametrize("groups", [100, 5000, 100_000])
def test_every_group_is_found_again_while_a_table_grows(groups: int) -> None:
    """The second window begins with the buckets that the first one needed, the third has more groups."""
    merge, rng = CellMerge(COUNTS), np.random.default_rng(groups)
    for end, size in ((10, groups), (20, groups), (30, 2 * groups)):
        expected = np.zeros(size, np.int64)
        for _ in range(3):
            for keys in np.array_split(rng.permutation(size), 7):
                merge.merge(_counts(np.full(len(keys), end), keys), end - 1)
                expected[keys] += 1
        assert merge.groups == size
        result = merge.emit("append", end)
        assert result is not None
        given = np.zeros(size, np.int64)
        given[result.column(1).to_numpy()] = result.column(2).to_numpy()
        assert (given == expected).all()
        assert result.num_rows == size


def test_a_window_takes_the_memory_that_another_left() -> None:
    merge, keys, used = CellMerge(COUNTS), np.arange(100_000), []
    for end in (10, 20, 30):
        merge.merge(_counts(np.full(len(keys), end), keys), None)
        used.append({segment.addresses for segment in merge._tables._segments[1]})
        assert merge.emit("append", end) is not None
    assert len(used[0]) > 1
    assert used[0] == used[1] == used[2]


def test_not_many_ends_with_a_group_each_have_tables() -> None:
    merge = CellMerge(COUNTS)
    merge.merge(_counts(np.arange(1, 5001), np.zeros(5000, np.int64)), None)
    assert len(merge._tables._ends) == cell_tables._FEW
    for end in range(6001, 6050):
        merge.merge(_counts(np.full(100, end), np.arange(100)), None)
    assert len(merge._tables._ends) == cell_tables._FEW  # what there are has few groups
    merge.emit("append", 6001)
    for end in range(7001, 7100):
        merge.merge(_counts(np.full(100, end), np.arange(100)), None)
    assert len(merge._tables._ends) == cell_tables._MOST
    assert merge.groups == 48 * 100 + 99 * 100
    result = merge.emit("append", 10_000)
    assert result is not None
    assert result.num_rows == 48 * 100 + 99 * 100


def test_the_shared_table_gives_room_back() -> None:
    merge = CellMerge(COUNTS)
    merge.merge(_counts(np.arange(1, 100_001), np.zeros(100_000, np.int64)), None)
    assert merge._tables.room > 90_000
    for watermark in (50_000, 99_000, 99_990):
        assert merge.emit("append", watermark) is not None
    assert merge._tables.room < 10_000
    rest = merge.snapshot().column(0).cast(pa.int64())
    assert sorted(rest.to_pylist()) == list(range(99_991, 100_001))
