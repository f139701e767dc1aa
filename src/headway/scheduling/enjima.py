"""Enjima's policy: state-based, for low latency within which runs are long enough to be worth it.

1. Priority: 1 / output cost x W. What is nearest to the query's end goes first, so that rows in flight get out; W, from
   0.9 to 1.1 with the gradient of the query's latency, prefers queries that fall behind.
2. Eligibility: see `thresholds`. Operators with few rows wait for more, but not for long.
3. A source that was not read for `patience`, while many others had turns, goes first. (Not in the paper: queries of
   one kind differ in measured cost by more than W can make up for, and on a node that is nearly full the dearest of six
   was late by seconds.) What is in flight has far more patience.
4. A turn takes as many rows as fit into what is left of the epoch, so that workers come back near its end, and
   `least_rows` in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from headway.scheduling.api import Queue
from headway.scheduling.flow import Flow, Lag
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.state_queue import PERIOD, StateQueue
from headway.scheduling.thresholds import EVENTS, IDLE, Range, thresholds_of

LEAST_ROWS = 1000
PATIENCE = 0.05


def weight(lag: Lag) -> float:
    """W of a query: its latency gradient, bounded to 0.9 … 1.1."""
    return max(min(lag.gradient, 1.0), -1.0) / 10.0 + 1.0


@dataclass(frozen=True)
class Enjima(OutputCosts):
    """See the module."""

    period: float = PERIOD
    events: Range = EVENTS
    idle: Range = IDLE
    least_rows: int = LEAST_ROWS
    patience: float = PATIENCE

    name = "enjima"

    def priority(self, flow: Flow) -> float:
        return weight(flow.lag) / flow.output_cost if flow.output_cost > 0.0 else inf

    def eligible(self, flow: Flow, now: float) -> bool:
        thresholds = thresholds_of(flow.lag, self.events, self.idle)
        thresholds.adapt(flow.lag.gradient, now)
        return thresholds.eligible(flow, now)

    def eligible_from(self, flow: Flow) -> float:
        return flow.last + thresholds_of(flow.lag, self.events, self.idle).idle

    def rows(self, flow: Flow, left: float) -> int:
        """Eqn. 4, read as the time that is left over the cost of a row."""
        return max(round(left / flow.cost), self.least_rows) if left > 0.0 and flow.cost > 0.0 else self.least_rows

    def queue(self, workers: int = 1) -> Queue:
        return StateQueue(self, self.period, self.patience)
