"""How long sources rest between two polls, so that what a poll costs however few rows it brings does not fill a node.

1. While a node has something to do nearly all the time, rests become longer, by half in every while; else they become
   shorter again, as quickly. So batches have more rows where a message costs much: a join, say, takes nearly as long
   for ten rows as for a hundred.
2. A source's latency target bounds its own rest; that is the source's to know. A node that is filled by its rows, not
   by its polls, gains nothing, and loses no more than that.
"""

from __future__ import annotations

from dataclasses import dataclass

BUSY = 0.95
"""A part of the time."""
STEP = 1.5
"""What rests are multiplied or divided by, the same both ways: a node that its rows alone keep busy for nine tenths
of the time has bad moments, and what they have made long is latency for nothing."""
LONGEST = 64.0


@dataclass
class Pace:
    """See the module. `stretch`: how many times longer rests are than the shortest.

    >>> pace = Pace()
    >>> for busy in (0.96, 1.0, 0.94, 0.5):
    ...     pace.passed(busy, seconds=1.0)
    ...     print(round(pace.stretch, 3))
    1.5
    2.25
    1.5
    1.0
    """

    stretch: float = 1.0

    def passed(self, busy: float, seconds: float) -> None:
        """So many seconds have passed since the last call, and in so many of them the node did something."""
        if busy > BUSY * seconds:
            self.stretch = min(self.stretch * STEP, LONGEST)
        else:
            self.stretch = max(self.stretch / STEP, 1.0)
