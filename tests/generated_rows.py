"""Rows that Hypothesis makes up, many at once, so that Spark can judge them in one job."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def generated(rows: st.SearchStrategy[tuple[Any, ...]], examples: int = 100) -> list[tuple[Any, ...]]:
    """Rows that Hypothesis makes up, all at once: each is judged by itself, and is as small as it can be."""
    found: list[tuple[Any, ...]] = []

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(rows, max_size=20))
    def collect(some: list[tuple[Any, ...]]) -> None:
        found.extend(some)

    collect()
    return found
