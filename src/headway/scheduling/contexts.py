"""Scheduling contexts: what messages and acknowledgements carry so that an operator's urgency is known where it waits.

1. A priority context goes with every message: made at the source, then converted by every operator that sends on.
   It is all that a node's queue looks at; so the scheduler keeps no state of its own about queries.
2. A reply context goes back with acknowledgements: what the receiver costs, and what the costliest way from it to an
   output costs. An operator knows the critical path below it from the replies it got, and so tells it upstream.
3. A converter is what a sender holds of one downstream stage: the facts of the query, the replies, the progress map.
   Its fields that never change come first.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from headway.scheduling.flow import Flow
from headway.scheduling.progress import ProgressMap, Windows

NOISE = 0.1
"""Measured costs waver by such a part, which makes nobody more urgent."""
SMOOTHING = 0.2
"""The weight of the newest measured cost."""


class PriorityContext(NamedTuple):
    """How urgent a message is; the lower a priority, the sooner. The message's serial number is its id."""

    local: float
    """Order among the messages of one operator: frontier time, in Cameo's own policies."""
    priority: float
    """Order among operators: the latest time to start, in Cameo's own policies."""
    p: int | None
    """Frontier progress: the logical time that the operator's next result needs, microseconds."""
    t: float
    """Frontier time: when it is expected at the source, seconds."""
    latency: float
    """The query's target, seconds; infinite for bulk."""
    query: Hashable
    tag: Any = None
    """For a policy of one's own; travels on to all that the message causes."""


class ReplyContext(NamedTuple):
    """What an operator tells upstream with an acknowledgement. Seconds."""

    cost: float
    path: float
    queueing: float = 0.0
    queue: int = 0
    own: Any = None
    """For a policy of one's own."""


UNKNOWN = ReplyContext(0.0, 0.0)
EARLIEST = PriorityContext(-inf, -inf, None, -inf, 0.0, None)


class Held(NamedTuple):
    """The context of a message, and which others it counts for: those with arrivals of this range and, if the message
    waits for a frontier, with event times of the other, from partitions that are in the same window."""

    begin: int
    end: int
    since: float
    until: float
    number: int | None
    """Of the window; None: it waits for none."""
    context: PriorityContext


@dataclass(slots=True)
class Converter:
    """What a sender knows of one downstream stage; see the module."""

    query: Hashable
    latency: float = inf
    windows: Windows | None = None
    """When windows of the receiver end; None: it is a regular operator, or its windows are as wide as the sender's."""
    progress: ProgressMap | None = None
    """Not None iff progress is event time: with ingestion time, logical and physical time are the same."""

    cost: float = 0.0
    path: float = 0.0
    replies: dict[Hashable, ReplyContext] = field(default_factory=dict)
    reached: dict[Hashable, int] = field(default_factory=dict)
    """Per source partition, the number of the window that its event time has come to."""
    ends: dict[int, float] = field(default_factory=dict)
    """When the frontier that is waited for is expected, and no other: by frontier progress."""
    held: Held | None = None
    own: Any = None
    """For a policy of one's own."""

    def replied(self, sender: Hashable, reply: ReplyContext) -> None:
        """One operator of the receiving stage told its costs; the slowest of them counts."""
        self.replies[sender] = reply
        slowest = max(self.replies.values(), key=_whole_path)
        before = self.cost + self.path
        self.cost, self.path = slowest.cost, slowest.path
        if abs(self.cost + self.path - before) > NOISE * before:
            self.held = None


def _whole_path(reply: ReplyContext) -> float:
    return reply.cost + reply.path


@dataclass(slots=True)
class Profile:
    """What an operator measured of its own runs.

    A run that only takes rows and one that makes a window's results cost differently: a path counts the costlier.
    """

    taking: float = 0.0
    triggering: float = 0.0
    queueing: float = 0.0
    runs: int = 0
    flow: Flow = field(default_factory=Flow)

    @property
    def cost(self) -> float:
        return max(self.taking, self.triggering)

    def ran(self, seconds: float, triggered: bool) -> None:
        """A run took so long; `triggered` iff a mark made results leave."""
        self.runs += 1
        if triggered:
            self.triggering = _smooth(self.triggering, seconds)
        else:
            self.taking = _smooth(self.taking, seconds)

    def waited(self, seconds: float) -> None:
        self.queueing = _smooth(self.queueing, seconds)


def _smooth(before: float, newest: float) -> float:
    return newest if before == 0.0 else before + SMOOTHING * (newest - before)
