"""Arrival order of messages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from virtual_node import context

from headway.scheduling import Arrival


@given(st.permutations(range(20)))
def test_the_operator_whose_next_message_came_first_runs_first(order: list[int]) -> None:
    queue = Arrival().queue()
    for arrival in order:
        queue.push(f"operator {arrival}", context(-float(arrival)), arrival, 0.0)
    assert [queue.pop(1.0) for _ in range(21)] == [*(f"operator {n}" for n in range(20)), None]


def test_an_operator_has_no_turn() -> None:
    queue = Arrival().queue()
    queue.push("a", context(0.0), 1, 0.0)
    queue.push("b", context(0.0), 2, 0.0)
    queue.pop(0.0)
    queue.push("a", context(0.0), 3, 0.0, 0)
    queue.done("a", 0.0)
    assert queue.pop(0.0) == "b"
