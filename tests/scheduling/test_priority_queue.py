"""Operators by priority: order, grain, and a clock that jumps."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_node import context

from headway.scheduling.contexts import EARLIEST
from headway.scheduling.queue import PriorityQueue


def run(queue: PriorityQueue, now: float, cost: float, again: float | None = None, query: str = "query") -> object:
    """One run: of whom; with `again`, it has another message of that priority."""
    operator = queue.pop(now)
    if again is not None:
        queue.push(operator, context(again, query), 0, now + cost, 0)
    queue.done(operator, now + cost)
    return operator


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 100) | st.just(inf)), max_size=40))
def test_the_lowest_priority_of_those_that_wait_comes_first(pushes: list[tuple[int, float]]) -> None:
    queue = PriorityQueue(grain=0.0, patience=inf, floods=False)
    expected: dict[int, tuple[float, int]] = {}
    for number, (operator, priority) in enumerate(pushes):
        queue.push(operator, context(priority), number, 0.0)
        expected[operator] = (priority, number)
    order = [run(queue, float(n), 1.0) for n in range(len(expected))]
    assert order == sorted(expected, key=lambda operator: expected[operator])


def test_equal_priorities_come_in_the_order_of_their_pushes() -> None:
    queue = PriorityQueue()
    for operator in "cab":
        queue.push(operator, context(5.0), 0, 0.0)
    assert [queue.pop(0.0) for _ in "cab"] == ["c", "a", "b"]


@pytest.mark.parametrize(("priority", "first"), [(1.0, "b"), (9.0, "a")])
def test_a_push_of_one_that_waits_changes_its_priority(priority: float, first: str) -> None:
    queue = PriorityQueue()
    queue.push("a", context(3.0), 1, 0.0)
    queue.push("b", context(5.0), 2, 0.0)
    queue.push("b", context(priority), 3, 0.0)
    assert len(queue) == 2
    assert queue.pop(0.0) == first


def test_an_operator_goes_on_until_its_turn_has_taken_the_grain() -> None:
    queue = PriorityQueue(grain=0.010)
    queue.push("a", context(5.0), 0, 0.0)
    assert run(queue, 0.000, 0.004, again=5.0) == "a"
    queue.push("urgent", context(1.0), 0, 0.004)
    assert run(queue, 0.004, 0.004, again=5.0) == "a"
    assert run(queue, 0.008, 0.004, again=5.0) == "a"
    assert run(queue, 0.012, 0.004) == "urgent"
    assert run(queue, 0.016, 0.004) == "a"


@pytest.mark.parametrize(
    ("target", "other", "runs"), [(64.0, 4.5, 100), (64.0, 3.5, 1), (0.128, 5.0, 3), (inf, 5.0, 100)]
)
def test_who_runs_goes_on_if_nobody_is_more_urgent_by_much(target: float, other: float, runs: int) -> None:
    queue = PriorityQueue(steady=1 / 64)
    mine = context(5.0)._replace(latency=target)
    queue.push("a", mine, 0, 0.0)
    assert queue.pop(0.0) == "a"
    queue.push("b", context(other, "another"), 0, 0.0)
    had = 1
    while True:
        queue.push("a", mine, 0, 0.001 * had, 0)
        queue.done("a", 0.001 * had)
        if queue.pop(0.001 * had) == "b":
            break
        had += 1
    assert had == runs


@pytest.mark.parametrize(("priority", "target"), [(5000.0, 7200.0), (inf, inf)])
def test_a_turn_goes_on_after_who_is_more_urgent_by_much(priority: float, target: float) -> None:
    queue = PriorityQueue(steady=1 / 64)
    bulk = context(priority, "bulk")._replace(latency=target)
    for operator in "ab":
        queue.push(operator, bulk, 0, 0.0)
    ran = []
    for now in (0.0, 0.001, 0.002, 0.003):
        if now == 0.001:
            queue.push("urgent", context(1.0), 0, now)
        ran.append(operator := queue.pop(now))
        if operator != "urgent":
            queue.push(operator, bulk, 0, now + 0.001, 0)
        queue.done(operator, now + 0.001)
    assert ran == ["a", "urgent", "a", "a"]


def test_the_most_urgent_begins_another_turn_after_the_grain() -> None:
    queue = PriorityQueue(grain=0.010)
    queue.push("a", context(1.0), 0, 0.0)
    queue.push("b", context(5.0), 0, 0.0)
    assert [run(queue, n * 0.006, 0.006, again=1.0) for n in range(5)] == ["a"] * 5


def test_an_operator_without_more_to_do_ends_its_turn() -> None:
    queue = PriorityQueue(grain=1.0)
    queue.push("a", context(1.0), 0, 0.0)
    queue.push("b", context(5.0), 0, 0.0)
    assert [run(queue, 0.0, 0.001), run(queue, 0.001, 0.001)] == ["a", "b"]


def test_without_a_grain_the_most_urgent_runs_after_every_message() -> None:
    queue = PriorityQueue(grain=0.0)
    queue.push("a", context(5.0), 0, 0.0)
    run(queue, 0.0, 0.0001, again=5.0)
    queue.push("urgent", context(1.0), 0, 0.0)
    assert queue.pop(0.0001) == "urgent"


def test_each_worker_has_its_own_turn() -> None:
    queue = PriorityQueue(grain=1.0, workers=2)
    queue.push("a", context(1.0), 0, 0.0)
    queue.push("b", context(2.0), 0, 0.0)
    assert [queue.pop(0.0, worker=0), queue.pop(0.0, worker=1)] == ["a", "b"]
    for worker, operator in enumerate("ab"):
        queue.push(operator, context(9.0 - worker), 0, 0.1, worker)
        queue.done(operator, 0.1, worker)
    queue.push("urgent", context(0.0), 0, 0.1)
    assert [queue.pop(0.1, worker=1), queue.pop(0.1, worker=0)] == ["b", "a"]


def test_a_clock_that_goes_back_ends_a_turn() -> None:
    queue = PriorityQueue(grain=1.0)
    queue.push("a", context(5000.0), 0, 4000.0)
    run(queue, 4000.0, 0.001, again=5000.0)
    queue.push("urgent", context(1.0), 0, 400.0)
    assert queue.pop(400.0) == "urgent"


def test_what_has_no_context_goes_first_however_much_its_query_had() -> None:
    queue = PriorityQueue(patience=inf)
    queue.push("flood", EARLIEST, 0, 0.0)
    for n in range(30):
        queue.push("other", context(100.0, "other"), 0, n * 0.1)
        assert queue.pop(n * 0.1) == "flood"
        queue.push("flood", EARLIEST, 0, (n + 1) * 0.1)
        queue.done("flood", (n + 1) * 0.1)


def test_entries_that_were_replaced_do_not_pile_up() -> None:
    queue = PriorityQueue()
    queue.push("first", context(-1.0), 0, 0.0)
    for n in range(10_000):
        queue.push("a", context(float(n)), 0, 0.0)
        queue.push("b", context(float(n)), 0, 0.0)
        assert queue.pop(0.0) == "first"
        queue.push("first", context(-1.0), 0, 0.0)
        queue.done("first", 0.0)
    assert len(queue._heap) < 200


def test_bulk_operators_that_wait_for_each_other_do_not_starve() -> None:
    """Those with hours have ten times the patience of those with seconds."""
    for target, starves in ((7200.0, 11.0), (30.0, 2.0)):
        queue = PriorityQueue(steady=1 / 64)
        queue.push("waits", context(9000.0, "waits")._replace(latency=target), 0, 0.0)
        queue.push("runs", context(5.0, "runs"), 0, 0.0)
        now = 0.0
        while (operator := queue.pop(now)) == "runs":
            now += 0.5
            queue.push("runs", context(5.0, "runs"), 0, now)
            queue.done("runs", now)
        assert operator == "waits"
        assert starves - 1.0 <= now <= starves
