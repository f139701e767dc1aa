"""A bag that prefers the worker's own recent work."""

from __future__ import annotations

from virtual_node import context

from headway.scheduling import Orleans
from headway.scheduling.orleans import Bag

ANY = context(0.0)


def bag(outside: str = "", own: str = "", others: str = "", quantum: float = 0.1) -> Bag:
    """Operators are letters; worker 0 is the own, worker 1 the other."""
    made = Bag(quantum)
    for place, worker in ((outside, None), (others, 1), (own, 0)):
        for operator in place:
            made.push(operator, ANY, 0, 0.0, worker)
    return made


def all_of(queue: Bag, worker: int = 0) -> str:
    return "".join(iter(lambda: queue.pop(0.0, worker), None))


def test_own_work_first_and_its_newest_then_the_oldest_from_outside_then_that_of_others() -> None:
    assert all_of(bag(outside="ab", own="cd", others="ef")) == "dcabef"


def test_another_worker_prefers_its_own() -> None:
    assert all_of(bag(outside="ab", own="cd", others="ef"), worker=1) == "feabcd"


def test_one_that_waits_keeps_its_place() -> None:
    queue = bag(outside="a", own="b")
    queue.push("a", ANY, 0, 0.0, 0)
    assert all_of(queue) == "ba"


def test_turns_last_the_quantum() -> None:
    queue, order = bag(outside="ab", quantum=0.1), ""
    for n in range(4):
        operator = queue.pop(n * 0.06)
        order += str(operator)
        queue.push(operator, ANY, 0, n * 0.06)
    assert order == "aabb"


def test_turns_leave_nothing_behind() -> None:
    queue = bag(own="a", quantum=1.0)
    for n in range(1000):
        operator = queue.pop(n * 0.01)
        queue.push(operator, ANY, 0, n * 0.01, 0)
    assert sum(map(len, queue._own.values())) == len(queue) == 1


def test_the_policy_takes_its_quantum() -> None:
    queue = Orleans(quantum=0.0).queue()
    queue.push("a", ANY, 0, 0.0)
    queue.push("b", ANY, 0, 0.0)
    queue.pop(0.0)
    queue.push("a", ANY, 0, 0.0)
    assert queue.pop(0.0) == "b"
