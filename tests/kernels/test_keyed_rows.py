"""Rows kept by key, against a plain list of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.kernels.keyed_rows import NEVER, KeyedRows

SPREAD = np.uint64(0x9E3779B97F4A7C15)
ROWS = st.tuples(st.integers(0, 12), st.sampled_from([1, 2, 3, 5, 8, 13, 40, NEVER]))
STEPS = st.lists(st.one_of(st.lists(ROWS, max_size=9), st.integers(0, 20)), max_size=40)


def hashes(keys: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(keys, np.uint64) * SPREAD


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_what_is_held_is_found_until_it_ends(steps: list[list[tuple[int, int]] | int]) -> None:
    store, held, number, until = KeyedRows(), dict[int, tuple[int, int]](), 0, -1
    for step in steps:
        if isinstance(step, int):
            until = max(until, step)
            gone = {int(segment.rows[0][row].as_py()) for segment, rows in store.end(until) for row in rows}
            assert gone == {n for n, (_, time) in held.items() if time <= until}
            held = {n: row for n, row in held.items() if row[1] > until}
        else:
            fresh = [(key, time) for key, time in step if time > until]
            numbers = list(range(number, number + len(fresh)))
            number += len(fresh)
            batch = pa.RecordBatch.from_arrays([pa.array(numbers, pa.int64())], ["n"])
            store.add(batch, hashes([key for key, _ in fresh]), np.array([t for _, t in fresh], np.int64))
            held.update(zip(numbers, fresh, strict=True))
        asked = [3, 7, 3, 0, 99]
        pairs = sorted(
            (int(a), found.segment.rows[0][int(r)].as_py())
            for found in store.find(hashes(asked))
            for a, r in zip(found.asked, found.rows, strict=True)
        )
        assert pairs == sorted((i, n) for i, key in enumerate(asked) for n, (k, _) in held.items() if k == key)
        assert store.count == len(held) == sum(len(rows) for _, rows in store.held())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3000), st.booleans(), st.booleans()), max_size=40))
def test_every_row_is_unsaved_once(steps: list[tuple[int, bool, bool]]) -> None:
    """Rows that end before they are saved need not be."""
    store, saved, number, until = KeyedRows(), [], 0, -1
    for rows, saves, ends in steps:
        numbers = list(range(number, number + rows))
        number += rows
        store.add(pa.RecordBatch.from_arrays([pa.array(numbers)], ["n"]), hashes(numbers), np.array(numbers))
        if saves:
            saved += [segment.rows[0][int(row)].as_py() for segment, held in store.unsaved() for row in held]
            assert set(saved) >= set(range(until + 1, number))
        if ends:
            until = number - rows // 2 - 1
            list(store.end(until))
        assert store.count == number - until - 1
        asked = [n for n in (until, until + 1, number - 1) if 0 <= n < number]
        pairs = [int(found.segment.rows[0][int(r)].as_py()) for found in store.find(hashes(asked)) for r in found.rows]
        assert sorted(pairs) == sorted(n for n in asked if n > until)
    assert len(saved) == len(set(saved))


def test_checkpoints_leave_few_segments() -> None:
    store = KeyedRows()
    for number in range(600):
        store.add(pa.RecordBatch.from_arrays([pa.array([number])], ["n"]), hashes([number]), np.array([NEVER]))
        assert sum(len(rows) for _, rows in store.unsaved()) == 1
    assert store.count == 600
    assert len(store._segments) < 10


def test_rows_that_are_gone_leave_no_empty_segment_behind_a_checkpoint() -> None:
    store = KeyedRows()
    for number in (0, 5000):
        keys = list(range(number, number + 5000))
        store.add(pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]), hashes(keys), np.full(5000, 7))
    for segment, rows in list(store.held()):
        segment.lose(rows)
    store.saved()
    assert (store.count, list(store.end(8)), list(store.held())) == (0, [], [])


def test_what_has_ended_leaves_memory() -> None:
    store = KeyedRows()
    for second in range(2000):
        keys = list(range(second * 100, second * 100 + 100))
        batch = pa.RecordBatch.from_arrays([pa.array(keys)], ["n"])
        store.add(batch, hashes(keys), np.full(100, second))
        assert sum(len(rows) for _, rows in store.end(second - 10)) == (100 if second >= 10 else 0)
    assert store.count == 1000
    assert sum(segment.rows.num_rows for segment, _ in store.held()) < 4000
    assert len(store._filter) <= 1 << 16
