"""Min Latency: always the operator with the lowest output cost."""

from __future__ import annotations

from headway.scheduling.api import Queue
from headway.scheduling.flow import Flow
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.state_queue import StateQueue


class MinLatency(OutputCosts):
    """See the module."""

    name = "ml"

    def priority(self, flow: Flow) -> float:
        return -flow.output_cost

    def queue(self, workers: int = 1) -> Queue:
        return StateQueue(self.priority)
