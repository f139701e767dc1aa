"""The distinct values of groups of lists, beside the same by Python's dictionaries."""

from __future__ import annotations

import numpy as np
import pytest

from headway.kernels.distinct import each_once, first_of_each


def _expected(lists: list[list[int]], groups: list[int], count: int) -> list[list[int]]:
    found: list[dict[int, None]] = [{} for _ in range(count)]
    for values, group in zip(lists, groups, strict=True):
        found[group].update(dict.fromkeys(values))
    return [list(one) for one in found]


def _found(lists: list[list[int]], groups: list[int], count: int) -> list[list[int]]:
    values = np.array([value for one in lists for value in one], np.int64)
    offsets = np.cumsum([0, *map(len, lists)])
    firsts = np.array([groups.index(group) for group in range(count)], np.int64)
    ends, where = each_once(values, offsets, np.array(groups, np.int64), firsts)
    return [values[where[ends[i] : ends[i + 1]]].tolist() for i in range(count)]


@pytest.mark.parametrize("seed", range(20))
def test_each_value_once_where_it_came_first(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 6))
    rest = random.integers(0, count, 40).tolist()
    groups = [*random.permutation(count).tolist(), *rest]
    span = int(random.choice([3, 50, 2**62]))
    lists = [list(dict.fromkeys(random.integers(-span, span, random.integers(0, 30)).tolist())) for _ in groups]
    assert _found(lists, groups, count) == _expected(lists, groups, count)


def test_nothing() -> None:
    assert _found([[], []], [0, 1], 2) == [[], []]
    assert _found([], [], 0) == []


@pytest.mark.parametrize("seed", range(10))
def test_single_values(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 6))
    span = int(random.choice([3, 50, 2**62]))
    values, groups = random.integers(-span, span, 200), random.integers(0, count, 200)
    ends, where = first_of_each(values, groups, count)
    found = [values[where[ends[i] : ends[i + 1]]].tolist() for i in range(count)]
    assert found == _expected([[value] for value in values.tolist()], groups.tolist(), count)
