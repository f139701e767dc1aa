"""Contexts of Cameo's own policies: what windows, paths and perturbed costs do to a deadline."""

from __future__ import annotations

import statistics
from math import inf

import pytest

from headway.scheduling import Converter, Edf, Knowledge, Llf, PriorityContext, ProgressMap, ReplyContext, Sjf, Windows
from headway.scheduling.deadlines import STEPS

SECOND = 1_000_000
CAUSE = PriorityContext(0.0, 0.0, None, 0.0, 5.0, "query", tag="tag")


def windowed(event_time: bool = True, delay: float = 0.0) -> Converter:
    """Windows of 10 seconds, a target of 5; the operator costs 2 and the path below it 1."""
    windows = Windows(0, 10 * SECOND, round(delay * SECOND))
    return Converter("query", 5.0, windows, ProgressMap() if event_time else None, cost=2.0, path=1.0)


def send(policy: Llf, converter: Converter, p: float, t: float, partition: int = 0) -> PriorityContext:
    return policy.at_operator(converter, CAUSE, round(p * SECOND), t, partition, t)


def with_history(policy: Llf, converter: Converter, lag: float = 2.0, until: int = 9) -> None:
    """Messages every half second up to event time `until`, `lag` seconds late."""
    for n in range(2 * until + 1):
        send(policy, converter, n / 2, n / 2 + lag)


def test_a_source_is_due_a_target_after_its_rows_came_less_the_path_below_it() -> None:
    made = Llf().at_source(Converter("query", 5.0, cost=2.0, path=1.0), 30.0, 31.0)
    assert made == PriorityContext(30.0, pytest.approx(34.001), None, 30.0, 5.0, "query", None)


def test_of_equal_times_what_a_source_gave_goes_before_its_next_poll() -> None:
    policy, queue = Llf(), Llf().queue()
    chain = Converter("query", 5.0, cost=2.0, path=1.0)
    source = Converter("query", 5.0, cost=4.0, path=3.0)
    queue.push("chain", policy.at_operator(chain, CAUSE, None, 30.0, 0, 31.0), 1, 31.0)
    queue.push("source", policy.at_source(source, 30.0, 31.0), 2, 31.0)
    assert queue.pop(31.0) == "chain"


def test_a_poll_that_can_complete_no_window_waits_for_its_end() -> None:
    policy = Llf()
    windows = Windows(10_000_000, 10_000_000)
    chain = Converter("query", 5.0, windows, cost=2.0)
    source = Converter("query", 5.0, windows, path=2.0, reached=chain.reached)
    assert policy.at_source(source, 12.0, 12.0).priority == pytest.approx(15.001), "nothing is known yet"
    rows = policy.at_operator(chain, CAUSE, 12_000_000, 12.0, 0, 12.0)
    poll = policy.at_source(source, 13.0, 13.0)
    assert rows.priority == 20.0 + 5.0 - 2.0
    assert poll.priority == pytest.approx(rows.priority + 0.001), "after the rows that are there"


def test_a_message_to_a_regular_operator_goes_by_its_own_time() -> None:
    made = Llf().at_operator(Converter("query", 5.0, cost=2.0, path=1.0), CAUSE, 7 * SECOND, 30.0, 0, 31.0)
    assert made == PriorityContext(30.0, 32.0, 7 * SECOND, 30.0, 5.0, "query", "tag")


def test_a_query_without_a_target_is_never_due() -> None:
    assert Llf().at_source(Converter("query", cost=2.0), 30.0, 30.0).priority == inf


def test_rows_wait_for_the_expected_end_of_their_window() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    made = send(policy, converter, 9.5, 11.5)
    assert made.p == 10 * SECOND
    assert made.local == made.t
    assert 12.0 - 1.5 * 10 / STEPS <= made.t <= 12.0, "on the early side"
    assert made.priority == pytest.approx(made.t + 5.0 - 2.0 - 1.0)


def test_what_completes_a_window_hurries_and_what_follows_waits_for_the_next_end() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    completes = send(policy, converter, 10.0, 12.0)
    follows = send(policy, converter, 10.5, 12.5)
    assert (completes.p, completes.t) == (10 * SECOND, 12.0)
    assert completes.priority == pytest.approx(14.0)
    assert follows.p == 20 * SECOND
    assert follows.t == 12.5 + 5.0, "the end is at 22, but no row waits for more than a target"


def test_what_completes_several_windows_hurries_for_the_first_of_them() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    made = send(policy, converter, 47.0, 12.0)
    assert (made.p, made.t) == (10 * SECOND, 12.0)
    assert send(policy, converter, 48.0, 13.0).p == 50 * SECOND


def test_late_rows_wait_with_the_window_that_is_open() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter, until=12)
    made = send(policy, converter, 3.0, 14.5)
    assert made.p == 20 * SECOND
    assert made.t > 14.5
    assert send(policy, converter, 13.0, 15.0).p == 20 * SECOND


def test_the_watermarks_delay_puts_the_end_off() -> None:
    policy, converter = Llf(), windowed(delay=3.0)
    with_history(policy, converter)
    assert 15.0 - 1.5 * 10 / STEPS <= send(policy, converter, 10.0, 12.0).t <= 15.0
    assert send(policy, converter, 13.0, 15.0).t == 15.0


def test_each_partition_completes_its_windows_itself() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    send(policy, converter, 9.0, 11.0, partition=1)
    assert send(policy, converter, 10.0, 12.0, partition=0).p == 10 * SECOND
    assert send(policy, converter, 10.1, 12.1, partition=1).p == 10 * SECOND
    assert send(policy, converter, 10.2, 12.2, partition=1).p == 20 * SECOND


def test_the_first_message_of_a_partition_completes_nothing() -> None:
    assert send(Llf(), windowed(), 25.0, 27.0).p == 30 * SECOND


def test_event_time_before_1970_has_windows_too() -> None:
    policy, converter = Llf(), windowed()
    for n in range(20):
        send(policy, converter, n / 2 - 20, n / 2)
    assert send(policy, converter, -10.25, 9.75).p == -10 * SECOND
    assert send(policy, converter, -10.0, 10.0).t == 10.0
    assert send(policy, converter, -9.5, 10.5).p == 0


def test_without_enough_history_a_windowed_operator_is_as_a_regular_one() -> None:
    made = send(Llf(), windowed(), 3.0, 5.0)
    assert (made.t, made.priority) == (5.0, 7.0)


def test_a_frontier_is_never_expected_before_the_message_itself() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    assert send(policy, converter, 9.9, 40.0).t >= 40.0


def test_with_ingestion_time_the_end_of_the_window_is_its_time() -> None:
    policy, converter = Llf(), windowed(event_time=False)
    assert send(policy, converter, 3.0, 3.0).t == 10.0
    assert send(policy, converter, 10.5, 10.5).t == 10.5
    assert send(policy, converter, 11.0, 11.0).t == 20.0


def test_without_semantics_no_deadline_is_extended() -> None:
    policy, converter = Llf(Knowledge(semantics=False)), windowed()
    with_history(policy, converter)
    made = send(policy, converter, 9.5, 11.5)
    assert (made.t, made.priority) == (11.5, 13.5)


def test_without_topology_the_path_does_not_count() -> None:
    policy = Llf(Knowledge(topology=False))
    converter = Converter("query", 5.0, cost=2.0, path=1.0)
    assert policy.at_source(converter, 30.0, 30.0).priority == pytest.approx(35.001)
    assert policy.at_operator(converter, CAUSE, None, 30.0, 0, 30.0).priority == 33.0


@pytest.mark.parametrize("kind", [Llf, Sjf])
def test_a_cost_error_perturbs_costs_with_its_deviation(kind: type[Llf | Sjf]) -> None:
    converter = Converter("query", 5.0, cost=2.0)
    exact = kind().at_source(converter, 30.0, 30.0).priority
    policy = kind(Knowledge(cost_error=0.1))
    errors = [policy.at_source(converter, 30.0, 30.0).priority - exact for _ in range(4000)]
    assert statistics.mean(errors) == pytest.approx(0.0, abs=0.01)
    assert statistics.stdev(errors) == pytest.approx(0.1, rel=0.05)


def test_a_seed_repeats_the_errors_and_another_does_not() -> None:
    def priorities(seed: int) -> list[float]:
        policy = Llf(Knowledge(cost_error=0.1), seed=seed)
        return [policy.at_source(Converter("query", 5.0), 30.0, 30.0).priority for _ in range(5)]

    assert priorities(1) == priorities(1) != priorities(2)


def test_a_cost_error_does_not_touch_the_deadlines_of_edf() -> None:
    policy = Edf(Knowledge(cost_error=0.1))
    assert policy.at_source(Converter("query", 5.0, cost=2.0), 30.0, 30.0).priority == pytest.approx(35.001)


def test_like_queries_whose_costs_differ_by_less_than_the_grain_take_turns() -> None:
    policy, queue = Llf(), Llf().queue()
    for name, cost in (("a", 0.0002), ("b", 0.0004), ("c", 0.0003)):
        context = policy.at_operator(Converter(name, 5.0, cost=cost), CAUSE, None, 30.0009, 0, 31.0)
        queue.push(name, context, 0, 31.0)
    assert [queue.pop(31.0 + number) for number in range(3)] == ["a", "b", "c"]


def test_rows_of_one_window_share_a_context_for_a_while_unless_costs_change() -> None:
    policy, converter = Llf(), windowed()
    with_history(policy, converter)
    converter.replied("node", ReplyContext(converter.cost, 0.0))
    first, second, later = (send(policy, converter, p, p + 2.0) for p in (9.5, 9.51, 9.7))
    assert first is second
    assert later is not first
    assert later == first
    converter.replied("node", ReplyContext(1.05 * converter.cost, 0.0))
    assert send(policy, converter, 9.71, 11.71) is later
    converter.replied("node", ReplyContext(converter.cost + 1.0, 0.0))
    assert send(policy, converter, 9.72, 11.72).priority < first.priority
