"""Which files a state is in, epoch by epoch."""

from headway.node.deployed import Parts
from headway.node.operators.host import State


def test_what_is_added_needs_the_files_before_it_and_what_is_whole_does_not() -> None:
    parts = Parts()
    assert parts.written({1: State(adds=True), 2: State()}, {1: "a1", 2: "b1"}) == {1: ["a1"], 2: ["b1"]}
    assert parts.written({1: State(adds=True), 2: State()}, {1: "a2", 2: "b2"}) == {1: ["a1", "a2"], 2: ["b2"]}
    assert parts.written({1: State(adds=True), 2: State()}, {}) == {1: ["a1", "a2"]}
    assert parts.written({1: State(), 2: State()}, {1: "a4"}) == {1: ["a4"]}
