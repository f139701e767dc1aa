"""What it takes to get a row out of the query, from every operator on: the base of Enjima's policies.

1. Output selectivity: how many results a row leads to, S = s x max over the operators downstream of their S; s for a
   sink, which gives what it takes.
2. Output cost: what a result costs that is made from what waits here, C = c / S + the sum of c_k / S_k over all
   operators downstream, each once, however many ways lead to it. (Enjima's equation names the operators next to this
   one, its text the way to the sink, and its published code counts some of them several times.)
3. Global cost: what a row costs on all its ways, G = c + s x the sum over the operators downstream of their G; the rate
   of an operator is S / G.
4. These travel upstream with replies, across nodes too, and are computed anew when an operator replies and something
   was measured of it, or told by those downstream, since it did last.
"""

from __future__ import annotations

from collections.abc import Hashable
from operator import is_not
from typing import Any, NamedTuple

from headway.scheduling.api import Policy
from headway.scheduling.contexts import Converter, Profile, ReplyContext
from headway.scheduling.flow import Flow


class Below(NamedTuple):
    """What is known of a stage and of all below it."""

    selectivity: float
    costs: dict[Hashable, float]
    """By stage, c / S."""
    work: float
    """Global cost."""


class OutputCosts(Policy):
    """Base of the policies that know output costs. They keep a `Below` in each converter."""

    def prepare_reply(self, profile: Profile, converters: list[Converter], waiting: int) -> ReplyContext:
        flow = profile.flow
        outputs = [converter.own for converter in converters]
        if flow.below is None or any(map(is_not, flow.below[0], outputs)):
            flow.below = outputs, _below(flow, outputs)
        return super().prepare_reply(profile, converters, waiting)._replace(own=flow.below[1])

    def process_reply(self, converter: Converter, sender: Hashable, reply: ReplyContext) -> None:
        super().process_reply(converter, sender, reply)
        if isinstance(reply.own, Below):
            converter.own = reply.own


def _below(flow: Flow, outputs: list[Any]) -> Below:
    """What follows from what was measured here and is known of the stages next to it."""
    known = [below for below in outputs if isinstance(below, Below)]
    own = flow.selectivity if outputs else 1.0
    selectivity = own * max((below.selectivity for below in known), default=1.0)
    costs = {stage: cost for below in known for stage, cost in below.costs.items()}
    share = flow.cost / selectivity
    work = flow.cost + own * sum(below.work for below in known)
    flow.output_selectivity = selectivity
    flow.output_cost = share + sum(costs.values())
    if work > 0.0:
        flow.rate = selectivity / work
    costs[flow.stage] = share
    return Below(selectivity, costs, work)
