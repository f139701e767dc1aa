"""Whatever the policy: no message is lost, none is doubled, and the same seed gives the same simulation."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from headway.scheduling import POLICIES, Tokens, make_policy
from headway.simulate import Arrivals, Bursts, Cluster, Cost, Job, Scenario, Spread, StageSpec, Window, run
from headway.simulate.build import build
from headway.simulate.engine import Engine
from headway.simulate.expected import correct

SLOW = Cost(message=0.008, row=1e-5, trigger=0.003, scv=1.0)


def crowded() -> Scenario:
    """Joins, sliding windows, branches, costed and silent sources, small channels, more work than workers."""
    windowed = (
        StageSpec("source", "source", 6, arrivals=Arrivals(20.0, 37, "poisson", skew=30.0, delay=Spread(0.1, 1.0))),
        StageSpec("parse", parallelism=3, cost=SLOW, edge="forward", selectivity=0.5),
        StageSpec("partial", "window", 4, SLOW, edge="key", window=Window(1.0, slide=0.5, delay=0.2), groups=10),
        StageSpec("merge", "merge", 2, SLOW, edge="key", window=Window(0.5)),
        StageSpec("output", "output", cost=SLOW),
    )
    joined = (
        StageSpec("left", "source", 3, arrivals=Arrivals(30.0, 5, "poisson", pareto=1.5)),
        StageSpec("right", "source", 2, Cost(message=0.001), arrivals=Arrivals(10.0, 7, bursts=Bursts(1.0, 0.2, 4.0))),
        StageSpec("join", "join", 2, SLOW, ("left", "right"), "key", Window(1.0)),
        StageSpec("alerts", cost=SLOW, inputs=("left",), edge="one"),
        StageSpec("table", "output", 2, SLOW, ("join",)),
    )
    jobs = (Job("windowed", windowed, 0.5, "ls", count=2), Job("joined", joined, None, "ba", event_time=False))
    return Scenario("crowded", jobs, Cluster(3, 2, 0.001, 1e-6, channel=4, overhead=1e-5), seconds=6.0)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_gives_exactly_the_expected_results(policy: str) -> None:
    result = run(crowded(), policy)
    assert [group.correct for group in result.groups] == [True, True]
    reference = run(crowded(), "arrival")
    for name, series in result.jobs.items():
        assert len(series.rows) > 10
        assert sorted(zip(series.p, series.rows, strict=True)) == sorted(
            zip(reference.jobs[name].p, reference.jobs[name].rows, strict=True)
        )


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_a_simulation_that_is_cut_short_gives_some_of_them(policy: str) -> None:
    whole, cut = run(crowded(), policy), run(replace(crowded(), drain=False), policy)
    assert all(group.correct for group in cut.groups)
    assert sum(len(job.time) for job in cut.jobs.values()) < sum(len(job.time) for job in whole.jobs.values())


@pytest.mark.parametrize("harm", ["lose", "double", "change"])
def test_a_wrong_result_is_noticed(harm: str) -> None:
    jobs = build(crowded())
    measured = Engine(crowded(), jobs, make_policy("llf")).run()
    assert correct(jobs[0], measured, 0, drained=True)
    results = measured.results[0]
    last = results.pop()
    if harm != "lose":
        results.append(last if harm == "double" else (*last[:3], last[3] + 1, last[4]))
    if harm == "double":
        results.append(last)
    assert not correct(jobs[0], measured, 0, drained=True)
    assert correct(jobs[0], measured, 0, drained=False) == (harm == "lose")


def test_nothing_waits_in_the_end_and_all_channels_have_their_room_back() -> None:
    jobs = build(crowded())
    Engine(crowded(), jobs, Tokens({"joined": 3})).run()
    for operator in (operator for job in jobs for operator in job.operators):
        assert not operator.waiting
        assert not operator.queued
        assert not operator.full
        assert all(channel.room == 4 for channel in operator.inputs if channel.sender is not None)


def test_the_same_seed_gives_the_same_simulation_and_another_another() -> None:
    first, second, other = run(crowded()), run(crowded()), run(replace(crowded(), seed=2))
    assert [asdict(group) for group in first.groups] == [asdict(group) for group in second.groups]
    for name, series in first.jobs.items():
        np.testing.assert_array_equal(series.time, second.jobs[name].time)
    assert first.groups[0].latency_ms != other.groups[0].latency_ms


def test_policies_see_the_same_arrivals() -> None:
    offered = [run(crowded(), policy).groups[0].offered_rows_per_s for policy in ("llf", "fifo", "orleans")]
    assert len(set(offered)) == 1
