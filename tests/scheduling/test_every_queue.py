"""What holds for the queues of all policies."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_node import VirtualNode, context

from headway.scheduling import POLICIES, make_policy

names = pytest.mark.parametrize("name", sorted(POLICIES))
steps = st.lists(
    st.tuples(
        st.sampled_from(["push", "pop", "again"]),
        st.integers(0, 2),  # worker
        st.integers(0, 7),  # operator
        st.floats(-2, 20),  # priority
        st.floats(0, 1.5),  # time that passes
    ),
    max_size=80,
)


@names
@given(steps=steps)
def test_no_operator_is_lost_or_given_twice(name: str, steps: list[tuple[str, int, int, float, float]]) -> None:
    queue = make_policy(name).queue(3)
    waiting: set[str] = set()
    running: dict[int, str] = {}
    now = 0.0
    for number, (what, worker, which, priority, passes) in enumerate(steps):
        now += passes
        operator = f"operator {which}"
        if what == "push" and operator not in running.values():
            queue.push(operator, context(priority, f"query {which % 3}"), number, now, worker if which % 2 else None)
            waiting.add(operator)
        elif what != "push":
            if worker in running:
                before = running.pop(worker)
                if what == "again":
                    queue.push(before, context(priority, "query 0"), number, now, worker)
                    waiting.add(before)
                queue.done(before, now, worker)
            chosen = queue.pop(now, worker)
            assert (chosen is None) == (not waiting)
            if chosen is not None:
                waiting.remove(chosen)
                running[worker] = chosen
        assert len(queue) == len(waiting)
    for worker, operator in running.items():
        queue.done(operator, now, worker)
    left: list[Any] = []
    while len(queue):
        left.append(queue.pop(now, 0))
        queue.done(left[-1], now, 0)
    assert sorted(left) == sorted(waiting)


@names
def test_every_message_runs_once(name: str) -> None:
    node = VirtualNode(make_policy(name).queue(2), workers=2)
    for number in range(200):
        operator = f"operator {number % 7}"
        node.send_at(number * 0.003, operator, context(number * 0.003 + number % 5, operator), 0.01)
    node.run(until=10.0)
    assert len(node.runs) == 200
    assert node.time_of(*{run.operator for run in node.runs}) == pytest.approx(2.0)


@names
def test_a_queue_that_is_empty_gives_none(name: str) -> None:
    queue = make_policy(name).queue()
    assert queue.pop(0.0) is None
    queue.push("a", context(1.0), 1, 0.0)
    assert queue.pop(0.0) == "a"
    queue.done("a", 0.1)
    assert queue.pop(0.1) is None


@names
def test_operators_need_not_compare(name: str) -> None:
    queue, operators = make_policy(name).queue(), [object(), object(), object()]
    for operator in operators:
        queue.push(operator, context(1.0), 1, 0.0)
    assert [queue.pop(0.0, worker) for worker in range(3)] == operators


@names
def test_a_policy_can_be_sent_to_a_node(name: str) -> None:
    assert pickle.loads(pickle.dumps(make_policy(name))).name == name
