"""Comparing what a run wrote with the exact answer, when the run was cut at some moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from math import isclose
from typing import Any

Answer = Mapping[tuple[int, Any], Any]
"""(window start in microseconds, key) to the result."""


def whole_until(answer: Answer, expected: Answer, window_us: int) -> int:
    """The end of the newest window of which all groups are there; 0 if there is none."""
    wanted: dict[int, int] = defaultdict(int)
    for start, _ in expected:
        wanted[start] += 1
    for start, _ in answer:
        wanted[start] -= 1
    whole = [start for start, missing in wanted.items() if missing == 0]
    return max(whole) + window_us if whole else 0


def agrees(answer: Answer, expected: Answer, window_us: int) -> bool:
    """Whether all results are right, and none is missing up to the newest window that is complete.

    Nodes that lag write a window's groups at different times, so that windows may be half written when a run is cut.
    """
    if not all(key in expected and same(result, expected[key]) for key, result in answer.items()):
        return False
    until = whole_until(answer, expected, window_us)
    return all(key in answer for key in expected if key[0] + window_us <= until)


def same(one: Any, other: Any) -> bool:
    """Equal; means and sums of fractions but for the order of additions."""
    if isinstance(one, tuple):
        return isinstance(other, tuple) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(one == other)


def right(answer: Answer, once: bool, exact: Callable[[int], Answer], window_us: int) -> bool:
    """Whether there are results, every key came once, and all agree with what `exact` says up to the newest window."""
    if not answer or not once:
        return False
    return agrees(answer, exact(max(start for start, _ in answer) + window_us), window_us)
