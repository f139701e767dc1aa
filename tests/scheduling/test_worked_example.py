"""Cameo's worked example (Fig. 4): two jobs, four messages, four schedules."""

from __future__ import annotations

import pytest
from virtual_node import VirtualNode

from headway.scheduling import Converter, Fifo, Knowledge, Llf, Policy, Windows

UNIT = 0.001
FREE = 50  # when the worker is free; all four messages wait by then
COSTS = {"o1": 25, "o2": 20}
MESSAGES = {"M1": ("o1", 10), "M2": ("o2", 30), "M3": ("o1", 35), "M4": ("o2", 40)}
TARGETS = {"o1": 80, "o2": 50}
WINDOW = 100  # J1's windows end at its multiples


def converter(operator: str) -> Converter:
    windows = Windows(int(WINDOW * UNIT * 1e6), int(WINDOW * UNIT * 1e6)) if operator == "o1" else None
    return Converter(operator, TARGETS[operator] * UNIT, windows, cost=COSTS[operator] * UNIT)


def schedule(policy: Policy) -> dict[str, float]:
    """When each message's run ends, in the order of the runs."""
    converters = {operator: converter(operator) for operator in COSTS}
    node = VirtualNode(policy.queue())
    blocker = policy.at_source(Converter("other", 0.0), 0.0, 0.0)
    node.send_at(0.0, "other", blocker, FREE * UNIT)
    for name, (operator, t) in MESSAGES.items():
        at = t * UNIT
        message = policy.at_operator(converters[operator], blocker, round(at * 1e6), at, 0, at)._replace(tag=name)
        node.send_at(at, operator, message, COSTS[operator] * UNIT)
    node.run(until=1.0)
    return {run.message.context.tag: round(run.ended / UNIT) for run in node.runs[1:]}


def violations(ends: dict[str, float]) -> list[str]:
    """J2's messages that are late; J1's window is complete at 100 only and is never late here."""
    return [name for name in ("M2", "M4") if ends[name] > MESSAGES[name][1] + TARGETS["o2"]]


@pytest.mark.parametrize(
    ("policy", "order", "late"),
    [
        pytest.param(Fifo(quantum=1 * UNIT), "M1 M2 M3 M4", ["M2", "M4"], id="a: by arrival, a small quantum"),
        pytest.param(Fifo(quantum=100 * UNIT), "M1 M3 M2 M4", ["M2", "M4"], id="b: by arrival, a large quantum"),
        pytest.param(Llf(Knowledge(semantics=False)), "M2 M1 M4 M3", ["M4"], id="c: knows the topology"),
        pytest.param(Llf(), "M2 M4 M1 M3", [], id="d: knows the semantics too"),
    ],
)
def test_the_four_schedules(policy: Policy, order: str, late: list[str]) -> None:
    """From the text are: t, L and C of M2 (30, 50, 20), that J2 misses twice in a and b and less in c, and that d
    runs M2, then M4, before M1 and M3. The figure's other numbers are not in the text. Those here are ours and agree
    with it: M1, M3 and M4 come at 10, 35 and 40, o1 costs 25, J1's target is 80, its window ends at 100, and the
    worker has other things to do until 50."""
    ends = schedule(policy)
    assert list(ends) == order.split()
    assert violations(ends) == late


def test_the_start_deadline_of_m2_is_60() -> None:
    o2 = Converter("J2", latency=50, cost=20)
    assert Llf().at_operator(o2, Llf().at_source(o2, 30, 30), None, 30, 0, 30).priority == 60


def test_windows_of_j1_extend_its_deadlines_to_those_of_their_end() -> None:
    policy, o1 = Llf(), converter("o1")
    source = policy.at_source(o1, 0.0, 0.0)
    contexts = [policy.at_operator(o1, source, t * 1000, t * UNIT, 0, t * UNIT) for t in (10, 35)]
    assert [c.priority for c in contexts] == pytest.approx([0.155, 0.155])  # 100 + 80 - 25
