"""The operators of a simulation, and what connects them. They know no clock: the engine moves messages between them.

1. An operator takes the message that goes first: by its context's local priority among channels, in order of arrival in
   each.
2. Messages carry two logical times: p, that of their last event, and mark, before which nothing follows on the channel.
   `weight` counts the source's rows that a message stands for, so that nothing can be lost or doubled unseen; one
   without weight only carries its mark.
3. `take` changes the operator's state and says what leaves when the run is over.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from headway.scheduling import Converter, PriorityContext, Profile, Windows
from headway.simulate.arrivals import Stream
from headway.simulate.jobs import Cost

NEVER = -(1 << 62)
"""The mark of a channel that nothing has come through yet."""
_DRAWN = 64


class Leaving(NamedTuple):
    """A message without its address. `event` is the event time of its rows."""

    p: int
    event: int
    mark: int
    t: float
    rows: int
    weight: int
    partition: int


class Message:
    """What waits in a channel."""

    __slots__ = ("arrival", "context", "since", "what")

    def __init__(self, what: Leaving, context: PriorityContext) -> None:
        self.what = what
        self.context = context
        self.arrival = 0
        self.since = 0.0


class Channel:
    """From one operator to another. `remote`: they are on different nodes."""

    __slots__ = ("counts", "edge", "last", "mark", "messages", "receiver", "remote", "room", "sender")

    def __init__(self, sender: Operator | None, edge: Edge | None, receiver: Operator, room: int) -> None:
        self.sender = sender
        self.edge = edge
        self.receiver = receiver
        self.remote = sender is not None and sender.node != receiver.node and sender.scheduled
        self.counts = False
        """Whether rows that pass are rows that the job has read."""
        self.room = room
        self.messages: deque[Message] = deque()
        self.mark = NEVER
        self.last = 0.0
        """When the last message that is on its way will have come."""


class Edge:
    """All channels of an operator to one stage; more than one: rows are dealt to all."""

    __slots__ = ("channels", "converter")

    def __init__(self, converter: Converter) -> None:
        self.converter = converter
        self.channels: list[Channel] = []

    def parts(self, what: Leaving) -> list[Leaving]:
        """One for each channel."""
        count = len(self.channels)
        if count == 1:
            return [what]
        p, event, mark, t, rows, weight, partition = what
        each, more = divmod(weight, count)
        rows_each, rows_more = divmod(rows, count)
        return [
            Leaving(p, event, mark, t, rows_each + (i < rows_more), each + (i < more), partition) for i in range(count)
        ]


class Operator:
    """Base of operators, and the regular one: it passes on what it takes."""

    __slots__ = (
        "blocked", "cost", "edges", "full", "heads", "inputs", "job", "low", "lows", "name", "node", "noise", "number",
        "own", "place", "profile", "queued", "random", "running", "scheduled", "selectivity", "waiting",
    )  # fmt: skip

    def __init__(self, number: int, job: int, name: str, place: int, node: int, cost: Cost, own: Converter) -> None:
        self.number = number
        self.job = job
        self.name = name
        self.place = place
        self.node = node
        self.cost = cost
        self.own = own
        self.scheduled = True
        self.selectivity = 1.0
        self.profile = Profile()
        self.random = np.random.default_rng(number)
        self.noise: list[float] = []
        """Drawn already: factors of costs to come."""
        self.inputs: list[Channel] = []
        self.edges: list[Edge] = []
        self.heads: list[tuple[float, int, Channel]] = []
        """A heap of the channels in which something waits, with the local priority and arrival of their first."""
        self.waiting = 0
        self.queued = False
        self.running = False
        self.blocked = False
        """Whether it could run if there were room for its output."""
        self.full = 0
        """How many of its output channels have no room."""
        self.low = NEVER
        """The least mark of all inputs."""
        self.lows = 0
        """How many inputs have it."""

    def wired(self) -> None:
        """All channels are there."""
        self.lows = len(self.inputs)

    def put(self, channel: Channel, message: Message) -> bool:
        """Let a message wait; whether it goes first."""
        self.waiting += 1
        self.profile.flow.came(message.what.rows)
        channel.messages.append(message)
        if len(channel.messages) > 1:
            return False
        heappush(self.heads, (message.context.local, message.arrival, channel))
        return self.heads[0][2] is channel

    def next(self) -> tuple[Channel, Message]:
        """Take out the message that goes first."""
        channel = heappop(self.heads)[2]
        message = channel.messages.popleft()
        self.waiting -= 1
        self.profile.flow.took(message.what.rows)
        if channel.messages:
            first = channel.messages[0]
            heappush(self.heads, (first.context.local, first.arrival, channel))
        return channel, message

    def progress(self, channel: Channel, mark: int) -> bool:
        """The channel is at `mark`; whether all inputs now are further than before."""
        before = channel.mark
        if mark <= before:
            return False
        channel.mark = mark
        if len(self.inputs) == 1:
            self.low = mark
            return True
        if before != self.low:
            return False
        self.lows -= 1
        if self.lows:
            return False
        self.low = min([c.mark for c in self.inputs])
        self.lows = [c.mark for c in self.inputs].count(self.low)
        return True

    def take(self, channel: Channel, what: Leaving) -> tuple[list[Leaving], bool]:
        """What leaves when the run is over, and whether windows ended."""
        self.progress(channel, what.mark)
        if self.low == what.mark and self.selectivity == 1.0:
            return [what], False
        p, event, _, t, rows, weight, partition = what
        return [Leaving(p, event, self.low, t, round(rows * self.selectivity), weight, partition)], False

    def seconds(self, what: Leaving, triggered: bool) -> float:
        """What a run costs."""
        cost = self.cost
        seconds = cost.message + cost.row * what.rows
        if triggered:
            seconds += cost.trigger
        if cost.scv:
            if not self.noise:
                self.noise = self.random.gamma(1.0 / cost.scv, cost.scv, _DRAWN).tolist()
            seconds *= self.noise.pop()
        return seconds


class SourceOperator(Operator):
    """Has the arrivals of one source. Not `scheduled`: a client outside the cluster, which sends when there is room."""

    __slots__ = ("coming", "stream", "took")

    def __init__(self, number: int, job: int, name: str, place: int, node: int, cost: Cost, own: Converter) -> None:
        super().__init__(number, job, name, place, node, cost, own)
        self.stream: Stream
        self.coming: list[tuple[float, int, int]] = []
        """The arrivals to come, the next one last."""
        self.took: deque[float] = deque()
        """What the polls of the waiting arrivals took, where that was recorded."""

    def seconds(self, what: Leaving, triggered: bool) -> float:
        return self.took.popleft() if self.took else super().seconds(what, triggered)

    def wired(self) -> None:
        super().wired()
        stream = self.stream
        self.coming = list(zip(stream.t.tolist(), stream.rows.tolist(), stream.p.tolist(), strict=True))[::-1]

    def arrive(self) -> Leaving:
        """The next arrival."""
        t, rows, p = self.coming.pop()
        if self.stream.seconds is not None:
            self.took.append(float(self.stream.seconds[-1 - len(self.coming)]))
        return Leaving(p, p, p, t, rows, rows, self.place)

    def due(self) -> float | None:
        """When the next comes, None after the last."""
        return self.coming[-1][0] if self.coming else None


class WindowOperator(Operator):
    """Collects rows by the end of their windows; see `jobs` for its kinds. `copies`: how many windows a row is in."""

    __slots__ = ("copies", "frontier", "groups", "open", "windows")

    def __init__(self, number: int, job: int, name: str, place: int, node: int, cost: Cost, own: Converter) -> None:
        super().__init__(number, job, name, place, node, cost, own)
        self.windows: Windows
        self.copies = 1
        self.groups: int | None = None
        self.open: dict[int, list[float]] = {}
        """By the end of a window: rows, weight, and the arrival of the last event it needed."""
        self.frontier = NEVER
        """Windows up to this end have left."""

    def take(self, channel: Channel, what: Leaving) -> tuple[list[Leaving], bool]:
        if what.weight:
            self._collect(what)
        if not self.progress(channel, what.mark):
            return [], False
        first, slide, delay = self.windows
        frontier = first + (self.low - delay - first) // slide * slide
        if frontier <= self.frontier:
            return [], False
        self.frontier = frontier
        return self._leave(frontier, what.t)

    def _collect(self, what: Leaving) -> None:
        first, slide, _ = self.windows
        end = first + ((what.event - first) // slide + 1) * slide
        for _ in range(self.copies):
            held = self.open.get(end)
            if held is None:
                self.open[end] = [what.rows, what.weight, what.t]
            else:
                held[0] += what.rows
                held[1] += what.weight
                if what.t > held[2]:
                    held[2] = what.t
            end += slide

    def _leave(self, frontier: int, t: float) -> tuple[list[Leaving], bool]:
        """The results of windows that end by `frontier`; if there are none, the mark alone."""
        ended = sorted(end for end in self.open if end <= frontier)
        leaving = []
        for end in ended:
            rows, weight, last = self.open.pop(end)
            mark = frontier if end == ended[-1] else end
            leaving.append(Leaving(end, end - 1, mark, max(t, last), self._rows(rows), int(weight), self.place))
        if not ended:
            leaving.append(Leaving(frontier, frontier, frontier, t, 0, 0, self.place))
        return leaving, bool(ended)

    def _rows(self, rows: float) -> int:
        given = round(rows * self.selectivity)
        return given if self.groups is None else min(given, self.groups)
