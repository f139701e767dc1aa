"""Tiny simulations whose every moment can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headway.simulate import Arrivals, Cluster, Cost, Job, Recorded, Scenario, StageSpec, Window, run


def source(**arrivals: object) -> StageSpec:
    settings = {"rate": 10.0, "phase": 0.0, **arrivals}
    return StageSpec("source", "source", arrivals=Arrivals(**settings))  # type: ignore[arg-type]


def latencies(scenario: Scenario, policy: str = "llf", job: str = "job") -> list[float]:
    return list(run(scenario, policy).jobs[job].latency.round(9))


def test_messages_that_come_faster_than_they_are_worked_off_queue_up() -> None:
    job = Job("job", (source(), StageSpec("work", cost=Cost(message=0.15))))
    assert latencies(Scenario("queue", (job,), seconds=0.4)) == [0.15, 0.2, 0.25, 0.3]


def test_cost_grows_with_rows_and_overhead_is_paid_per_run() -> None:
    job = Job("job", (source(rows=20), StageSpec("work", cost=Cost(message=0.01, row=0.001))))
    scenario = Scenario("rows", (job,), Cluster(overhead=0.002), seconds=0.2)
    assert latencies(scenario) == [0.032, 0.032]


def test_the_way_to_another_node_takes_the_exchange_and_to_the_same_nothing() -> None:
    first = StageSpec("first", cost=Cost(message=0.02), nodes=(0,))
    second = StageSpec("second", cost=Cost(message=0.03), nodes=(1,))
    job = Job("job", (source(rows=10), first, second))
    cluster = Cluster(nodes=2, exchange=0.005, exchange_row=0.0001)
    apart = Scenario("apart", (job,), cluster, seconds=0.1)
    together = replace(apart, jobs=(replace(job, stages=(source(rows=10), first, replace(second, nodes=(0,)))),))
    assert latencies(apart) == [0.056]
    assert latencies(together) == [0.05]


def test_a_message_does_not_overtake_another_on_its_way() -> None:
    points = (((0.0, 1000, 0, 0.0), (0.001, 1, 1, 0.0)),)
    stages = (
        StageSpec("source", "source", arrivals=Recorded(points), nodes=(0,)),
        StageSpec("work", cost=Cost(message=0.001), nodes=(1,)),
    )
    scenario = Scenario("way", (Job("job", stages),), Cluster(nodes=2, exchange=0.0, exchange_row=0.0001), seconds=1.0)
    assert latencies(scenario) == [0.101, 0.101]


def test_a_window_leaves_when_event_time_is_past_its_end() -> None:
    stages = (source(rate=1.0, phase=0.5), StageSpec("window", "window", cost=Cost(trigger=0.1), window=Window(1.0)))
    result = run(Scenario("window", (Job("job", stages),), seconds=4.0))
    series = result.jobs["job"]
    assert list(series.time.round(9)) == [1.6, 2.6, 3.6]
    assert list(series.arrival) == [1.5, 2.5, 3.5]
    assert list(series.p) == [999_999, 1_999_999, 2_999_999]
    assert list(series.rows) == [1, 1, 1]


def test_windows_wait_for_the_watermarks_delay() -> None:
    window = Window(1.0, delay=1.0)
    stages = (source(rate=1.0, phase=0.5), StageSpec("window", "window", window=window))
    assert list(run(Scenario("delay", (Job("job", stages),), seconds=4.0)).jobs["job"].time) == [2.5, 3.5]


def test_a_row_counts_in_every_window_that_slides_over_it() -> None:
    stages = (source(rate=2.0), StageSpec("window", "window", window=Window(2.0, slide=1.0)))
    series = run(Scenario("slide", (Job("job", stages),), seconds=4.0)).jobs["job"]
    assert list(series.p + 1) == [1_000_000, 2_000_000, 3_000_000]
    assert list(series.rows) == [2, 4, 4]


def test_a_merge_waits_for_its_slowest_input() -> None:
    # Sources speak at 0.0, 0.5 and so on, and at 0.25, 0.75 and so on: the second one ends each window.
    stages = (
        StageSpec("source", "source", 2, arrivals=Arrivals(rate=2.0, phase="even")),
        StageSpec("partial", "window", 2, window=Window(1.0)),
        StageSpec("merge", "merge", cost=Cost(message=0.01), window=Window(1.0), edge="one"),
    )
    scenario = Scenario("merge", (Job("job", stages),), Cluster(exchange=0.0), seconds=3.0)
    series = run(scenario).jobs["job"]
    assert list(series.arrival) == [1.25, 2.25]
    assert list(series.time.round(9)) == [1.26, 2.26]
    assert list(series.rows) == [4, 4]


def test_a_join_waits_for_both_streams_and_brings_them_together() -> None:
    stages = (
        StageSpec("left", "source", arrivals=Arrivals(rate=1.0, rows=3, phase=0.25)),
        StageSpec("right", "source", arrivals=Arrivals(rate=1.0, rows=5, phase=0.5)),
        StageSpec("join", "join", inputs=("left", "right"), window=Window(1.0)),
    )
    series = run(Scenario("join", (Job("job", stages),), seconds=3.0)).jobs["job"]
    assert list(series.time) == [1.5, 2.5]
    assert list(series.rows) == [8, 8]


def test_windows_of_windows() -> None:
    stages = (
        source(rate=2.0),
        StageSpec("short", "window", window=Window(1.0)),
        StageSpec("long", "window", window=Window(2.0)),
    )
    series = run(Scenario("windows", (Job("job", stages),), seconds=5.0)).jobs["job"]
    assert list(series.p + 1) == [2_000_000, 4_000_000]
    assert list(series.rows) == [4, 4]


def test_a_silent_source_holds_windows_back_and_speaks_for_the_empty_ones_it_skipped() -> None:
    points = (
        tuple((t, 1, round(t * 1e6), 0.0) for t in (0.5, 1.5, 2.5, 3.5)),
        ((0.25, 1, 250_000, 0.0), (3.75, 1, 3_750_000, 0.0)),
    )
    stages = (
        StageSpec("source", "source", 2, arrivals=Recorded(points)),
        StageSpec("partial", "window", 2, window=Window(1.0)),
        StageSpec("merge", "merge", window=Window(1.0), edge="one"),
    )
    series = run(Scenario("silent", (Job("job", stages),), seconds=4.0)).jobs["job"]
    assert list(series.time) == [3.75, 3.75, 3.75]
    assert list(series.rows) == [2, 1, 1]


def test_a_slow_operator_holds_back_those_before_it() -> None:
    # One message may be between any two: what follows waits at the source, and its wait counts.
    stages = (source(rate=1000.0), StageSpec("fast", cost=Cost(message=0.1)), StageSpec("slow", cost=Cost(message=1.0)))
    scenario = Scenario("full", (Job("job", stages),), Cluster(workers=2, channel=1), seconds=0.004)
    result = run(scenario, timeline=True)
    assert result.timeline is not None
    begins = {name: [] for name in ("fast", "slow")}  # type: dict[str, list[float]]
    for event in result.timeline["traceEvents"]:
        begins[event["name"].split()[1]].append(round(event["ts"] / 1e6, 9))
    assert begins == {"fast": [0.0, 1.1, 2.2, 3.3], "slow": [0.1, 1.2, 2.3, 3.4]}
    assert list(result.jobs["job"].latency.round(9)) == [1.1, 2.199, 3.298, 4.397]


def test_room_on_another_node_is_known_after_the_exchange() -> None:
    stages = (
        source(rate=1000.0),
        StageSpec("fast", cost=Cost(message=0.1), nodes=(0,)),
        StageSpec("slow", cost=Cost(message=1.0), nodes=(1,)),
    )
    cluster = Cluster(nodes=2, exchange=0.01, channel=1)
    # fast to 0.1, there at 0.11, slow to 1.11, known at 1.12; then the same again.
    assert latencies(Scenario("far", (Job("job", stages),), cluster, seconds=0.002)) == [1.11, 2.229]


def test_a_source_with_a_cost_is_scheduled_work() -> None:
    stages = (replace(source(), cost=Cost(message=0.03)), StageSpec("work", cost=Cost(message=0.02)))
    result = run(Scenario("poll", (Job("job", stages),), seconds=0.1))
    assert list(result.jobs["job"].latency.round(9)) == [0.05]
    assert result.runs == 2


def two_jobs() -> Scenario:
    work = StageSpec("work", cost=Cost(message=0.1))
    bulk = Job("bulk", (source(rate=1.0), work), latency=100.0, group="ba")
    urgent = Job("urgent", (source(rate=1.0), work), latency=0.1, group="ls")
    return Scenario("two", (bulk, urgent), seconds=1.0)


@pytest.mark.parametrize(("policy", "order"), [("llf", [0.2, 0.1]), ("edf", [0.2, 0.1]), ("fifo", [0.1, 0.2])])
def test_of_what_came_at_the_same_time_the_policy_chooses(policy: str, order: list[float]) -> None:
    result = run(two_jobs(), policy)
    assert [round(result.jobs[name].latency[0], 9) for name in ("bulk", "urgent")] == order
    assert result.group("ls").met == (1.0 if order[1] == 0.1 else 0.0)


def test_several_workers_of_a_node_run_different_operators_at_once() -> None:
    scenario = replace(two_jobs(), cluster=Cluster(workers=2))
    result = run(scenario, "fifo")
    assert [round(job.latency[0], 9) for job in result.jobs.values()] == [0.1, 0.1]
    assert result.utilisation == pytest.approx(0.1)


def test_what_came_in_the_warm_up_does_not_count() -> None:
    job = Job("job", (source(rate=1.0, rows=7), StageSpec("work", cost=Cost(message=0.5))), latency=1.0)
    group = run(Scenario("warm", (job,), seconds=10.0, warm_up=4.0)).group("all")
    assert (group.offered_rows_per_s, group.rows_per_s, group.rows, group.seconds) == (7.0, 7.0, 42, 6.0)
    assert group.utilisation == pytest.approx(0.5)


def test_a_rate_counts_the_work_on_rows_and_not_how_many_wait_half_done() -> None:
    """Two stages of equal cost in an overload: who reads ahead, as deadlines do until a window ends, does no more."""
    cost, window = Cost(row=1e-5), Window(10.0)
    collect = StageSpec("collect", "window", 4, cost, window=window), StageSpec("merge", "merge", window=window)
    arrivals = Arrivals(rate=5.0, rows=1000)
    stages = (StageSpec("source", "source", 4, arrivals=arrivals), StageSpec("parse", "regular", 4, cost), *collect)
    job = Job("bulk", stages, 3600.0, count=5)
    scenario = Scenario("overload", (job,), seconds=20.0, warm_up=5.0)
    groups = {policy: run(scenario, policy).groups[0] for policy in ("llf", "fifo", "orleans")}
    assert groups["llf"].rows > 1.05 * groups["fifo"].rows
    assert [group.rows_per_s for group in groups.values()] == [pytest.approx(5e4, rel=0.002)] * 3


def test_jobs_start_and_end() -> None:
    job = Job("job", (source(rate=1.0), StageSpec("work")), start=2.0, end=4.0)
    assert list(run(Scenario("later", (job,), seconds=10.0)).jobs["job"].time) == [2.0, 3.0]


def test_without_draining_the_simulation_ends_with_its_sources() -> None:
    job = Job("job", (source(), StageSpec("work", cost=Cost(message=1.0))))
    scenario = Scenario("cut", (job,), seconds=2.5, drain=False)
    result = run(scenario)
    assert list(result.jobs["job"].time) == [1.0, 2.0]
    assert result.groups[0].correct
    assert len(run(replace(scenario, drain=True)).jobs["job"].time) == 25
