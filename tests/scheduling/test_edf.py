"""Earliest deadline first."""

from __future__ import annotations

from headway.scheduling import Converter, Edf, Llf, Policy
from headway.scheduling.contexts import EARLIEST


def test_the_operators_own_cost_does_not_count_but_the_path_does() -> None:
    def priorities(policy: Policy) -> list[float]:
        dear = Converter("a", 1.0, cost=0.5, path=0.1)
        urgent = Converter("b", 0.9, cost=0.0, path=0.1)
        return [policy.at_operator(c, EARLIEST, None, 0.0, 0, 0.0).priority for c in (dear, urgent)]

    edf, llf = priorities(Edf()), priorities(Llf())
    assert edf[0] > edf[1]
    assert llf[0] < llf[1]
