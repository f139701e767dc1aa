"""The index of rows by hash, against a plain dict of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.kernels.hash_index import Hashes, HashIndex

SPREAD = np.uint64(0x9E3779B97F4A7C15)
LINE = 7, 16
"""The bits of a hash that choose one of the first lines; those of the tag begin after them."""


def spread(keys: np.ndarray[tuple[int], np.dtype[np.int64]] | range | list[int]) -> Hashes:
    """Hashes of which all bits depend on the key."""
    mixed = np.array(keys, np.uint64) * SPREAD
    mixed ^= mixed >> np.uint64(29)
    mixed *= SPREAD
    return mixed ^ (mixed >> np.uint64(32))


class Model:
    """An index, and the hash of every row that should be found."""

    def __init__(self) -> None:
        self.index = HashIndex()
        self.rows: dict[int, int] = {}

    def add(self, hashes: Hashes) -> None:
        start = self.index.add(hashes)
        self.rows.update(zip(range(start, start + len(hashes)), hashes.tolist(), strict=True))

    def lose(self, numbers: list[int]) -> None:
        self.index.lose(np.array(numbers, np.int64))
        for number in numbers:
            del self.rows[number]

    def forget(self, count: int) -> None:
        """Up to so many of the earliest rows."""
        before = min(self.index.first + count, self.index.next)
        self.lose([number for number in range(self.index.first, before) if number in self.rows])
        self.index.forget(before)

    def check(self, hashes: Hashes) -> None:
        asked, numbers = self.index.find(hashes)
        by_hash: dict[int, list[int]] = {}
        for number, hash in self.rows.items():
            by_hash.setdefault(hash, []).append(number)
        expected = [(at, number) for at, hash in enumerate(hashes.tolist()) for number in by_hash.get(hash, ())]
        assert sorted(zip(asked.tolist(), numbers.tolist(), strict=True)) == sorted(expected)
        assert self.index.count == len(self.rows)
        assert self.index._lists == np.count_nonzero(self.index._slots.array[: 8 * self.index._lines])
        held = np.array(sorted(self.rows), np.int64)
        assert self.index.hashes(held).tolist() == [self.rows[number] for number in held.tolist()]


STEPS = st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 4000), st.integers(0, 3500)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 2**32), st.sampled_from([3, 1000, 10**9]))
def test_what_is_held_is_found(steps: list[tuple[int, int, int]], seed: int, keys: int) -> None:
    """Whether there are few keys or many, while rows are lost, and the first are forgotten."""
    random, model = np.random.default_rng(seed), Model()
    for added, _, forgotten in steps:
        model.add(spread(random.integers(0, keys, added)))
        model.check(spread(random.integers(0, keys, 5)))
        model.lose(random.permutation(list(model.rows))[: len(model.rows) // 4].tolist())
        asked = random.choice(list(model.rows), 5)
        model.check(np.array([model.rows[number] for number in asked], np.uint64))
        model.forget(forgotten)
        model.check(spread(random.integers(0, keys, 5)))


def test_thousands_of_rows_of_one_hash() -> None:
    model, others = Model(), spread(range(20000))
    for at in range(0, 20000, 1000):
        model.add(np.full(700, 7, np.uint64))
        model.add(others[at : at + 1000])
        model.check(np.array([7, 8, others[at], 7], np.uint64))
    model.forget(20000)
    model.check(np.array([7, others[15000]], np.uint64))


def in_one_line(rows: int) -> Hashes:
    """Hashes that begin in one line, with all kinds of tags."""
    hashes = spread(range(rows))
    return hashes & ~np.uint64((1 << LINE[1]) - (1 << LINE[0]))


def test_a_line_with_more_hashes_than_slots() -> None:
    model, crowd = Model(), in_one_line(100)
    model.add(crowd)
    model.add(crowd[-8:])
    model.check(crowd)
    model.lose([*range(20, 60), *range(95, 108)])
    model.check(crowd)
    model.check(crowd)
    model.lose([70, 80])
    # Now the line is split, and its halves are.
    for at in range(0, 40000, 4000):
        model.add(spread(range(at + 1000, at + 5000)))
        model.add(crowd[::7].copy())
        model.check(crowd)
    model.forget(3000)
    model.check(crowd)


def test_few_lists_are_mixed_even_if_all_rows_come_at_once() -> None:
    index = HashIndex()
    index.add(spread(range(100_000)))
    slots = index._slots.array[: 8 * index._lines]
    assert np.count_nonzero(slots & 1) < 0.01 * np.count_nonzero(slots)


def test_a_row_that_is_lost_leaves_its_list_when_it_is_searched() -> None:
    """Else many that are lost would be looked at again and again: it is not found even if it were not marked."""
    model = Model()
    model.add(np.full(10, 7, np.uint64))
    lost = [1, 4, 5, 10]
    model.lose(lost)
    model.check(np.array([7], np.uint64))
    for number in lost:
        model.index._entries.array[2 * number + 1] = 0
    model.check(np.array([7], np.uint64))


def test_a_row_is_lost_once() -> None:
    model = Model()
    model.add(spread(range(10)))
    model.lose([3, 4])
    model.index.lose(np.array([4, 3, 4]))
    model.check(spread(range(10)))


def test_hashes_that_differ_where_neither_line_nor_tag_does() -> None:
    low, high = np.uint64(1), np.uint64(1 << 60)
    hashes = spread([5]) & ~low & ~high
    alike = np.concatenate([hashes, hashes | low, hashes | high, hashes | low | high])
    model = Model()
    for _ in range(3):
        model.add(alike)
    model.check(alike)
    model.lose([2, 5, 6])
    model.check(alike)


@pytest.mark.parametrize("held", [100, 1500, 30000])
def test_rows_that_come_and_go_take_no_more_memory(held: int) -> None:
    """Numbers go round the ring many times; every key is a new one."""
    model, most = Model(), []
    for at in range(0, 40 * held, held // 4):
        model.add(spread(range(at, at + held // 4)))
        model.forget(max(0, len(model.rows) - held))
        most.append(model.index.bytes)
    model.check(spread(range(39 * held, 40 * held)))
    assert max(most[len(most) // 2 :]) <= max(most[: len(most) // 2])
    assert max(most) <= 70 * held + 70000


@pytest.mark.parametrize("forgotten", [0, 500, 1000, 1500, 2500])
def test_the_ring_grows_wherever_its_rows_are(forgotten: int) -> None:
    model = Model()
    for at in range(0, 3000, 500):
        model.add(spread(range(at, at + 500)))
        model.forget(max(0, min(forgotten - model.index.first + 1, 500)))
    for at in range(3000, 20000, 4000):
        model.add(spread(range(at, at + 4000)))
        model.check(spread(range(at + 4000)))


def test_memory_goes_back_with_the_rows() -> None:
    model = Model()
    model.add(spread(range(200_000)))
    large = model.index.bytes
    model.forget(199_900)
    assert model.index.bytes < large / 20
    model.check(spread(range(199_800, 200_000)))


def test_memory_grows_while_somebody_looks_at_it() -> None:
    model = Model()
    model.add(spread(range(500)))
    entries, slots = model.index._entries.array, model.index._slots.array
    model.add(spread(range(500, 20000)))
    assert entries[3] == model.index._entries.array[3]
    assert len(slots) < len(model.index._slots.array)
    model.check(spread(range(0, 20000, 17)))


def test_no_batch_splits_more_lines_than_it_has_rows() -> None:
    index, lines = HashIndex(), []
    for at in range(0, 60000, 300):
        index.add(spread(range(at, at + 300)))
        lines.append(index._lines)
    assert lines[-1] > 20000
    assert max(np.diff(lines)) < 300


def test_nothing_is_asked_or_added() -> None:
    index, none = HashIndex(), np.empty(0, np.uint64)
    index.add(none)
    assert [part.tolist() for part in index.find(none)] == [[], []]
    index.add(spread([1]))
    index.forget(2)
    assert [part.tolist() for part in index.find(spread([1]))] == [[], []]
    assert index.first == index.next
