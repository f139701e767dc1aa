"""When two answers are the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any


def same(rows: Sequence[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    """Rows that are equal iff Spark's are: NaN is NaN, -0.0 is not 0.0, sums of doubles to twelve digits.

    The order inside an array does not count: where Spark pins one, the tests of the function do.
    """
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    if isinstance(value, list):
        return tuple(sorted((_plain(part) for part in value), key=repr))
    if isinstance(value, dict):
        return tuple(sorted(((_plain(key), _plain(part)) for key, part in value.items()), key=repr))
    return bytes(value) if isinstance(value, bytearray) else value
