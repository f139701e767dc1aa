"""What travels between operators.

1. A message is rows, or a mark in their order: a watermark, a latency marker, a checkpoint barrier.
2. p is logical time (the highest event time, microseconds, if known), t physical time (seconds): those of the last
   event that the message needed. first_t is the arrival of its first event: latency is measured from there, so that
   what waited longest in a batch counts.
3. The serial number counts an operator's messages with rows; the parts of one message, dealt by key, share it.
4. Where the time since first_t went is told by `spent`, so that a missed target can be explained.
5. A watermark says that no row before it is expected any more, once all inputs are through `rounds` (see watermarks).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from headway.memory import Rows
from headway.observe.misses import Spent
from headway.scheduling.contexts import EARLIEST, PriorityContext


class Watermark(NamedTuple):
    """How far event time is (None: not known), whether the sender has nothing more for now, the planning rounds of
    sources up to which it holds, and the same of every watermark step upstream: (step, value, idle)."""

    value: int | None
    idle: bool
    rounds: tuple[tuple[str, int], ...] = ()
    steps: tuple[tuple[int, int | None, bool], ...] = ()

    @property
    def of_partition(self) -> bool:
        """Whether this is what an inline source says of one partition: that there is one, or that nothing comes."""
        return self.value is None and not self.rounds and not self.steps


class Barrier(NamedTuple):
    """The end of an epoch. A draining barrier comes when a source has given all that was there when it was `asked` for,
    and before it gives what came later: so all nodes stop at the same time, and none is ahead of another."""

    epoch: int
    drain: bool
    asked: float = 0.0


NOTHING = Spent()


class Message(NamedTuple):
    """See the module; exactly one of batch, watermark, barrier and marker says what it is."""

    batch: Rows | None = None
    p: int | None = None
    t: float = 0.0
    first_t: float = 0.0
    polled: float = 0.0
    """When the node took the rows from the source: before it they queued at the source."""
    serial: int = 0
    partition: int = 0
    watermark: Watermark | None = None
    barrier: Barrier | None = None
    marker: bool = False
    size: int = 0
    """Bytes of the rows, about."""
    context: PriorityContext = EARLIEST
    spent: Spent = NOTHING
    sent: float = 0.0
    """When it left for another process."""

    def arrived(self, now: float) -> Message:
        """As it is after its way from another process."""
        return self._replace(spent=self.spent.and_then(exchange=max(0.0, now - self.sent)))


def message_header(message: Message) -> tuple[Any, ...]:
    """All of a message but its rows, for the wire."""
    return tuple(message[1:])


def message_from(header: tuple[Any, ...], batch: pa.RecordBatch | None) -> Message:
    return Message(batch, *header)
