"""The worked example of Enjima: who runs when, exactly."""

from __future__ import annotations

import pytest

from bench.enjima.table1 import EXCHANGED, SELECTIVITY, enjima, schedule
from headway.scheduling import MinLatency, Policy


@pytest.mark.parametrize(
    ("policy", "selectivity", "order"),
    [
        pytest.param(enjima(), SELECTIVITY, "D C E B A", id="enjima, as printed"),
        pytest.param(enjima(), EXCHANGED, "C D E B A", id="enjima, the table's order"),
        pytest.param(MinLatency(), SELECTIVITY, "E D E C E B D C", id="ml, as printed"),
        pytest.param(MinLatency(), EXCHANGED, "E C E D E B C D", id="ml, the table's order"),
    ],
)
def test_five_decisions_against_eight(policy: Policy, selectivity: dict[str, float], order: str) -> None:
    assert schedule(policy, selectivity) == order.split()
