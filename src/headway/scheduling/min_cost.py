"""Min Cost: query by query, from the sources to the sink, each operator until it has no more.

That is the traversal of a query in post-order with its sink as the root: every operator is called once for all that
waits, which is the least overhead per row.
"""

from __future__ import annotations

from headway.scheduling.api import Policy, Queue
from headway.scheduling.round_robin import Cycle


class MinCost(Policy):
    """See the module."""

    name = "mc"

    def queue(self, workers: int = 1) -> Queue:
        return Cycle(drain=True)
