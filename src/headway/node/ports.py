"""Channels into operators and ports out of them, with bounded room.

1. A channel holds the messages of one upstream operator, in order. It has room while it holds few bytes and messages.
2. An operator runs only while all its ports have room, so that what waits is bounded and a slow consumer slows its
   source. Marks (watermarks, barriers) need no room: they are few and small.
3. A port into another node counts credits: what was sent and not yet taken there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from headway.memory import Block
from headway.node.message import Message
from headway.scheduling import ReplyContext

if TYPE_CHECKING:
    from headway.node.operators.base import Operator

MAX_BYTES = 16 << 20
MAX_MESSAGES = 64
ChannelKey = tuple[int, int, int]
"""The upstream stage, the upstream node, and which of the stage's inputs it is."""


class Channel:
    """Messages of one upstream operator that wait for `operator`."""

    __slots__ = ("batches", "blocked", "bytes", "full", "key", "left", "messages", "on_reply", "on_rest", "on_room")

    def __init__(self, key: ChannelKey) -> None:
        self.key = key
        self.messages: deque[tuple[int, float, Message]] = deque()
        """(order of arrival, when it came, message)"""
        self.bytes = 0
        self.batches = 0
        """How many of them have rows. Marks do not count: to take one makes no room, of which a sender would hear."""
        self.blocked = False
        """True iff the channel has given its barrier of an epoch that others have not."""
        self.full = False
        self.on_room: Callable[[int], None] = _nobody
        """Called with the bytes of every message with rows that is taken."""
        self.left = False
        """True iff the first message is what is left of one that was taken."""
        self.on_rest: Callable[[], None] = _nothing
        """Called when that is taken."""
        self.on_reply: Callable[[ReplyContext], None] = _nobody
        """Takes a reply context to the sender."""

    def put(self, arrival: int, now: float, message: Message) -> None:
        self.bytes += message.size
        self.batches += message.batch is not None
        self.messages.append((arrival, now, message))

    def put_back(self, now: float, message: Message) -> None:
        """What is left of a message that was taken. Its sender has been told of all of it, and hears no more."""
        self.left = True
        self.bytes += message.size
        self.batches += 1
        self.messages.appendleft((0, now, message))

    def take(self) -> tuple[float, Message]:
        """The next message, and when it came."""
        _, since, message = self.messages.popleft()
        self.bytes -= message.size
        self.batches -= message.batch is not None
        if self.left:
            self.left = False
            self.on_rest()
        elif message.batch is not None:
            self.on_room(message.size)
        return since, message


def _nothing() -> None:
    """Nobody waits for it."""


def _nobody(said: object) -> None:
    """Nobody listens."""


class Port(Protocol):
    """A way to one operator's channel."""

    takes_blocks: bool
    """Whether rows may be a block there, which nobody else gets."""

    def absorb(self, block: Block) -> bool:
        """Have rows taken ahead of the message that tells of them; False: they must be sent."""

    def note(self, partition: int, p: int | None, t: float, polled: float) -> bool:
        """Whether what was absorbed needs no message; p, t and `polled` are what that would have said."""

    def row_cost(self) -> float:
        """Seconds that a row takes there, where nothing is made of it at once; 0: that is not known, or not all."""

    def room(self) -> bool: ...

    def free(self) -> int:
        """Bytes that there is room for."""

    def send(self, message: Message) -> None: ...


class LocalPort:
    """Into an operator of the same node; `waiting` is run again when there is room."""

    __slots__ = ("_channel", "_target", "_waiting", "takes_blocks")

    def __init__(self, target: Operator, channel: Channel, waiting: Operator) -> None:
        self._target = target
        self._channel = channel
        self._waiting = waiting
        self.takes_blocks = target.takes_blocks
        channel.on_room = self._taken
        channel.on_rest = self._looked

    def row_cost(self) -> float:
        return self._target.row_cost if self._target.absorbs else 0.0

    def room(self) -> bool:
        channel = self._channel
        if channel.bytes < MAX_BYTES and channel.batches < MAX_MESSAGES:
            return True
        channel.full = True
        return False

    def free(self) -> int:
        return MAX_BYTES - self._channel.bytes

    def send(self, message: Message) -> None:
        self._target.receive(self._channel, message)

    def absorb(self, block: Block) -> bool:
        return False

    def note(self, partition: int, p: int | None, t: float, polled: float) -> bool:
        return False

    def _taken(self, size: int) -> None:
        self._looked()

    def _looked(self) -> None:
        if self._channel.full and self.room():
            self._channel.full = False
            self._waiting.schedule()


class HandingPort(LocalPort):
    """Into the only channel of an operator that may take messages where they were made."""

    __slots__ = ()

    def send(self, message: Message) -> None:
        self._target.hand(self._channel, message)

    def absorb(self, block: Block) -> bool:
        return self._target.absorb(self._channel, block)

    def note(self, partition: int, p: int | None, t: float, polled: float) -> bool:
        return self._target.note(self._channel, partition, p, t, polled)


class RemotePort:
    """Into an operator of another node, or into the driver's sink. `transmit` never blocks."""

    __slots__ = ("_bytes", "_full", "_messages", "_transmit", "_waiting", "replied")
    takes_blocks = False

    def __init__(
        self, transmit: Callable[[Message], None], waiting: Operator, replied: Callable[[ReplyContext], None]
    ) -> None:
        self._transmit = transmit
        self._waiting = waiting
        self.replied = replied
        self._bytes = 0
        self._messages = 0
        self._full = False

    def row_cost(self) -> float:
        return 0.0

    def room(self) -> bool:
        if self._bytes < MAX_BYTES and self._messages < MAX_MESSAGES:
            return True
        self._full = True
        return False

    def free(self) -> int:
        return MAX_BYTES - self._bytes

    def absorb(self, block: Block) -> bool:
        return False

    def note(self, partition: int, p: int | None, t: float, polled: float) -> bool:
        return False

    def send(self, message: Message) -> None:
        if message.batch is not None:
            self._bytes += message.size
            self._messages += 1
            self._waiting.account.add(message.size)
        self._transmit(message)

    def taken(self, size: int) -> None:
        """The other side has taken a message of `size` bytes."""
        self._bytes -= size
        self._messages -= 1
        self._waiting.account.add(-size)
        if self._full and self.room():
            self._full = False
            self._waiting.schedule()
