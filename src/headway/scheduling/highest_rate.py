"""Highest Rate: the operator that makes the most results per second of work, its own and all below it."""

from __future__ import annotations

from headway.scheduling.api import Queue
from headway.scheduling.flow import Flow
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.state_queue import StateQueue


class HighestRate(OutputCosts):
    """See the module."""

    name = "hr"

    def priority(self, flow: Flow) -> float:
        return flow.rate

    def queue(self, workers: int = 1) -> Queue:
        return StateQueue(self.priority)
