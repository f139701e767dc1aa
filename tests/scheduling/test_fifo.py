"""Arrival order."""

from hypothesis import given
from hypothesis import strategies as st

from headway.scheduling import Fifo, Head


@given(st.permutations(range(20)))
def test_operators_come_out_in_the_order_their_messages_came(order: list[int]) -> None:
    policy = Fifo()
    for arrival in order:
        policy.push(f"operator {arrival}", Head(arrival, None, 0.0, None), now=0.0)
    assert len(policy) == 20
    assert [policy.pop(now=1.0) for _ in range(21)] == [f"operator {n}" for n in range(20)] + [None]
