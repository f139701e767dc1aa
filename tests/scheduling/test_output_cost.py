"""Output selectivity, output cost and rate, by replies."""

from __future__ import annotations

import pytest

from headway.scheduling import Converter, Enjima, Flow, HighestRate, Profile, ReplyContext
from headway.scheduling.output_cost import Below


def told(
    stage: str, cost: float, selectivity: float, *replies: tuple[str, ReplyContext]
) -> tuple[Profile, ReplyContext]:
    """An operator that got these replies, and its own."""
    policy, converters = Enjima(), []
    for sender, reply in replies:
        converters.append(Converter("query"))
        policy.process_reply(converters[-1], sender, reply)
    profile = Profile(flow=Flow(stage, cost=cost, selectivity=selectivity))
    return profile, policy.prepare_reply(profile, converters, 0)


def test_a_chain() -> None:
    sink, of_sink = told("sink", 0.1, 0.0)
    window, of_window = told("window", 0.2, 0.01, ("sink", of_sink))
    filtering, _ = told("filter", 0.3, 0.5, ("window", of_window))
    assert sink.flow.output_cost == pytest.approx(0.1)
    assert window.flow.output_cost == pytest.approx(0.2 / 0.01 + 0.1)
    assert filtering.flow.output_selectivity == pytest.approx(0.005)
    assert filtering.flow.output_cost == pytest.approx(0.3 / 0.005 + 20 + 0.1)


def test_what_several_ways_lead_to_counts_once_and_the_best_way_gives_the_selectivity() -> None:
    _, of_sink = told("sink", 0.1, 1.0)
    _, of_left = told("left", 0.2, 0.5, ("sink", of_sink))
    _, of_right = told("right", 0.2, 0.25, ("sink", of_sink))
    top, _ = told("top", 0.3, 1.0, ("left", of_left), ("right", of_right))
    assert top.flow.output_selectivity == 0.5
    assert top.flow.output_cost == pytest.approx(0.3 / 0.5 + 0.2 / 0.5 + 0.2 / 0.25 + 0.1)


def test_the_rate_is_results_per_second_of_all_the_work_they_take() -> None:
    _, of_sink = told("sink", 0.1, 1.0)
    filtering, _ = told("filter", 0.3, 0.5, ("sink", of_sink))
    assert filtering.flow.rate == pytest.approx(0.5 / (0.3 + 0.5 * 0.1))
    assert HighestRate().priority(filtering.flow) == filtering.flow.rate


def test_what_is_told_is_computed_anew_when_something_was_measured() -> None:
    policy, profile = Enjima(), Profile(flow=Flow("sink", cost=0.1, selectivity=1.0))
    first = policy.prepare_reply(profile, [], 0)
    assert policy.prepare_reply(profile, [], 0).own is first.own
    profile.flow.took(1000)
    profile.flow.ran(200.0, now=1.0)
    assert policy.prepare_reply(profile, [], 0).own.work == pytest.approx(0.1 + 0.2 * 0.1)


def test_what_is_told_follows_what_is_told_downstream() -> None:
    policy, profile, converter = Enjima(), Profile(flow=Flow("top", cost=0.1, selectivity=1.0)), Converter("query")
    policy.prepare_reply(profile, [converter], 0)
    assert profile.flow.output_cost == pytest.approx(0.1)
    policy.process_reply(converter, 0, told("sink", 0.2, 1.0)[1])
    policy.prepare_reply(profile, [converter], 0)
    assert profile.flow.output_cost == pytest.approx(0.3)


def test_costs_of_deadlines_travel_beside_them() -> None:
    policy, converter = Enjima(), Converter("query")
    policy.process_reply(converter, 0, ReplyContext(0.3, 0.2))
    assert (converter.cost, converter.path) == (0.3, 0.2)
    assert converter.own is None
    reply = policy.prepare_reply(Profile(0.5), [converter], 3)
    assert (reply.cost, reply.path) == (0.5, 0.5)
    assert isinstance(reply.own, Below)
