"""Costs travel upstream: profiles, replies, and the costliest path."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling import Converter, Llf, Policy, Profile, ReplyContext


class Stage:
    """An operator with what it knows of the stages below it."""

    def __init__(self, cost: float, *below: Stage) -> None:
        self.profile = Profile(taking=cost)
        self.below = below
        self.converters = [Converter("query", 1.0) for _ in below]

    def reply(self, policy: Policy) -> ReplyContext:
        return policy.prepare_reply(self.profile, self.converters, waiting=0)

    def hear(self, policy: Policy) -> None:
        """The stages below it acknowledge."""
        for stage, converter in zip(self.below, self.converters, strict=True):
            policy.process_reply(converter, "node 0", stage.reply(policy))


def told(*stages: Stage) -> ReplyContext:
    """What the last of the stages tells upstream when each has heard from those below it, the lowest first."""
    policy = Llf()
    for stage in stages:
        stage.hear(policy)
    return stages[-1].reply(policy)


def test_a_sink_has_no_path_below_it() -> None:
    assert told(Stage(3.0)) == ReplyContext(3.0, 0.0, 0.0, 0)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_costs_of_a_chain_add_up(costs: list[float]) -> None:
    stages: list[Stage] = []
    for cost in costs:
        stages.append(Stage(cost, *stages[-1:]))
    reply = told(*stages)
    assert reply.cost == costs[-1]
    assert reply.path == pytest.approx(sum(costs[:-1]))


def test_of_a_diamond_the_costliest_way_counts() -> None:
    end = Stage(1.0)
    cheap, dear = Stage(2.0, end), Stage(5.0, end)
    assert told(end, cheap, dear, Stage(10.0, cheap, dear))[:2] == (10.0, 6.0)


def test_a_short_dear_way_beats_a_long_cheap_one() -> None:
    end, dear = Stage(1.0), Stage(9.0)
    middle = Stage(1.0, end)
    long = Stage(1.0, middle)
    assert told(end, middle, long, dear, Stage(0.0, long, dear)).path == 9.0


def test_costs_that_shrink_shrink_upstream() -> None:
    end = Stage(8.0)
    top = Stage(1.0, end)
    assert told(end, top).path == 8.0
    end.profile.taking = 2.0
    assert told(end, top).path == 2.0


def test_one_round_of_replies_reaches_one_stage_further() -> None:
    end = Stage(4.0)
    middle = Stage(2.0, end)
    top = Stage(1.0, middle)
    assert told(top).path == 2.0
    assert told(middle, top).path == 6.0


def test_of_several_nodes_the_slowest_counts() -> None:
    converter = Converter("query")
    converter.replied("node 0", ReplyContext(5.0, 1.0))
    converter.replied("node 1", ReplyContext(1.0, 9.0))
    assert (converter.cost, converter.path) == (1.0, 9.0)
    converter.replied("node 1", ReplyContext(1.0, 1.0))
    assert (converter.cost, converter.path) == (5.0, 1.0)


def test_a_reply_tells_waiting_messages_and_their_wait() -> None:
    profile = Profile()
    profile.waited(0.5)
    assert Llf().prepare_reply(profile, [], waiting=7) == ReplyContext(0.0, 0.0, 0.5, 7)


def test_of_taking_rows_and_of_ending_a_window_the_costlier_counts() -> None:
    profile = Profile()
    profile.ran(1.0, triggered=False)
    profile.ran(4.0, triggered=True)
    assert (profile.cost, profile.runs) == (4.0, 2)
    profile.ran(2.0, triggered=False)
    assert profile.taking == pytest.approx(1.2)
    assert profile.cost == 4.0


@given(st.floats(0.001, 10), st.floats(0.001, 10))
def test_a_profile_follows_what_runs_cost(before: float, after: float) -> None:
    profile = Profile()
    for seconds in [before] * 3 + [after] * 60:
        profile.ran(seconds, triggered=False)
    assert profile.cost == pytest.approx(after, rel=0.02, abs=0.0001)
