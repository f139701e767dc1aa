"""State-based scheduling on a virtual clock: priorities, eligibility, turns and epochs."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling import Enjima, Flow, HighestRate, Lag, MinCost, MinLatency, Policy, Profile, Queue, RoundRobin
from headway.scheduling.contexts import EARLIEST
from headway.scheduling.enjima import weight
from headway.scheduling.state_queue import PERIOD


@dataclass(eq=False)
class Operator:
    name: str
    profile: Profile = field(default_factory=Profile)

    @property
    def flow(self) -> Flow:
        return self.profile.flow


def operator(name: str, **fields: Any) -> Operator:
    return Operator(name, Profile(flow=Flow(name, **fields)))


def push(queue: Queue, *operators: Operator, now: float = 0.0) -> None:
    """The first letter of its name is an operator's query."""
    for each in operators:
        queue.push(each, EARLIEST._replace(query=each.name[0]), 0, now)


def names(queue: Queue, runs: int, now: float = 0.0) -> list[str]:
    """Whoever runs; each is pushed again."""
    seen = []
    for _ in range(runs):
        chosen = queue.pop(now)
        assert chosen is not None
        seen.append(chosen.name)
        push(queue, chosen, now=now)
        queue.done(chosen, now)
    return seen


def test_the_lowest_output_cost_first() -> None:
    queue = Enjima().queue()
    push(queue, operator("dear", output_cost=0.2), operator("cheap", output_cost=0.1), operator("c", output_cost=0.3))
    assert [queue.pop(0.0, worker).name for worker in range(3)] == ["cheap", "dear", "c"]  # type: ignore[union-attr]


def test_a_query_that_falls_behind_is_preferred_by_a_tenth() -> None:
    behind = Lag()
    for step in range(50):
        behind.observe(step * 0.04, step * 0.02)
    assert (weight(behind), weight(Lag())) == (pytest.approx(1.1), 1.0)
    queue = Enjima().queue()
    push(queue, operator("steady", output_cost=0.1), operator("behind", output_cost=0.109, lag=behind))
    assert queue.pop(0.0).name == "behind"  # type: ignore[union-attr]


def source(name: str, backlog: int = 100_000, **fields: Any) -> Operator:
    return operator(name, backlog=lambda now: backlog, last=0.0, **fields)


@pytest.mark.parametrize("policy", [Enjima(), MinLatency(), HighestRate()])
def test_of_equals_the_deepest_in_its_query_goes_first(policy: Policy) -> None:
    queue = policy.queue()
    push(queue, operator("q0", output_cost=0.1), operator("q1", output_cost=0.1, place=1))
    assert queue.pop(0.0).name == "q1"  # type: ignore[union-attr]


def test_queries_in_rounds_each_until_it_has_nothing_more() -> None:
    queue = Enjima().queue()
    a = [source("a0", output_cost=0.1), operator("a1", output_cost=0.09, place=1)]
    b = [source("b0", output_cost=0.2), operator("b1", output_cost=0.01, place=1)]
    push(queue, a[0], b[0])
    seen = []
    for _ in range(9):
        chosen = queue.pop(0.001)
        assert chosen is not None
        seen.append(chosen.name)
        if chosen.flow.backlog is not None:  # there is always more, and it leads to something
            chosen.flow.took_at_once(10_000)
            push(queue, chosen, a[1] if chosen is a[0] else b[1], now=0.001)
        queue.done(chosen, 0.001)
    # At first the cheapest; when the second round begins, only sources have something.
    assert seen == ["a0", "a1", "b0", "b1", "a0", "a1", "b0", "b1", "a0"]


def test_what_a_run_has_left_elsewhere_goes_before_the_rest_of_the_turn() -> None:
    queue = Enjima(period=0.1).queue()
    first, chain = source("a0", output_cost=0.2, cost=1e-6), operator("a1", output_cost=0.1, last=0.0, pending=10)
    push(queue, first, operator("b0", output_cost=0.3))
    seen = []
    for run in range(6):
        chosen = queue.pop(0.001)
        assert chosen is not None
        seen.append(chosen.name)
        chosen.flow.took_at_once(200)
        if chosen is first and run < 4:
            push(queue, chosen)
        if run == 1:
            queue.push(chain, EARLIEST._replace(query="a"), 0, 0.0, worker=0)
        queue.done(chosen, 0.001)
    assert seen == ["a0", "a0", "a1", "a0", "a0", "b0"]


def test_the_order_of_queries_stays_for_a_while() -> None:
    queue, one, other = Enjima().queue(), source("a", output_cost=0.1), source("b", output_cost=0.2)
    push(queue, one, other)
    assert names(queue, 2) == ["a", "b"]
    other.flow.output_cost = 0.05
    assert names(queue, 2, now=0.9) == ["a", "b"]
    assert names(queue, 2, now=1.1) == ["b", "a"]


def test_no_query_keeps_the_others_waiting_for_ever() -> None:
    queue, seen = Enjima().queue(), []
    push(queue, operator("a", output_cost=0.1, pending=5000), operator("b", output_cost=0.2, pending=5000))
    for step in range(15):
        seen += names(queue, 1, now=step * 0.1)  # there is always more
    assert seen == ["a"] * 5 + ["b"] * 5 + ["a"] * 5


def test_no_turn_keeps_the_others_waiting_for_ever() -> None:
    queue, slow, seen = Enjima().queue(), operator("a", output_cost=0.1, cost=0.1, pending=5000), []
    push(queue, slow, operator("b", output_cost=0.2, pending=5000))
    for step in range(6):
        chosen = queue.pop(step * 0.1)
        assert chosen is not None
        seen.append(chosen.name)
        chosen.flow.took(1)
        push(queue, chosen)
        queue.done(chosen, step * 0.1)
    assert seen == ["a"] * 5 + ["b"]


def test_a_source_is_read_though_what_is_in_flight_never_ends() -> None:
    queue, seen = Enjima().queue(), []
    push(queue, source("a0", output_cost=0.3), operator("a1", output_cost=0.1, pending=5000))
    for step in range(12):
        seen += names(queue, 1, now=step * 0.1)
    assert seen == ["a1"] * 6 + ["a0"] + ["a1"] * 4 + ["a0"]


def test_an_idle_worker_keeps_nothing_of_queries_that_have_ended() -> None:
    queue, last = Enjima().queue(), source("a", output_cost=0.1)
    push(queue, last)
    assert queue.pop(0.0) is last
    queue.done(last, 0.0)
    gone = weakref.ref(last)
    del last
    assert queue.pop(1.0) is None
    assert gone() is None


def test_a_query_that_comes_later_waits_for_the_next_round() -> None:
    queue = Enjima().queue()
    push(queue, operator("a", output_cost=0.2), operator("b", output_cost=0.3))
    assert names(queue, 1) == ["a"]
    push(queue, operator("c", output_cost=0.1))
    assert [queue.pop(0.0).name for _ in range(3)] == ["a", "b", "c"]  # type: ignore[union-attr]


def test_whoever_is_in_flight_runs_at_once() -> None:
    queue, few = Enjima().queue(), operator("few", last=0.0, pending=3)
    push(queue, few)
    assert queue.pop(0.0001) is few


def test_marks_wait_for_nothing() -> None:
    queue, marks = Enjima().queue(), operator("marks", last=0.0)
    push(queue, marks)
    assert queue.pop(0.0001) is marks


@pytest.mark.parametrize("policy", [Enjima(), MinLatency()])
def test_priorities_are_computed_anew_each_epoch(policy: Policy) -> None:
    one, other = operator("q1", output_cost=0.1), operator("q2", output_cost=0.2)
    queue = policy.queue()
    push(queue, one, other)
    assert names(queue, 1) == ["q1"]
    other.flow.output_cost = 0.05
    assert names(queue, 1, now=0.9 * PERIOD) == ["q1"]
    assert names(queue, 1, now=1.1 * PERIOD) == ["q2"]


def test_few_rows_wait_for_more_but_not_for_long() -> None:
    few, many = source("few", backlog=10, output_cost=0.1), source("many", backlog=5000, output_cost=0.9)
    queue = Enjima().queue()
    push(queue, few, many)
    assert queue.pop(0.0005) is many
    queue.done(many, 0.0008)
    assert queue.pop(0.0008, 0) is None
    wakes = queue.wakes(0.0008)  # type: ignore[attr-defined]
    assert 0.001 < wakes < 0.0011
    assert queue.pop(wakes) is few
    queue.done(few, wakes)
    assert queue.wakes(wakes) == inf  # type: ignore[attr-defined]


def test_rows_that_come_end_the_wait() -> None:
    queue, held = Enjima(everywhere=True).queue(), operator("held", pending=10, last=0.0)
    push(queue, held)
    assert queue.pop(0.0001) is None
    held.flow.came(2000)
    assert queue.pop(0.0001) is held


def test_a_turn_takes_what_fits_into_an_epoch_and_then_the_first_is_chosen_anew() -> None:
    queue = Enjima(period=0.001, least_rows=10).queue()
    busy = operator("q0", output_cost=0.5, cost=1e-6, pending=10_000)
    first = operator("q1", output_cost=0.1, pending=10_000)
    push(queue, busy)
    seen = []
    for _ in range(6):
        chosen = queue.pop(0.0)
        assert chosen is not None
        seen.append(chosen)
        chosen.flow.took(200)
        push(queue, chosen, first)
        queue.done(chosen, 0.0)
    assert seen == [busy] * 5 + [first]
    assert queue.decisions == 2  # type: ignore[attr-defined]


def test_one_that_takes_no_rows_keeps_nobody_waiting() -> None:
    queue = Enjima().queue()
    push(queue, operator("q1", output_cost=0.1))
    assert names(queue, 1) == ["q1"]
    push(queue, operator("q2", output_cost=0.05, pending=5000))
    assert names(queue, 1) == ["q2"]


@pytest.mark.parametrize(("seconds", "cost", "rows"), [(0.001, 1e-8, 100_000), (0.001, 1e-3, 1000), (0.001, 0.0, 1000)])
def test_rows_per_turn(seconds: float, cost: float, rows: float) -> None:
    assert Enjima().rows(Flow(cost=cost), seconds) == pytest.approx(rows)


def test_a_clock_that_goes_back_begins_an_epoch() -> None:
    queue = Enjima().queue()
    push(queue, operator("a"))
    assert names(queue, 1, now=100.0) == ["a"]
    push(queue, operator("b"))
    assert queue.pop(1.0) is not None


@pytest.mark.parametrize(
    ("policy", "order"),
    [
        (MinLatency(), ["a1"] * 6),
        (HighestRate(), ["b0"] * 6),
        (RoundRobin(), ["a0", "a1", "b0", "a0", "a1", "b0"]),
        (MinCost(), ["a0"] * 6),
    ],
)
def test_who_runs_while_all_have_more(policy: Policy, order: list[str]) -> None:
    queue = policy.queue()
    push(
        queue,
        operator("a1", place=1, output_cost=0.1, rate=2.0),
        operator("a0", place=0, output_cost=0.3, rate=1.0),
        operator("b0", place=0, output_cost=0.2, rate=3.0),
    )
    assert names(queue, 6) == order


def test_min_cost_goes_on_to_what_is_downstream() -> None:
    queue, order = MinCost().queue(), []
    operators = {name: operator(name, place=int(name[1])) for name in ("a0", "a1", "b0", "b1")}
    push(queue, operators["a0"], operators["b0"])
    for _ in range(6):
        chosen = queue.pop(0.0)
        if chosen is None:
            break
        order.append(chosen.name)
        if chosen.name.endswith("0"):
            push(queue, operators[chosen.name[0] + "1"])
        queue.done(chosen, 0.0)
    assert order == ["a0", "a1", "b0", "b1"]


steps = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3000), st.floats(0, 0.003)), max_size=60)


@given(steps)
def test_whoever_is_held_back_runs_in_the_end(steps: list[tuple[int, int, float]]) -> None:
    queue, now, waiting = Enjima(everywhere=True).queue(), 0.0, set()
    operators = [operator(str(n), output_cost=0.1 * n) for n in range(5)]
    for which, rows, passes in steps:
        now += passes
        operators[which].flow.came(rows)
        push(queue, operators[which], now=now)
        waiting.add(operators[which])
        chosen = queue.pop(now)
        if chosen is not None:
            waiting.remove(chosen)
            chosen.flow.took(chosen.flow.pending)
            queue.done(chosen, now)
        assert len(queue) == len(waiting)
    looks = 0
    while len(queue):
        chosen = queue.pop(now)
        if chosen is None:
            later = queue.wakes(now)  # type: ignore[attr-defined]
            assert now < later < now + 0.01
            now, looks = later, looks + 1
        else:
            waiting.remove(chosen)
            queue.done(chosen, now)
    assert not waiting
    assert looks <= 5 * 3
