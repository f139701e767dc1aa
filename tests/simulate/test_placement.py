"""Where operators are, and who feeds whom."""

from __future__ import annotations

from collections import Counter

from headway.simulate import Arrivals, Cluster, Job, Scenario, StageSpec, Window
from headway.simulate.build import build


def wide(count: int, parallelism: int) -> Job:
    stages = (
        StageSpec("source", "source", parallelism, arrivals=Arrivals(1.0)),
        StageSpec("partial", "window", parallelism, window=Window(1.0)),
        StageSpec("merge", "merge", 2, window=Window(1.0)),
        StageSpec("output", "output"),
    )
    return Job("job", stages, latency=1.0, count=count)


def test_work_is_spread_evenly_whatever_the_number_of_nodes() -> None:
    for nodes in (4, 32, 48, 128):
        jobs = build(Scenario("spread", (wide(64, 64),), Cluster(nodes)))
        for name, highest in (("partial", 1.1), ("output", 3.0)):
            count = Counter(operator.node for job in jobs for operator in job.stages[name])
            assert max(count.values()) <= highest * sum(count.values()) / nodes


def test_operators_of_one_place_are_together_and_named_nodes_are_used() -> None:
    stages = (*wide(1, 4).stages[:3], StageSpec("output", "output", 3, nodes=(5, 2)))
    (job,) = build(Scenario("together", (Job("job", stages),), Cluster(8)))
    assert [operator.node for operator in job.stages["source"]] == [operator.node for operator in job.stages["partial"]]
    assert [operator.node for operator in job.stages["output"]] == [5, 2, 5]


def test_forward_feeds_one_and_key_feeds_all() -> None:
    (job,) = build(Scenario("edges", (wide(1, 4),), Cluster(2)))
    partials = job.stages["partial"]
    assert [len(operator.inputs) for operator in partials] == [1, 1, 1, 1]
    assert [channel.receiver for channel in partials[0].edges[0].channels] == job.stages["merge"]
    assert [len(operator.inputs) for operator in job.stages["merge"]] == [4, 4]


def test_converters_know_windows_that_are_longer_than_the_senders() -> None:
    (job,) = build(Scenario("windows", (wide(1, 2),), Cluster(1)))
    to_window = job.stages["source"][0].edges[0].converter
    assert to_window.windows == Window(1.0).windows()
    assert to_window.progress is not None
    assert (to_window.query, to_window.latency) == ("job", 1.0)
    assert job.stages["partial"][0].edges[0].converter.windows is None
