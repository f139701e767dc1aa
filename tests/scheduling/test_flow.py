"""Rows, costs and selectivities of operators, and the latency of queries."""

from __future__ import annotations

from math import inf

import pytest

from headway.scheduling import Flow, Lag


def test_rows_wait_until_they_are_taken() -> None:
    flow = Flow()
    flow.came(10)
    flow.took(4)
    assert (flow.waiting(0.0), flow.taken) == (6, 4)


def test_rows_that_are_taken_at_once_never_waited() -> None:
    flow = Flow()
    flow.came(10)
    flow.took_at_once(4)
    assert (flow.waiting(0.0), flow.taken) == (10, 4)


def test_what_waits_at_a_source_is_its_backlog() -> None:
    assert Flow(backlog=lambda now: int(now * 100)).waiting(0.5) == 50


def test_the_first_run_is_measured_and_then_one_interval_after_the_other() -> None:
    flow = Flow()
    flow.took(100)
    flow.gave(25)
    flow.ran(0.01, now=1.0)
    assert (flow.cost, flow.selectivity, flow.last) == (pytest.approx(1e-4), 0.25, 1.0)
    for now in (1.01, 1.04):
        flow.took(100)
        flow.ran(0.03, now)
    assert flow.cost == pytest.approx(1e-4)
    flow.took(100)
    flow.ran(0.03, now=1.05)
    assert flow.cost == pytest.approx(1e-4 + 0.2 * 2e-4)


def test_a_window_that_has_given_nothing_has_some_selectivity() -> None:
    flow = Flow()
    for now in (1.0, 2.0):
        flow.took(500)
        flow.ran(0.01, now)
    assert 1 / 1000 <= flow.selectivity <= 1 / 500


def test_a_run_without_rows_is_idle_no_more_and_costs_the_rows_that_come() -> None:
    flow = Flow()
    flow.ran(0.01, now=1.0)
    assert (flow.cost, flow.last) == (0.0, 1.0)
    flow.took(10)
    flow.ran(0.01, now=1.1)
    assert flow.cost == pytest.approx(0.002)


def test_the_gradient_of_a_query_that_keeps_up_is_zero_and_of_one_that_falls_behind_one() -> None:
    steady, behind = Lag(), Lag()
    assert steady.gradient == 0.0
    for step in range(100):
        now = step * 0.02
        steady.observe(0.005, now)
        behind.observe(now, now)
    assert steady.gradient == pytest.approx(0.0)
    assert behind.gradient == pytest.approx(1.0, abs=0.02)


def test_a_gradient_follows_the_last_half_second() -> None:
    lag = Lag()
    for step in range(200):
        now = step * 0.02
        lag.observe(now if now < 2.0 else 2.0, now)
    assert lag.gradient == pytest.approx(0.0)


def test_an_operator_that_never_ran_has_been_idle_for_ever() -> None:
    assert Flow().last == -inf


def test_what_others_took_inside_of_a_run_is_not_its_own_cost() -> None:
    flow = Flow()
    flow.took(100)
    flow.nested = 0.02
    flow.ran(0.03, now=1.0)
    assert flow.cost == pytest.approx(1e-4)
    assert flow.nested == 0.0
