"""Simulations against what queueing theory says of them."""

from __future__ import annotations

from functools import cache

import pytest

from headway.scheduling import POLICIES, Tokens
from headway.simulate import Arrivals, Cost, Group, Job, Scenario, StageSpec, run


def queue(scv: float) -> Scenario:
    """One server, Poisson arrivals, 70 % busy; services have this squared coefficient of variation."""
    source = StageSpec("source", "source", arrivals=Arrivals(rate=70.0, process="poisson"))
    job = Job("job", (source, StageSpec("work", cost=Cost(message=0.01, scv=scv))), latency=1.0)
    return Scenario("queue", (job,), seconds=600.0, warm_up=20.0, seed=3)


@cache
def in_order(scv: float) -> Group:
    """The queue's own answer, served in order; its seed is given, so that it is the same each time."""
    return run(queue(scv), "fifo").groups[0]


@pytest.mark.parametrize("scv", [0.0, 1.0, 4.0])
def test_time_in_system_is_as_pollaczek_and_khinchine_say(scv: float) -> None:
    group = in_order(scv)
    service, load = 10.0, 0.7
    expected = service + load * service * (1.0 + scv) / (2.0 * (1.0 - load))
    assert group.latency_ms["mean"] == pytest.approx(expected, rel=0.08)
    assert group.utilisation == pytest.approx(load, rel=0.02)


def test_percentiles_of_a_single_server_are_those_of_an_exponential() -> None:
    latency = in_order(1.0).latency_ms
    mean = 1000.0 / (100.0 - 70.0)
    assert latency["p50"] == pytest.approx(mean * 0.6931, rel=0.08)
    assert latency["p95"] == pytest.approx(mean * 2.9957, rel=0.08)


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"sjf", "enjima"}))
def test_no_policy_changes_how_much_work_there_is(policy: str) -> None:
    # One queue, services of one kind: whoever is chosen, the server is as busy and the mean time as long. (Enjima holds
    # operators back.)
    reference = in_order(1.0)
    group = run(queue(1.0), policy).groups[0]
    assert group.latency_ms["mean"] == pytest.approx(reference.latency_ms["mean"], rel=1e-9)
    assert group.utilisation == pytest.approx(reference.utilisation, rel=1e-9)


def test_tokens_share_an_overloaded_cluster() -> None:
    source = StageSpec("source", "source", cost=Cost(message=0.005), arrivals=Arrivals(rate=100.0, process="poisson"))
    stages = (source, StageSpec("work", cost=Cost(message=0.005)))
    names = ("one", "two", "three")
    jobs = tuple(Job(name, stages, group=name) for name in names)
    scenario = Scenario("tokens", jobs, seconds=60.0, warm_up=10.0, drain=False)
    result = run(scenario, Tokens({"one": 24, "two": 48, "three": 48}))
    rates = [result.group(name).rows_per_s for name in names]
    assert [rate / sum(rates) for rate in rates] == pytest.approx([0.2, 0.4, 0.4], abs=0.02)
