"""State-based scheduling on a virtual clock: priorities, eligibility, turns and epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling import Enjima, Flow, HighestRate, Lag, MinCost, MinLatency, Policy, Profile, Queue, RoundRobin
from headway.scheduling.contexts import EARLIEST
from headway.scheduling.enjima import weight


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


def source(name: str, **fields: Any) -> Operator:
    return operator(name, backlog=lambda now: 100_000, last=0.0, **fields)


def runs_while_all_have_more(operators: list[Operator], steps: int, step: float) -> list[str]:
    queue, seen = Enjima(period=0.001, patience=0.01).queue(), list[str]()
    push(queue, *operators)
    for number in range(1, steps + 1):
        for each in operators:
            each.flow.pending = 100_000
        seen += names(queue, 1, now=number * step)
    return seen


def test_a_source_that_has_waited_for_long_goes_first_once() -> None:
    seen = runs_while_all_have_more([source("cheap", output_cost=0.1), source("dear", output_cost=0.2)], 14, 0.002)
    assert [step for step, name in enumerate(seen, 1) if name == "dear"] == [6, 12]


def test_what_is_in_flight_has_more_patience() -> None:
    cheap, dear = source("cheap", output_cost=0.1), operator("dear", output_cost=0.2, last=0.0)
    seen = runs_while_all_have_more([cheap, dear], 210, 0.002)
    assert [step for step, name in enumerate(seen, 1) if name == "dear"] == [101, 202]


def test_nobody_has_waited_for_long_who_was_passed_over_by_few() -> None:
    three = [source("first", output_cost=0.1), source("second", output_cost=0.2), source("third", output_cost=0.3)]
    assert runs_while_all_have_more(three, 6, 0.1) == ["first", "first", "first", "second", "third", "first"]


def test_of_equals_the_deepest_in_its_query_goes_first() -> None:
    queue = Enjima().queue()
    push(queue, operator("source", output_cost=0.1), operator("next", output_cost=0.1, place=1))
    assert queue.pop(0.0).name == "next"  # type: ignore[union-attr]


def test_marks_wait_for_nothing() -> None:
    queue, marks = Enjima().queue(), operator("marks", last=0.0)
    push(queue, marks)
    assert queue.pop(0.0001) is marks


def test_priorities_are_computed_anew_each_epoch() -> None:
    a, b = operator("a", output_cost=0.1), operator("b", output_cost=0.2)
    queue = Enjima(period=0.001).queue()
    push(queue, a, b)
    assert names(queue, 1) == ["a"]
    b.flow.output_cost, a.flow.last = 0.05, -inf
    assert names(queue, 1, now=0.0005) == ["a"]
    a.flow.last = -inf
    assert names(queue, 1, now=0.0011) == ["b"]


def test_few_rows_wait_for_more_but_not_for_long() -> None:
    few = operator("few", pending=10, last=0.0, output_cost=0.1)
    many = operator("many", pending=5000, last=0.0, output_cost=0.9)
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
    queue, held = Enjima().queue(), operator("held", pending=10, last=0.0)
    push(queue, held)
    assert queue.pop(0.0001) is None
    held.flow.came(2000)
    assert queue.pop(0.0001) is held


def test_a_turn_takes_what_fits_into_the_epoch_and_then_the_first_is_chosen_anew() -> None:
    queue = Enjima(period=0.001, least_rows=10).queue()
    busy = operator("busy", output_cost=0.5, cost=1e-6, pending=10_000)
    first = operator("first", output_cost=0.1, pending=10_000)
    push(queue, busy)
    seen, now = [], 0.0
    for _ in range(6):
        chosen = queue.pop(now)
        assert chosen is not None
        seen.append(chosen.name)
        chosen.flow.took(200)
        now += 0.00019
        push(queue, chosen, first, now=now)
        queue.done(chosen, now)
    assert seen == ["busy"] * 5 + ["first"]
    assert queue.decisions == 2  # type: ignore[attr-defined]


def test_what_a_run_has_left_elsewhere_ends_its_turn_and_is_worth_a_run() -> None:
    queue = Enjima(period=0.1).queue()
    source = operator("source", output_cost=0.2, cost=1e-6, pending=100_000)
    chain = operator("chain", output_cost=0.1, last=0.0, pending=10)
    push(queue, source)
    for now, hands_on in ((0.0, False), (0.001, True)):
        assert queue.pop(now) is source
        source.flow.took(200)
        push(queue, source, now=now)
        if hands_on:
            queue.push(chain, EARLIEST, 0, now, worker=0)
        queue.done(source, now)
    assert queue.pop(0.001) is chain, "though its rows are fewer than the threshold, and the turn has time left"
    queue.done(chain, 0.001)
    push(queue, chain, now=0.001)
    assert queue.pop(0.001) is source, "what came from outside waits for more"


def test_one_that_takes_no_rows_keeps_nobody_waiting() -> None:
    queue = Enjima().queue()
    marks = operator("marks", output_cost=0.1)
    push(queue, marks)
    assert names(queue, 1) == ["marks"]
    marks.flow.last = -inf
    push(queue, operator("rows", output_cost=0.05, pending=5000))
    assert names(queue, 1) == ["rows"]


@pytest.mark.parametrize(
    ("left", "cost", "rows"), [(0.001, 1e-8, 100_000), (0.001, 1e-3, 1000), (0.0, 1e-8, 1000), (0.001, 0.0, 1000)]
)
def test_rows_per_turn(left: float, cost: float, rows: float) -> None:
    assert Enjima().rows(Flow(cost=cost), left) == pytest.approx(rows)


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
    queue, now, waiting = Enjima().queue(), 0.0, set()
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
