"""A run queue of operators, with turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from virtual_node import context

from headway.scheduling import Fifo


@given(st.permutations(range(20)))
def test_operators_run_in_the_order_in_which_they_had_something_to_do(order: list[int]) -> None:
    queue = Fifo().queue()
    for arrival in order:
        queue.push(arrival, context(-float(arrival)), arrival, 0.0)
    assert [queue.pop(1.0) for _ in range(21)] == [*order, None]


def test_one_that_waits_keeps_its_place_when_it_is_pushed_again() -> None:
    queue = Fifo().queue()
    for operator in ("a", "b", "a"):
        queue.push(operator, context(0.0), 0, 0.0)
    assert [queue.pop(0.0), queue.pop(0.0), queue.pop(0.0)] == ["a", "b", None]


def test_an_operator_takes_its_messages_until_its_turn_has_taken_the_quantum() -> None:
    queue, order = Fifo(quantum=0.1).queue(), []
    queue.push("a", context(0.0), 0, 0.0)
    queue.push("b", context(0.0), 0, 0.0)
    for n in range(6):
        operator = queue.pop(n * 0.04)
        order.append(operator)
        queue.push(operator, context(0.0), 0, n * 0.04, 0)
        queue.done(operator, (n + 1) * 0.04)
    assert order == ["a", "a", "a", "b", "b", "b"]


def test_urgency_does_not_count() -> None:
    queue = Fifo().queue()
    queue.push("first", context(9.0), 0, 0.0)
    queue.push("urgent", context(-9.0), 1, 0.0)
    assert queue.pop(0.0) == "first"
