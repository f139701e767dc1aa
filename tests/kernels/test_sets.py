"""Sets of which the size is asked for, beside the sets themselves: kept apart, saved, restored, and given up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from aggregation import WINDOW, aggregate_of, source_of
from pyspark.sql import types as T

import headway.kernels.merge
from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Aggregate
from headway.dataflow.types import arrow_type
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge
from headway.kernels.sets import Seen

L, D = T.LongType(), T.DoubleType()
SOURCE = source_of([("w", WINDOW), ("k", L), ("v", L), ("d", D)])


def _aggregate(function: str, result: Callable[[T.DataType], T.DataType], windowed: bool) -> Aggregate:
    options = (("ignore_nulls", True),)
    calls = [AggCall(function, (Column(t, i),), result(t), options=options) for i, t in ((2, L), (3, D))]
    return aggregate_of(SOURCE, [0, 1] if windowed else [1], [AggCall("count", (), L), *calls], 0 if windowed else None)


def _both(windowed: bool) -> tuple[Aggregate, Aggregate]:
    return (
        _aggregate("collect_set", lambda kind: T.ArrayType(kind), windowed),
        _aggregate("set_size", lambda kind: T.IntegerType(), windowed),
    )


def _rows(random: np.random.Generator, count: int, keys: int, start: int = 0) -> pa.RecordBatch:
    windows = [{"start": start, "end": start + 10}] * count
    floats = random.choice([0.0, -0.0, np.nan, 1.5, 2.5], count)
    columns = [
        pa.array(windows, arrow_type(WINDOW)),
        pa.array(random.integers(0, keys, count)),
        pa.array(random.integers(-(2**62), 2**62, count) >> 55, mask=random.random(count) < 0.1),
        pa.array(floats, mask=random.random(count) < 0.1),
    ]
    return pa.RecordBatch.from_arrays(columns, ["w", "k", "v", "d"])


def _plain(batch: pa.RecordBatch | pa.Table | None) -> list[Any] | None:
    """Rows, of sets their sizes."""
    if batch is None:
        return None
    rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return sorted([[len(v) if isinstance(v, list) else v for v in row] for row in rows], key=str)


def _partials(aggregate: Aggregate, rows: pa.RecordBatch) -> pa.RecordBatch:
    chain = InterpretedChain(Chain(SOURCE, (), aggregate))
    chain.process(rows)
    partials = chain.flush(None)
    assert partials is not None
    return partials


@pytest.mark.parametrize("mode", ["update", "complete"])
@pytest.mark.parametrize("keys", [1, 5])
@pytest.mark.parametrize("few", [3, 4096])
def test_sizes_are_those_of_the_sets(mode: str, keys: int, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headway.kernels.merge, "_FEW", few)
    aggregates = _both(windowed=False)
    merges = [Merge(aggregate) for aggregate in aggregates]
    random = np.random.default_rng(keys)
    for step in range(40):
        rows = _rows(random, int(random.integers(1, 60)), keys)
        for aggregate, merge in zip(aggregates, merges, strict=True):
            merge.merge(_partials(aggregate, rows), None)
        if step % 3 == 2:
            sets, sizes = (_plain(merge.emit(mode, None)) for merge in merges)
            assert sizes == sets
        assert merges[0].groups == merges[1].groups
        if step % 7 == 6:
            saved = [merge.snapshot() for merge in merges]
            assert _plain(saved[1]) == _plain(saved[0])
            merges = [Merge(aggregate) for aggregate in aggregates]
            for merge, state in zip(merges, saved, strict=True):
                merge.restore(state)


def test_sets_of_groups_that_end_are_forgotten() -> None:
    merge = Merge(_both(windowed=True)[1])
    random = np.random.default_rng(1)
    sizes = []
    for window in range(0, 4000, 10):
        merge.merge(_partials(_both(windowed=True)[1], _rows(random, 30, 2, window)), window - 10)
        assert merge.emit("update", window - 10) is not None
        sizes.append(merge.bytes)
    assert sizes[-1] == sizes[len(sizes) // 2]


def test_a_growing_set_is_never_moved_as_a_whole() -> None:
    """Pairs come while others still are in the smaller table, which is emptied long before the larger one is full."""
    seen, moving = Seen(), 0
    for begin in range(0, 200_000, 100):
        values = np.arange(begin, begin + 100)
        assert seen.add(np.zeros(100, np.int64), values).all()
        assert not seen.add(np.zeros(100, np.int64), values // 2).any()
        moving += len(seen._old) > 0
    assert moving > 50
    assert sorted(seen.of(np.array([0]))[1]) == list(range(200_000))


def test_pairs_are_seen_once() -> None:
    random = np.random.default_rng(2)
    seen, known = Seen(), dict[tuple[int, int], None]()
    for count in [400] * 30 + [20_000] + [400] * 10:
        groups, values = random.integers(0, 3, count), random.integers(-3000, 3000, count)
        expected = []
        for pair in zip(groups.tolist(), values.tolist(), strict=True):
            expected.append(pair not in known)
            known[pair] = None
        assert seen.add(groups, values).tolist() == expected
    offsets, values = seen.of(np.array([2, 0]))
    assert sorted(values[offsets[0] : offsets[1]]) == sorted(v for g, v in known if g == 2)
    assert sorted(values[offsets[1] : offsets[2]]) == sorted(v for g, v in known if g == 0)
    seen.forget(np.array([0, 1]))
    assert sorted(seen.of(np.array([2]))[1]) == sorted(v for g, v in known if g == 2)
    assert not seen.add(*np.array([pair for pair in known if pair[0] == 2]).T.copy()).any()
