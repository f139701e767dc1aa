"""Token-based fair sharing."""

from __future__ import annotations

from math import inf

import pytest
from virtual_node import VirtualNode

from headway.errors import InvalidOption
from headway.scheduling import Converter, Tokens

ROOM = 4


class Query:
    """A source that always has more, and an operator after it; each run of either costs the same."""

    def __init__(self, node: VirtualNode, policy: Tokens, name: str, cost: float, start: float = 0.0) -> None:
        self.node, self.policy, self.name, self.cost = node, policy, name, cost
        self.converter, self.below = Converter(name, 1.0), Converter(name, 1.0)
        self.sent = self.taken = 0
        node.at(start, self.poll)

    def poll(self) -> None:
        made = self.policy.at_source(self.converter, self.node.now, self.node.now)

        def read() -> None:
            self.sent += 1
            now = self.node.now
            self.node.send(
                self.name + " sink", self.policy.at_operator(self.below, made, None, now, 0, now), self.cost, self.took
            )
            if self.sent - self.taken < ROOM:
                self.poll()

        self.node.send(self.name + " source", made, self.cost, read)

    def took(self) -> None:
        self.taken += 1
        if self.sent - self.taken == ROOM - 1:
            self.poll()


def shares(tokens: dict[str, int], cost: float, starts: tuple[float, ...] = (0.0, 0.0, 0.0)) -> list[list[float]]:
    """Per 10 seconds of 60, the percentage of the output that each query has."""
    policy = Tokens(tokens)
    node = VirtualNode(policy.queue())
    queries = [Query(node, policy, name, cost, start) for name, start in zip(tokens, starts, strict=True)]
    parts = []
    for until in range(10, 70, 10):
        before = [query.taken for query in queries]
        node.run(until=until)
        done = [query.taken - had for query, had in zip(queries, before, strict=True)]
        parts.append([100 * n / sum(done) for n in done])
    return parts


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [((12, 24, 24), 1 / 100), ((12, 24, 24), 1 / 60), ((120, 240, 240), 1 / 1100), ((600, 1200, 1200), 0.0005)],
)
def test_shares_follow_tokens_where_there_is_less_capacity_than_tokens(
    tokens: tuple[int, int, int], cost: float
) -> None:
    for part in shares(dict(zip("abc", tokens, strict=True)), cost):
        assert part == pytest.approx([20, 40, 40], abs=2)


def test_a_query_alone_takes_everything_until_others_come_as_in_fig_6() -> None:
    parts = shares({"a": 12, "b": 24, "c": 24}, cost=1 / 100, starts=(0.0, 20.0, 40.0))
    assert parts[0] == parts[1] == [100, 0, 0]
    assert parts[3] == pytest.approx([100 * 19 / 50, 100 * 31 / 50, 0], abs=2)  # 12 and 24, and 7 without tokens each
    assert parts[5] == pytest.approx([20, 40, 40], abs=2)


def test_who_was_without_tokens_once_gets_those_of_the_next_interval() -> None:
    """b and c could fill all the time, and the tokens of a are used up when they come."""
    parts = shares({"a": 20, "b": 40, "c": 40}, cost=1 / 120, starts=(0.0, 0.9, 0.9))
    assert parts[1] == pytest.approx([20, 40, 40], abs=2)


def priorities(policy: Tokens, converter: Converter, times: list[float]) -> list[float]:
    return [policy.at_source(converter, now, now).priority for now in times]


def test_tokens_are_spread_evenly_over_their_interval() -> None:
    assert priorities(Tokens({"q": 4}), Converter("q"), [7.0, 7.1, 7.2, 7.3]) == [7.125, 7.375, 7.625, 7.875]


def test_without_a_token_the_next_intervals_first_is_waited_for_and_counts_as_taken() -> None:
    times = [7.0, 7.1, 7.2, 7.3, 8.0, 8.1]
    assert priorities(Tokens({"q": 2}), Converter("q"), times) == [7.25, 7.75, 8.0, 8.0, 8.75, 9.0]


def test_tokens_that_were_not_taken_are_void_at_the_end_of_the_interval() -> None:
    assert priorities(Tokens({"q": 4}), Converter("q"), [7.0, 9.9, 9.9]) == [7.125, 9.125, 9.375]


def test_sources_have_tokens_of_their_own() -> None:
    policy = Tokens({"q": 4})
    assert [priorities(policy, Converter("q"), [7.0, 7.0]) for _ in range(2)] == [[7.125, 7.375]] * 2


@pytest.mark.parametrize("jump", [-1000.0, -1.0, 1000.0])
def test_a_clock_that_jumps_begins_another_interval(jump: float) -> None:
    converter, policy = Converter("q"), Tokens({"q": 2})
    priorities(policy, converter, [5000.0] * 5)
    begin = 5000.0 + jump
    assert priorities(policy, converter, [begin + 0.1] * 2)[-1] in (begin + 0.75, begin + 1.0)


def test_what_a_source_causes_has_the_priority_of_its_token() -> None:
    policy = Tokens({"q": 4})
    source = policy.at_source(Converter("q"), 7.0, 7.0)
    made = policy.at_operator(Converter("q"), source, 3, 9.0, 0, 9.0)
    assert (made.local, made.priority, made.p, made.t) == (source.local, source.priority, 3, 9.0)


def test_a_query_without_tokens_runs_when_nobody_has_any_to_run() -> None:
    assert priorities(Tokens({"a": 5}), Converter("other"), [7.0, 8.0]) == [inf, inf]
    policy = Tokens({"a": 5, "none": 0})
    node = VirtualNode(policy.queue())
    query = Query(node, policy, "none", 0.01)
    node.run(until=10.0)
    assert query.taken == pytest.approx(500, abs=5)


def test_a_query_without_tokens_waits_while_others_have_them() -> None:
    policy = Tokens({"a": 1000, "none": 0})
    node = VirtualNode(policy.queue())
    some, none = (Query(node, policy, name, 0.01) for name in ("a", "none"))
    node.run(until=10.0)
    assert none.taken == 0
    assert some.taken == pytest.approx(500, abs=5)


@pytest.mark.parametrize("interval", [0.0, -1.0, inf, float("nan")])
def test_an_interval_must_be_a_length_of_time(interval: float) -> None:
    with pytest.raises(InvalidOption, match="interval is more than 0 seconds"):
        Tokens({"q": 1}, interval)


def test_tokens_below_zero_are_refused() -> None:
    with pytest.raises(InvalidOption, match="0 or more"):
        Tokens({"q": -1})
