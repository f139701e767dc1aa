"""Room in channels: who waits for it hears of it, whatever the channel holds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headway.node.message import Message, Watermark
from headway.node.ports import MAX_BYTES, MAX_MESSAGES, Channel, LocalPort

ROWS = pa.record_batch([pa.array(range(10))], names=["a"])
MARK = Message(watermark=Watermark(1, False))


class Receiver:
    """Takes what it is sent into its channel."""

    takes_blocks = False
    absorbs = False

    def receive(self, channel: Channel, message: Message) -> None:
        channel.put(0, 0.0, message)


class Sender:
    scheduled = 0

    def schedule(self) -> None:
        self.scheduled += 1


@pytest.fixture
def sender() -> Sender:
    return Sender()


@pytest.fixture
def channel() -> Channel:
    return Channel((0, 0, 0))


@pytest.fixture
def port(channel: Channel, sender: Sender) -> LocalPort:
    receiver: Any = Receiver()
    waiting: Any = sender
    return LocalPort(receiver, channel, waiting)


def test_marks_take_no_room(port: LocalPort) -> None:
    for _ in range(3 * MAX_MESSAGES):
        port.send(MARK)
    assert port.room()


def test_who_waits_hears_of_room_though_marks_are_left(port: LocalPort, channel: Channel, sender: Sender) -> None:
    for _ in range(MAX_MESSAGES):
        port.send(Message(ROWS, size=80))
    assert not port.room()
    for _ in range(2 * MAX_MESSAGES):
        port.send(MARK)
    channel.take()
    assert sender.scheduled == 1
    assert port.room()
    while channel.messages:
        channel.take()
    assert (channel.bytes, channel.batches, sender.scheduled) == (0, 0, 1)


def test_bytes_are_room_too(port: LocalPort, channel: Channel, sender: Sender) -> None:
    port.send(Message(ROWS, size=MAX_BYTES))
    assert not port.room()
    channel.take()
    assert sender.scheduled == 1


def test_what_is_left_of_a_message_counts(port: LocalPort, channel: Channel) -> None:
    port.send(Message(ROWS, size=80))
    _, message = channel.take()
    channel.put_back(0.0, message._replace(size=40))
    assert (channel.batches, channel.bytes) == (1, 40)
    channel.take()
    assert (channel.batches, channel.bytes) == (0, 0)
