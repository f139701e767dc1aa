"""Rows kept by key, against a plain list of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.kernels import keyed_rows
from headway.kernels.keyed_rows import NEVER, KeyedRows, Rows, Segment

SPREAD = np.uint64(0x9E3779B97F4A7C15)
ROWS = st.tuples(st.integers(0, 12), st.sampled_from([1, 2, 3, 5, 8, 13, 40, NEVER]))
STEPS = st.lists(st.one_of(st.lists(ROWS, max_size=9), st.integers(0, 20)), max_size=40)


def hashes(keys: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(keys, np.int64).view(np.uint64) * SPREAD


def numbers(segment: Segment, rows: Rows) -> list[int]:
    return list(segment.rows.column(0).take(pa.array(rows)).to_pylist())


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
    assert store.bytes < 400_000


@pytest.mark.parametrize("saves", [False, True])
def test_a_row_that_stays_holds_neither_rows_nor_numbers(saves: bool) -> None:
    """Each second has one, so that every segment has some for ever."""
    store = KeyedRows()
    for second in range(400):
        keys = np.arange(second * 1000, second * 1000 + 1000)
        times = np.full(1000, second)
        times[0] = NEVER
        store.add(pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]), hashes(keys.tolist()), times)
        list(store.end(second - 10))
        if saves and second % 9 == 0:
            store.unsaved()
    assert store.count == 400 + 10 * 999
    assert sum(segment.rows.num_rows for segment in store._segments) < 3 * store.count
    assert store._index.next - store._index.first < 4 * store.count + (1 << 16)
    asked = hashes([0, 77000, 398000, 398001, 77001])
    found = [number for found in store.find(asked) for number in numbers(found.segment, found.rows)]
    assert sorted(found) == [0, 77000, 398000, 398001]


def test_rows_that_stay_before_all_others_do_not_hold_their_numbers() -> None:
    """Of the segments of these, none is half ended."""
    store = KeyedRows()
    for second in range(-5, 400):
        keys = np.arange(second * 1000, second * 1000 + 1000)
        store.add(
            pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]),
            hashes(keys.tolist()),
            np.full(1000, NEVER if second < 0 else second),
        )
        list(store.end(second - 10))
    assert store.count == 15000
    assert store._index.next - store._index.first < 4 * 15000 + (1 << 16)
    asked = hashes([-5000, -1, 0, 399_000])
    found = [number for found in store.find(asked) for number in numbers(found.segment, found.rows)]
    assert sorted(found) == [-5000, -1, 399_000]


def test_rows_that_are_gone_leave_memory_though_none_ever_ends() -> None:
    store = KeyedRows()
    for _ in range(200):
        for found in store.find(hashes(list(range(500)))):
            found.segment.lose(found.rows)
        batch = pa.RecordBatch.from_arrays([pa.array(np.arange(500))], ["n"])
        store.add(batch, hashes(list(range(500))), np.full(500, NEVER))
    assert store.count == 500
    assert sum(segment.rows.num_rows for segment in store._segments) < 3000


class Model:
    """A store whose rows are numbered, and their keys and times; few rows are many for it."""

    def __init__(self, seed: int, keys: int) -> None:
        self.random, self.keys = np.random.default_rng(seed), keys
        self.store, self.until, self.number = KeyedRows(), 0, 0
        self.held: dict[int, tuple[int, int]] = {}
        self.marked: set[int] = set()
        self.saved: list[int] = []

    def add(self, rows: int) -> None:
        """Most of them end soon, in almost any order; some never do."""
        times = self.until + 1 + self.random.integers(0, 40, rows)
        times[self.random.random(rows) < 0.02] = NEVER
        keys = self.random.integers(0, self.keys, rows)
        batch = pa.RecordBatch.from_arrays([pa.array(np.arange(self.number, self.number + rows))], ["n"])
        self.store.add(batch, hashes(keys.tolist()), times)
        each = zip(keys.tolist(), times.tolist(), strict=True)
        self.held.update(zip(range(self.number, self.number + rows), each, strict=True))
        self.number += rows

    def end(self) -> None:
        self.until += int(self.random.integers(0, 8))
        ended = [number for segment, rows in self.store.end(self.until) for number in numbers(segment, rows)]
        assert sorted(ended) == sorted(number for number, (_, time) in self.held.items() if time <= self.until)
        for number in ended:
            del self.held[number]

    def lose(self) -> None:
        """All rows of some keys, as sessions do; others are marked, as outer joins do."""
        asked = self.random.integers(0, self.keys, 6)
        for found in self.store.find(hashes(np.unique(asked[:3]).tolist())):
            for number in numbers(found.segment, found.rows):
                del self.held[number]
            found.segment.lose(found.rows)
        for found in self.store.find(hashes(asked[3:].tolist())):
            found.segment.marked[found.rows] = True
            self.marked.update(numbers(found.segment, found.rows))

    def save(self) -> None:
        self.saved += [number for segment, rows in self.store.unsaved() for number in numbers(segment, rows)]
        assert len(set(self.saved)) == len(self.saved)
        assert set(self.saved) >= set(self.held)

    def check(self) -> None:
        asked = self.random.integers(0, self.keys + 1, 8).tolist()
        pairs = [
            (at, number)
            for found in self.store.find(hashes(asked))
            for at, number in zip(found.asked.tolist(), numbers(found.segment, found.rows), strict=True)
        ]
        of_key: dict[int, list[int]] = {key: [] for key in asked}
        for number, (key, _) in self.held.items():
            if key in of_key:
                of_key[key].append(number)
        assert sorted(pairs) == sorted((at, number) for at, key in enumerate(asked) for number in of_key[key])
        held = list(self.store.held())
        assert sorted(n for segment, rows in held for n in numbers(segment, rows)) == sorted(self.held)
        assert self.store.count == len(self.held)
        marked = {n for segment, rows in held for n in numbers(segment, rows[segment.marked[rows]])}
        assert marked == self.marked & set(self.held)
        times = {n: t for s, rows in held for n, t in zip(numbers(s, rows), s.times[rows].tolist(), strict=True)}
        assert times == {number: time for number, (_, time) in self.held.items()}


@pytest.fixture
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_rows, "_LARGE", 512)
    monkeypatch.setattr(keyed_rows, "_MANY", 100)


def fill(store: KeyedRows, first: int, times: Rows) -> None:
    """Add rows with the keys from `first` on."""
    keys = np.arange(first, first + len(times))
    store.add(pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]), hashes(keys.tolist()), times)


@pytest.mark.usefixtures("few_rows_are_many")
def test_what_is_left_when_much_ends_at_once() -> None:
    """It is not one huge segment; those of which nothing is left are gone at once, though much else is held."""
    store = KeyedRows()
    fill(store, 0, np.full(9000, NEVER))
    for first in range(10_000, 14_000, 600):
        fill(store, first, np.full(600, 5))
    assert sum(len(rows) for _, rows in store.end(5)) == 4200
    assert [segment.rows.num_rows for segment in store._segments] == [9000]
    for first in range(20_000, 50_000, 600):
        fill(store, first, np.where(np.arange(600) % 5, 6, NEVER))
    assert sum(len(rows) for _, rows in store.end(6)) == 24_000
    assert store.count == 15_000
    assert max(segment.rows.num_rows for segment in store._segments[1:]) < 2 * 512


@pytest.mark.usefixtures("few_rows_are_many")
def test_no_more_rows_are_moved_than_come() -> None:
    """But for those of a segment."""
    store, moved = KeyedRows(), []
    for first in range(0, 12_000, 600):
        fill(store, first, np.full(600, NEVER))
    for second in range(3000):
        fill(store, 12_000 + 40 * second, np.full(40, second))
        before = store._index.next
        list(store.end(second - 2))
        moved.append(store._index.next - before)
    assert sum(moved) >= 12_000
    assert max(moved) <= 600
    assert store.count == 12_080


@pytest.mark.usefixtures("few_rows_are_many")
def test_segments_that_are_half_ended_at_the_same_time_are_not_moved_at_the_same_time() -> None:
    store, moved, held, random = KeyedRows(), [], [], np.random.default_rng(3)
    for first in range(0, 60_000, 600):
        fill(store, first, 1 + random.integers(0, 400, 600))
    for second in range(400):
        before = store._index.next
        ended = sum(len(rows) for _, rows in store.end(second))
        moved.append(store._index.next - before - ended)
        held.append(sum(len(segment.times) for segment in store._segments) / max(600, store.count))
    assert max(moved) <= 600
    assert max(held) <= 2.5


@pytest.mark.usefixtures("few_rows_are_many")
@pytest.mark.parametrize("seed", range(24))
def test_rows_come_end_are_lost_and_are_saved_in_any_order(seed: int) -> None:
    """Few keys, or as many as rows; batches of one size, or of all sizes."""
    model = Model(seed, (1, 8, 300, 10**9)[seed % 4])
    most = (3, 40, 700)[seed % 3]
    for _ in range(120):
        model.add(int(model.random.integers(0, most)))
        chance = model.random.random(3)
        if chance[0] < 0.5:
            model.end()
        if chance[1] < 0.4:
            model.lose()
        if chance[2] < (0.0, 0.1, 0.4)[seed // 3 % 3]:
            model.save()
        model.check()
    model.end()
    model.save()
    model.check()
    assert sum(len(segment.times) for segment in model.store._segments) <= 2 * len(model.held) + 10


@pytest.mark.usefixtures("few_rows_are_many")
@pytest.mark.parametrize("rows", [1, 7, 33, 200, 600])
@pytest.mark.parametrize("saves", [0, 1, 5])
def test_rows_that_stay_are_in_few_segments(rows: int, saves: int) -> None:
    store = KeyedRows()
    for at in range(0, 12000, rows):
        keys = list(range(at, at + rows))
        store.add(pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]), hashes(keys), np.full(rows, NEVER))
        if saves and at // rows % saves == 0:
            assert sum(len(held) for _, held in store.unsaved()) == (min(saves, at // rows) or 1) * rows
    assert store.count == len(range(0, 12000, rows)) * rows
    assert len(store._segments) < 2 * 12000 / 512 + 64
    assert sum(len(numbers(*held)) for held in store.held()) == store.count


@pytest.mark.usefixtures("few_rows_are_many")
@pytest.mark.parametrize("saves", [False, True])
def test_small_batches_between_large_ones_become_one(saves: bool) -> None:
    store = KeyedRows()
    for at in range(0, 60000, 1000):
        for start, rows in [*((at + 40 * i, 40) for i in range(10)), (at + 400, 600)]:
            keys = list(range(start, start + rows))
            store.add(pa.RecordBatch.from_arrays([pa.array(keys)], ["n"]), hashes(keys), np.full(rows, NEVER))
            if saves and start == at + 200:
                store.saved()
    assert store.count == 60000
    assert len(store._segments) <= 60 * (3 if saves else 2)


def test_rows_are_copied_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    store, copied, segments, concat = KeyedRows(), [], [], pa.concat_batches

    def counted(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        copied.append(sum(part.num_rows for part in parts))
        return concat(parts)

    monkeypatch.setattr(pa, "concat_batches", counted)
    for at in range(0, 560_000, 700):
        batch = pa.RecordBatch.from_arrays([pa.array(np.arange(at, at + 700))], ["n"])
        store.add(batch, hashes(list(range(at, at + 700))), np.full(700, NEVER))
        segments.append(len(store._segments))
    assert 500_000 < sum(copied) <= 1_120_000
    assert max(segments) < 40


def test_wide_rows_do_not_become_huge_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no column has more bytes than Arrow can count, and no copy takes long."""
    monkeypatch.setattr(keyed_rows, "_BYTES", 1 << 20)
    store = KeyedRows()
    for at in range(300):
        batch = pa.RecordBatch.from_arrays([pa.array([b"x" * 50_000])], ["n"])
        store.add(batch, hashes([at]), np.array([NEVER]))
    assert max(segment.rows.nbytes for segment in store._segments) < 2 << 20
    assert len(store._segments) < 40


def test_numbers_begin_anew_before_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed_rows, "LAST", 3000)
    model = Model(5, 50)
    for _ in range(60):
        model.add(int(model.random.integers(0, 200)))
        model.lose()
        model.end()
        model.check()
    assert model.number > 4500
    assert model.store._index.next <= 3000


def test_a_store_that_never_had_a_row() -> None:
    store = KeyedRows()
    store.add(pa.RecordBatch.from_arrays([pa.array([], pa.int64())], ["n"]), hashes([]), np.array([], np.int64))
    store.saved()
    assert (store.count, list(store.end(8)), list(store.held()), store.unsaved()) == (0, [], [], [])
    assert list(store.find(hashes([1, 2]))) == []
