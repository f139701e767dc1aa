"""How alike two texts are, by Jaro and Winkler: letters that match near the same place, and a common beginning."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headway.dataflow.expr import Call
from headway.kernels.expressions.registry import evaluates
from headway.kernels.expressions.rowwise import per_row

_PREFIX = 4
_WEIGHT = 0.1


@evaluates("JaroWinkler")
def _jaro_winkler(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return per_row(similarity, args, pa.float64())


def similarity(one: str, other: str) -> float:
    """From 0 to 1.

    >>> round(similarity("MARTHA", "MARHTA"), 4)
    0.9611
    """
    left, right = _units(one), _units(other)
    if not left or not right:
        return float(left == right)
    mine, theirs = _matches(left, right)
    if not mine:
        return 0.0
    found = len(mine)
    moved = sum(left[i] != right[j] for i, j in zip(mine, sorted(theirs), strict=True))
    jaro = (found / len(left) + found / len(right) + (found - moved / 2.0) / found) / 3.0
    same = 0
    while same < min(_PREFIX, len(left), len(right)) and left[same] == right[same]:
        same += 1
    return jaro + same * _WEIGHT * (1.0 - jaro)


def _matches(left: Sequence[int], right: Sequence[int]) -> tuple[list[int], set[int]]:
    """The places in both texts of letters that match, each with the first that is free and near enough."""
    reach = max(0, max(len(left), len(right)) // 2 - 1)
    mine: list[int] = []
    theirs: set[int] = set()
    for i, letter in enumerate(left):
        near = range(max(0, i - reach), min(i + reach + 1, len(right)))
        match = next((j for j in near if j not in theirs and right[j] == letter), None)
        if match is not None:
            mine.append(i)
            theirs.add(match)
    return mine, theirs


def _units(text: str) -> Sequence[int]:
    """The letters that Java counts."""
    return memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H").tolist()
