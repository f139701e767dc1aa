"""The base of policies, and turns."""

from __future__ import annotations

import pytest

from headway.scheduling import Converter, Policy, PriorityContext
from headway.scheduling.api import Turns


class Own(Policy):
    name = "own"


def test_contexts_of_the_base_keep_times_and_pass_the_tag_on() -> None:
    source = Own().at_source(Converter("query", 2.0), 30.0, 31.0)
    assert source == PriorityContext(30.0, 30.0, None, 30.0, 2.0, "query", None)
    made = Own().at_operator(Converter("query", 2.0), source._replace(tag="mine"), 5, 40.0, 0, 41.0)
    assert made == PriorityContext(40.0, 40.0, 5, 40.0, 2.0, "query", "mine")


def test_a_policy_must_have_a_queue() -> None:
    with pytest.raises(NotImplementedError):
        Own().queue()


def test_a_turn_lasts_from_its_first_run() -> None:
    turns = Turns()
    turns.run("a", 1.0, worker=0)
    turns.run("a", 1.5, worker=0)
    assert turns.going_on(1.9, 0, longest=1.0) == "a"
    assert turns.going_on(2.0, 0, longest=1.0) is None
    turns.run("a", 2.0, worker=0)
    assert turns.going_on(2.9, 0, longest=1.0) == "a"


def test_another_operator_begins_another_turn() -> None:
    turns = Turns()
    turns.run("a", 1.0, worker=0)
    turns.run("b", 1.5, worker=0)
    assert turns.going_on(2.4, 0, longest=1.0) == "b"


def test_turns_of_workers_are_apart_and_end() -> None:
    turns = Turns()
    turns.run("a", 1.0, worker=0)
    turns.run("b", 1.0, worker=1)
    turns.end(0)
    assert [turns.going_on(1.1, worker, longest=1.0) for worker in (0, 1, 2)] == [None, "b", None]


def test_a_clock_that_goes_back_ends_a_turn_for_good() -> None:
    turns = Turns()
    turns.run("a", 5.0, worker=0)
    assert turns.going_on(4.0, 0, longest=1.0) is None
    assert turns.going_on(5.1, 0, longest=1.0) is None
