"""Deadlines between queries, output costs within their slack."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import pytest

from headway.scheduling import Converter, Flow, Llf, PriorityContext, Profile, Queue, Slack
from headway.scheduling.contexts import EARLIEST
from headway.scheduling.output_cost import Below
from headway.scheduling.slack import STEPS


@dataclass(eq=False)
class Operator:
    name: str
    profile: Profile = field(default_factory=Profile)


def operator(name: str, **fields: Any) -> Operator:
    return Operator(name, Profile(flow=Flow(name, **fields)))


def context(t: float, latency: float, query: str = "query") -> PriorityContext:
    """That of a message that came at t."""
    return Slack().at_operator(Converter(query, latency), EARLIEST, None, t, 0, t)


def order(queue: Queue, count: int, now: float = 0.0) -> list[str]:
    chosen = [queue.pop(now, worker) for worker in range(count)]
    return [each.name for each in chosen if each is not None]


def test_an_earlier_step_of_the_target_goes_first_whatever_its_output_costs() -> None:
    queue = Slack().queue(2)
    queue.push(operator("cheap", output_cost=0.1), context(1.0, 3.2), 0, 0.0)
    queue.push(operator("dear", output_cost=9.0), context(0.8, 3.2), 1, 0.0)
    assert order(queue, 2) == ["dear", "cheap"]


def test_within_a_step_the_lowest_output_cost_goes_first() -> None:
    queue = Slack().queue(2)
    queue.push(operator("dear", output_cost=9.0), context(0.80, 3.2), 0, 0.0)
    queue.push(operator("cheap", output_cost=0.1), context(0.85, 3.2), 1, 0.0)
    assert order(queue, 2) == ["cheap", "dear"]


@pytest.mark.parametrize("latency", [0.01, 0.8, 100.0])
def test_a_deadline_is_early_by_a_step_at_most(latency: float) -> None:
    converter = Converter("query", latency, cost=latency / 10)
    for t in (0.0, 1.234, 5.678):
        exact = Llf(grain=0.0).at_operator(converter, EARLIEST, None, t, 0, t).priority
        early = exact - Slack(grain=0.0).at_operator(converter, EARLIEST, None, t, 0, t).priority
        assert -1e-9 <= early <= latency / STEPS + 1e-9


def test_one_that_has_just_run_and_has_few_rows_goes_after_one_that_is_worth_a_run() -> None:
    queue = Slack().queue(2)
    queue.push(operator("few", output_cost=0.1, pending=3, last=1.0), context(1.0, 3.2), 0, 1.0)
    queue.push(operator("many", output_cost=0.9, pending=5000, last=1.0), context(1.0, 3.2), 1, 1.0)
    assert order(queue, 2, now=1.0002) == ["many", "few"]


def test_it_does_not_go_after_one_of_a_later_step() -> None:
    queue = Slack().queue(2)
    queue.push(operator("few", output_cost=0.1, pending=3, last=1.0), context(1.0, 3.2), 0, 1.0)
    queue.push(operator("many", output_cost=0.9, pending=5000, last=1.0), context(2.0, 3.2), 1, 1.0)
    assert order(queue, 2, now=1.0002) == ["few", "many"]


def test_nobody_is_held_back_where_nothing_else_could_run() -> None:
    queue = Slack().queue()
    queue.push(operator("few", pending=3, last=1.0), context(1.0, 3.2), 0, 1.0)
    assert order(queue, 1, now=1.0001) == ["few"]


def test_bulk_comes_last_and_in_the_order_of_its_coming() -> None:
    queue = Slack().queue(4)
    queue.push(operator("late bulk", output_cost=0.1), context(0.95, inf), 0, 1.0)
    queue.push(operator("bulk", output_cost=9.0), context(0.5, inf), 1, 1.0)
    queue.push(operator("cheap bulk", output_cost=1.0), context(0.55, inf), 2, 1.0)
    queue.push(operator("urgent", output_cost=9.0), context(0.99, 60.0), 3, 1.0)
    assert order(queue, 4, now=1.0) == ["urgent", "cheap bulk", "bulk", "late bulk"]


def test_an_operator_that_is_not_worth_a_run_keeps_its_place_in_the_queue() -> None:
    queue = Slack().queue(8)
    few = [operator(f"few {n}", output_cost=0.1 * n, pending=1, last=1.0) for n in range(6)]
    for number, each in enumerate(few):
        queue.push(each, context(1.0, 3.2), number, 1.0)
    assert order(queue, 6, now=1.0001) == [each.name for each in few]
    assert len(queue) == 0


def test_costs_are_measured_and_told_as_deadlines_and_output_costs_need_them() -> None:
    policy, converter = Slack(), Converter("query", 1.0)
    profile = Profile(0.02, flow=Flow("stage", cost=1e-6))
    reply = policy.prepare_reply(profile, [], 0)
    policy.process_reply(converter, "stage", reply)
    assert converter.cost == 0.02
    assert isinstance(converter.own, Below)
    assert profile.flow.output_cost == 1e-6
    queue = policy.queue()
    ran = operator("ran")
    queue.push(ran, context(0.0, 1.0), 0, 0.0)
    assert queue.pop(0.0) is ran
    ran.profile.flow.took(100)
    queue.done(ran, 0.01)
    assert ran.profile.flow.cost == pytest.approx(1e-4)
