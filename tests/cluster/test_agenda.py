"""Who is due when."""

import math

import pytest

from headway.cluster.agenda import Agenda


def test_nobody_is_due_before_their_time_and_all_in_its_order() -> None:
    agenda = Agenda[str]()
    for when, who in ((3.0, "c"), (1.0, "a"), (2.0, "b")):
        agenda.at(when, who)
    assert list(agenda.due(0.5)) == []
    assert list(agenda.due(2.0)) == ["a", "b"]
    assert (list(agenda.due(9.0)), agenda.next()) == (["c"], math.inf)


def test_the_earliest_time_counts() -> None:
    agenda = Agenda[str]()
    agenda.at(5.0, "a")
    agenda.at(2.0, "a")
    agenda.at(7.0, "a")
    assert agenda.next() == 2.0
    assert list(agenda.due(9.0)) == ["a"]


def test_one_who_comes_back_while_others_are_given_waits_for_the_next_turn() -> None:
    agenda = Agenda[str]()
    agenda.at(1.0, "a")
    agenda.at(1.0, "b")
    given = []
    for who in agenda.due(1.0):
        given.append(who)
        agenda.at(2.0, who)
    assert (given, agenda.next()) == (["a", "b"], 2.0)


@pytest.mark.parametrize("again", [False, True])
def test_forgotten(again: bool) -> None:
    agenda = Agenda[str]()
    agenda.at(1.0, "a")
    agenda.forget("a")
    if again:
        agenda.at(3.0, "a")
    assert agenda.next() == (3.0 if again else math.inf)
    assert list(agenda.due(2.0)) == []
