"""A query that floods takes nothing from those who keep within their means."""

from __future__ import annotations

from math import inf

import pytest
from virtual_node import VirtualNode, always_busy, context, due

from headway.scheduling.queue import PriorityQueue

TARGET = 0.1


def flood(node: VirtualNode, name: str, operators: int, cost: float, seconds: float, rate: float) -> None:
    """Messages come `rate` times faster than one worker could run them, to each operator of the query in turn."""
    for n in range(round(seconds * rate / cost)):
        at = n * cost / rate
        node.send_at(at, f"{name} {n % operators}", context(at + TARGET - cost, name, TARGET, at), cost)


def tenant(node: VirtualNode, seconds: float, every: float, cost: float, target: float = TARGET) -> None:
    for n in range(round(seconds / every)):
        at = n * every
        node.send_at(at, "tenant", context(at + target - cost, "tenant", target, at), cost)


RUN = 0.004


def late(
    flooders: int,
    floods: bool = True,
    target: float = TARGET,
    operators: int = 1,
    workers: int = 1,
    since: float = 0.0,
) -> float:
    """The part of the tenant's messages, which take 2 % of the time, that are late by more than a run: who must start
    has to wait for the end of the run that he finds."""
    node = VirtualNode(PriorityQueue(floods=floods, workers=workers), workers)
    for n in range(flooders):
        flood(node, f"flood {n}", operators, RUN, 20.0, 2.0 * workers / flooders)
    tenant(node, 20.0, 0.05, 0.001, target)
    node.run(until=20.0)
    runs = [run for run in node.runs if run.operator == "tenant" and run.message.context.t >= since]
    assert len(runs) > 100
    return sum(run.ended > run.message.context.t + target + RUN for run in runs) / len(runs)


@pytest.mark.parametrize("target", [0.02, 0.1, 0.5, 2.0])
@pytest.mark.parametrize("operators", [1, 4])
def test_a_tenant_within_its_means_misses_nothing(target: float, operators: int) -> None:
    assert late(1, target=target, operators=operators) == 0


@pytest.mark.parametrize(("flooders", "operators", "workers"), [(2, 1, 1), (3, 2, 1), (8, 1, 1), (3, 3, 2)])
def test_nor_does_it_where_several_flood_once_they_have_had_their_parts(
    flooders: int, operators: int, workers: int
) -> None:
    assert late(flooders, operators=operators, workers=workers, since=2.0) == 0
    assert late(flooders, operators=operators, workers=workers) <= 0.01


def test_without_the_rule_it_would_miss_nearly_all() -> None:
    assert late(1, floods=False) > 0.9


def test_a_flood_has_what_the_others_leave() -> None:
    node = VirtualNode(PriorityQueue())
    flood(node, "flood", 1, 0.004, 10.0, 2.0)
    tenant(node, 10.0, 0.05, 0.001)
    node.run(until=10.0)
    assert node.time_of("flood 0") == pytest.approx(10.0 - 0.2, abs=0.02)


def test_a_flood_that_is_alone_keeps_its_order() -> None:
    queue = PriorityQueue(grain=0.0, patience=inf)
    for n in range(50):
        queue.push("a", context(-2.0, "flood"), 0, n * 0.1)
        queue.push("b", context(-1.0, "flood"), 0, n * 0.1)
        assert queue.pop(n * 0.1) == "a"
        queue.done("a", n * 0.1 + 0.1)


def used(query: str, seconds: float) -> PriorityQueue:
    """A queue in which the query alone ran, until time 100."""
    queue = PriorityQueue()
    queue.push(query, context(1e9, query), 0, 100.0 - seconds)
    queue.pop(100.0 - seconds)
    queue.done(query, 100.0)
    return queue


@pytest.mark.parametrize(("seconds", "first"), [(0.9, "on time"), (0.09, "overdue")])
def test_the_overdue_go_first_unless_their_query_had_more_than_its_part(seconds: float, first: str) -> None:
    queue = used("overdue", seconds)
    queue.push("overdue", context(99.0, "overdue"), 0, 100.0)
    queue.push("on time", context(100.5, "on time"), 0, 100.0)
    assert queue.pop(100.0) == first


def test_after_a_pause_a_bit_late_goes_first_again() -> None:
    queue = used("overdue", 0.9)
    queue.push("overdue", context(102.5, "overdue"), 0, 103.0)
    queue.push("on time", context(103.5, "on time"), 0, 103.0)
    assert queue.pop(103.0) == "overdue"


def test_one_that_became_overdue_while_it_waited_is_set_back_too() -> None:
    queue = used("flood", 0.9)
    queue.push("flood", context(100.1, "flood"), 0, 100.0)
    queue.push("on time", context(100.5, "on time"), 0, 100.0)
    assert queue.pop(100.2) == "on time"


def test_bulk_work_gains_nothing_from_an_urgent_query_that_floods() -> None:
    queue = used("urgent", 0.9)
    queue.push("bulk", context(7300.0, "bulk", 7200.0), 0, 100.0)
    queue.push("urgent", context(99.0, "urgent"), 0, 100.0)
    assert queue.pop(100.0) == "urgent"


def test_one_that_is_set_back_is_not_set_back_again_by_what_comes_to_it() -> None:
    queue = used("flood", 0.9)
    queue.push("flood", context(99.0, "flood"), 0, 100.0)
    for n in range(1, 4):
        queue.push("on time", context(100.5, "on time"), 0, 100.0)
        assert queue.pop(100.0, worker=n) == "on time"
        queue.push("flood", context(99.0, "flood"), 0, 100.0 + n * 0.1)
    queue.push("later", context(101.2, "later"), 0, 100.4)
    assert queue.pop(100.4) == "flood"  # due at 101, a target after it was first set back


def test_a_jump_of_the_clock_in_a_run_is_forgotten_soon() -> None:
    queue = used("jumped", 90.0)
    queue.push("jumped", context(102.0, "jumped"), 0, 103.0)
    queue.push("on time", context(103.5, "on time"), 0, 103.0)
    assert queue.pop(103.0) == "jumped"


def test_two_that_flood_share_the_time() -> None:
    node = VirtualNode(PriorityQueue())
    for name in ("a", "b"):
        always_busy(node, name, 0.002, due(name, 0.1, after=-1.0))
    node.run(until=20.0)
    assert node.time_of("a") == pytest.approx(node.time_of("b"), rel=0.1)
