"""What a worker spends when it turns to another operator."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.simulate import Arrivals, Cluster, Cost, Job, Scenario, StageSpec, load, run


@pytest.mark.parametrize(("count", "expected"), [(1, 12.0), (2, 15.0)])
def test_a_switch_costs_more_than_to_go_on(count: int, expected: float) -> None:
    # One message a second each, half a second apart: alone, an operator was the last to run.
    source = StageSpec("source", "source", arrivals=Arrivals(rate=1, phase=0.0))
    work = StageSpec("work", "output", cost=Cost(message=0.01))
    jobs = tuple(Job(f"job {n}", (source, work), start=n * 0.5) for n in range(count))
    cluster = Cluster(overhead=0.002, switch=0.003)
    latency = run(Scenario("switches", jobs, cluster, seconds=4.0, warm_up=0.9), "fifo").groups[0].latency_ms
    assert latency["p50"] == pytest.approx(expected)


def test_the_example_of_enjima_is_a_scenario() -> None:
    scenario = load(Path(__file__).parents[2] / "examples/scenarios/enjima_fig5b.toml")
    assert scenario.cluster.switch == pytest.approx(0.00002)
