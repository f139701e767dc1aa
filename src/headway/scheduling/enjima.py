"""Enjima's policy: state-based, for low latency within which runs are long enough to be worth it.

1. Priority: 1 / output cost x W. What is nearest to the query's end goes first, so that rows in flight get out; W, from
   0.9 to 1.1 with the gradient of the query's latency, prefers queries that fall behind.
2. A query is visited for what it has to do, and each once a round: see `rounds`. (Not in the paper, which compares
   the operators of all queries: queries of one kind differ in measured cost by more than W can make up for, on a node
   that is nearly full some waited for a second and more, and who stayed with a query for longer was faster.)
3. Eligibility of sources: see `thresholds`. Those with few rows wait for more, but not for long. What is in flight
   waits for nothing: it has come in batches already. (In the paper it waits as well: `everywhere`.)
4. A turn takes as many rows as fit into an epoch, and `least_rows` in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from headway.scheduling.api import Queue
from headway.scheduling.flow import Flow, Lag
from headway.scheduling.output_cost import OutputCosts
from headway.scheduling.rounds import Rounds
from headway.scheduling.state_queue import PERIOD
from headway.scheduling.thresholds import EVENTS, IDLE, Range, thresholds_of

LEAST_ROWS = 1000


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
    everywhere: bool = False
    """Whether operators that are no sources wait for more rows, too."""

    name = "enjima"

    def priority(self, flow: Flow) -> float:
        return weight(flow.lag) / flow.output_cost if flow.output_cost > 0.0 else inf

    def eligible(self, flow: Flow, now: float) -> bool:
        if flow.backlog is None and not self.everywhere:
            return True
        thresholds = thresholds_of(flow.lag, self.events, self.idle)
        thresholds.adapt(flow.lag.gradient, now)
        return thresholds.eligible(flow, now)

    def eligible_from(self, flow: Flow) -> float:
        if flow.backlog is None and not self.everywhere:
            return -inf
        return flow.last + thresholds_of(flow.lag, self.events, self.idle).idle

    def rows(self, flow: Flow, seconds: float) -> int:
        """Eqn. 4, read as the time over the cost of a row."""
        return max(round(seconds / flow.cost), self.least_rows) if flow.cost > 0.0 else self.least_rows

    def queue(self, workers: int = 1) -> Queue:
        return Rounds(self, self.period)
