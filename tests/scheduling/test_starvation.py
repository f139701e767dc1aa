"""Nobody starves: the bound that the queue states, and what it costs the urgent."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_node import VirtualNode, always_busy, context, due

from headway.scheduling.queue import SHARE, PriorityQueue


def bound(patience: float, before: int, longest: float, share: float) -> float:
    return patience + (before + 1) * longest * (2 + 1 / share)


@settings(max_examples=50, deadline=None)
@given(
    operators=st.lists(st.tuples(st.floats(0.005, 0.02), st.floats(0.0, 5.0) | st.just(inf)), min_size=2, max_size=5),
    bursts=st.lists(st.tuples(st.floats(0, 3), st.floats(0.001, 0.02), st.floats(-1, 3)), max_size=6),
    patience=st.floats(0.01, 0.5),
    share=st.floats(0.1, 0.5),
    workers=st.integers(1, 3),
    floods=st.booleans(),
)
def test_an_operator_waits_no_longer_than_the_bound(
    operators: list[tuple[float, float]],
    bursts: list[tuple[float, float, float]],
    patience: float,
    share: float,
    workers: int,
    floods: bool,
) -> None:
    node = VirtualNode(PriorityQueue(0.001, patience, share, floods, workers), workers)
    for n, (cost, latency) in enumerate(operators):
        always_busy(node, n, cost, due(n, latency))
    for n, (at, cost, priority) in enumerate(bursts):
        node.send_at(at, f"burst {n}", context(at + priority, "burst", 1.0, at), cost)
    node.run(until=4.0)
    longest = max(run.ended - run.began for run in node.runs)
    most = bound(patience, len(operators) + len(bursts) - 1, longest, share)
    assert max(node.longest_wait(run.operator) for run in node.runs) <= most
    assert {run.operator for run in node.runs} >= set(range(len(operators))) or most > 4.0


def crowd(queue: PriorityQueue, bulk: float, urgent: float, seconds: float = 60.0) -> VirtualNode:
    """Two urgent queries that want all the time, and a bulk query with runs of `bulk` seconds."""
    node = VirtualNode(queue)
    for name in ("urgent 1", "urgent 2"):
        always_busy(node, name, urgent, due(name, 0.8))
    always_busy(node, "bulk", bulk, due("bulk", inf))
    node.run(until=seconds)
    return node


@pytest.mark.parametrize(("bulk", "urgent"), [(0.001, 0.001), (0.0001, 0.005), (0.02, 0.001), (0.005, 0.1)])
def test_bulk_work_gets_about_the_share_and_the_urgent_lose_no_more(bulk: float, urgent: float) -> None:
    node = crowd(PriorityQueue(), bulk, urgent)
    part = node.time_of("bulk") / node.time_of("urgent 1", "urgent 2")
    assert 0.9 * SHARE < part <= SHARE * 1.01


def test_with_infinite_patience_bulk_work_starves() -> None:
    assert crowd(PriorityQueue(patience=inf), 0.001, 0.001, 10.0).time_of("bulk") == 0


def test_bulk_work_takes_no_more_than_a_grain_and_a_run_at_once() -> None:
    node = crowd(PriorityQueue(grain=0.001), 0.0004, 0.001, 20.0)
    at_once = longest = 0.0
    for run in node.runs:
        at_once = at_once + run.ended - run.began if run.operator == "bulk" else 0.0
        longest = max(longest, at_once)
    assert 0.0 < longest <= 0.001 + 0.0004 + 1e-9


def test_bulk_work_that_is_alone_takes_everything() -> None:
    node = VirtualNode(PriorityQueue())
    always_busy(node, "bulk", 0.01, due("bulk", inf))
    node.run(until=10.0)
    assert node.time_of("bulk") == pytest.approx(10.0, abs=0.02)


def test_those_that_starve_take_turns() -> None:
    node = VirtualNode(PriorityQueue())
    always_busy(node, "urgent", 0.001, due("urgent", inf, after=0.0))
    for n in range(4):
        always_busy(node, n, 0.001, due(n, inf))
    node.run(until=60.0)
    times = [node.time_of(n) for n in range(4)]
    assert max(times) - min(times) <= 0.0021
    assert sum(times) > 2.0


def steps_until_served(queue: PriorityQueue, now: float) -> int:
    """Runs of 10 ms of the urgent operator until the bulk operator runs."""
    for steps in range(10_000):
        operator = queue.pop(now)
        if operator == "bulk":
            return steps
        now += 0.01
        queue.push(operator, context(-1e9, "urgent", inf), 0, now, 0)
        queue.done(operator, now)
    raise AssertionError("it starves")


@pytest.mark.parametrize("jump", [-1e6, -5.0, 0.0, 5.0, 1e6])
def test_a_jump_of_the_clock_between_runs_does_not_let_it_starve(jump: float) -> None:
    queue = PriorityQueue()
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 2e6)
    queue.push("bulk", context(inf, "bulk", inf), 0, 2e6)
    assert queue.pop(2e6) == "urgent"
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 2e6 + 0.01)
    queue.done("urgent", 2e6 + 0.01)
    assert steps_until_served(queue, 2e6 + 0.01 + jump) <= 102


@pytest.mark.parametrize("jump", [-1e6, 1e6])
def test_a_jump_of_the_clock_in_a_run_out_of_turn_does_not_use_up_the_share_for_long(jump: float) -> None:
    queue = PriorityQueue()
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 2e6)
    queue.push("bulk", context(inf, "bulk", inf), 0, 2e6 - 10)
    assert queue.pop(2e6) == "urgent"
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 2e6 + 0.01)
    queue.done("urgent", 2e6 + 0.01)
    assert queue.pop(2e6 + 0.01) == "bulk"
    queue.push("bulk", context(inf, "bulk", inf), 0, 2e6 + jump)
    queue.done("bulk", 2e6 + jump)
    assert steps_until_served(queue, 2e6 + jump) * 0.01 <= 1.0 / SHARE + 0.1


def test_a_jump_forward_in_a_run_in_turn_does_not_pay_for_hours_of_bulk_work() -> None:
    queue = PriorityQueue()
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 0.0)
    queue.push("bulk", context(inf, "bulk", inf), 0, 0.0)
    queue.pop(0.0)
    queue.push("urgent", context(-1e9, "urgent", inf), 0, 3600.0)
    queue.done("urgent", 3600.0)
    now, in_a_row = 3600.0, 0
    while queue.pop(now) == "bulk":
        now, in_a_row = now + 0.01, in_a_row + 1
        queue.push("bulk", context(inf, "bulk", inf), 0, now, 0)
        queue.done("bulk", now)
    assert in_a_row <= 6
