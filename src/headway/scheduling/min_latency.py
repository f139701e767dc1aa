"""Min Latency: always the operator with the lowest output cost."""

from __future__ import annotations

from math import inf

from headway.scheduling.api import Queue
from headway.scheduling.flow import Flow
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.state_queue import StateQueue


class AnyTime:
    """Rankings without eligibility, whose turns are of one run."""

    def eligible(self, flow: Flow, now: float) -> bool:
        return True

    def eligible_from(self, flow: Flow) -> float:
        return -inf

    def rows(self, flow: Flow, left: float) -> int:
        return 0


class MinLatency(AnyTime, OutputCosts):
    """See the module."""

    name = "ml"

    def priority(self, flow: Flow) -> float:
        return -flow.output_cost

    def queue(self, workers: int = 1) -> Queue:
        return StateQueue(self)
