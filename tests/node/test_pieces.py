"""Channels and flows of messages that are taken in pieces."""

from __future__ import annotations

import pyarrow as pa

from headway.node.message import Message
from headway.node.ports import Channel
from headway.scheduling import Flow


def test_what_is_left_of_a_message_goes_first_and_its_sender_hears_once() -> None:
    channel, told = Channel((0, 0, 0)), []
    channel.on_room = lambda size: told.append(size)
    channel.on_rest = lambda: told.append("rest")
    batch = pa.record_batch([pa.array(range(10))], names=["a"])
    channel.put(1, 0.0, Message(batch, size=80))
    channel.put(2, 0.0, Message(batch, size=80, serial=2))
    _, message = channel.take()
    channel.put_back(0.5, message._replace(batch=batch.slice(4), size=48))
    assert channel.bytes == 128
    since, rest = channel.take()
    assert (since, rest.batch.num_rows, rest.size) == (0.5, 6, 48)  # type: ignore[union-attr]
    _, second = channel.take()
    assert second.serial == 2
    assert channel.bytes == 0
    assert told == [80, "rest", 80]


def test_rows_that_are_put_back_wait_again() -> None:
    flow = Flow()
    flow.came(10)
    flow.took(10)
    flow.put_back(6)
    assert (flow.pending, flow.taken) == (6, 4)
