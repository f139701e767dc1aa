"""Least laxity first."""

from __future__ import annotations

from virtual_node import VirtualNode

from headway.scheduling import Converter, Llf


def test_of_equal_deadlines_the_longer_way_goes_first() -> None:
    policy, node = Llf(), VirtualNode(Llf().queue())
    ways = {"short": Converter("a", 1.0, cost=0.1), "long": Converter("b", 1.0, cost=0.1, path=0.5)}
    for name, converter in ways.items():
        node.send_at(0.0, name, policy.at_source(converter, 0.0, 0.0), 0.1)
    node.run(until=1.0)
    assert [run.operator for run in node.runs] == ["long", "short"]
