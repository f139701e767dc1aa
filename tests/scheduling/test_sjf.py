"""Shortest job first."""

from __future__ import annotations

from headway.scheduling import Converter, Sjf


def test_the_cheaper_goes_first_however_urgent_the_other() -> None:
    policy = Sjf()
    queue = policy.queue()
    queue.push("urgent", policy.at_source(Converter("a", 0.1, cost=0.02), 0.0, 0.0), 0, 0.0)
    queue.push("cheap", policy.at_source(Converter("b", 9.0, cost=0.01), 0.0, 0.0), 1, 0.0)
    assert queue.pop(0.0) == "cheap"


def test_a_query_that_has_had_much_time_is_not_set_back() -> None:
    policy = Sjf(patience=1e9)
    queue = policy.queue()
    cheap, dear = (policy.at_source(Converter(q, 0.1, cost=c), 0.0, 0.0) for q, c in (("a", 0.01), ("b", 0.02)))
    queue.push("dear", dear, 0, 100.0)
    for n in range(100):
        queue.push("cheap", cheap, 0, 100.0 + n)
        assert queue.pop(100.0 + n) == "cheap"
        queue.done("cheap", 101.0 + n)
