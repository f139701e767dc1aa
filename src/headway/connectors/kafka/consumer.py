"""What one node reads of Kafka: messages of its partitions, as soon as brokers have them.

1. Partitions are dealt to nodes by topic and number, so that every node finds its new ones by itself: they are looked
   for every few seconds (`kafka.metadata.max.age.ms`) and begin at their beginning.
2. Positions are the query's: the group of Kafka is never asked for any, and nothing is committed to it.
3. What Kafka does not have any more is lost: that ends the query, or, with failOnDataLoss=false, is warned of and left
   out.
4. A rate limit (`maxOffsetsPerTrigger`) is a bucket that a second fills.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from headway.connectors.api import Fetched
from headway.connectors.kafka.client import kafka, make
from headway.connectors.kafka.messages import runs
from headway.connectors.kafka.offsets import EARLIEST, LATEST, Offsets, list_offsets, nested
from headway.connectors.kafka.topics import Partition, Topics
from headway.errors import HeadwayError

WAIT = 0.1
"""Seconds that a fetch waits for the first message."""
AT_ONCE = 8192
BACKLOG_EVERY = 1.0
LOOK_EVERY = 5.0
_GONE = (
    "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE", "UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC"
)  # fmt: skip
_HOPELESS = ("_AUTHENTICATION", "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")
_log = logging.getLogger("headway")


class Reading(NamedTuple):
    """What a consumer has to know of its source."""

    topics: Topics
    settings: dict[str, Any]
    schema: pa.Schema
    fail_on_data_loss: bool
    per_second: int | None
    """Of all nodes together; None: as fast as can be."""
    look_every: float


def owner(partition: Partition, nodes: int) -> int:
    """Which of `nodes` reads a partition; those of a topic are spread evenly."""
    return (zlib.crc32(partition[0].encode()) + partition[1]) % nodes


class KafkaConsumer:
    """See the module. Implements `headway.connectors.api.Consumer`."""

    def __init__(self, reading: Reading, offsets: Offsets, node: int, nodes: int) -> None:
        self.backlog = 0
        self._reading = reading
        self._offsets = dict(offsets)
        """Where each partition goes on."""
        self._ends: Offsets = {}
        self._node, self._nodes = node, nodes
        self._library = kafka()
        self._client = make("Consumer", reading.settings)
        self._bucket = None if reading.per_second is None else Bucket(reading.per_second / nodes, time.monotonic())
        self._next_look = time.monotonic() + reading.look_every
        self._next_backlog = 0.0
        self._lost: list[Partition] = []
        self._assign()

    def fetch(self, now: Callable[[], float]) -> Sequence[Fetched]:
        self._look_around()
        room = AT_ONCE if self._bucket is None else self._bucket.room(time.monotonic())
        if room < 1:
            time.sleep(WAIT / 10)
            return ()
        first = self._client.poll(WAIT)
        if first is None:
            return ()
        arrival = now()
        more = self._client.consume(min(room, AT_ONCE) - 1, 0) if room > 1 else []
        found = self._take([first, *more], arrival)
        if self._lost:
            self._leave_out(self._lost)
        return found

    def look(self) -> None:
        self._join()
        self._ends = list_offsets(self._client, dict.fromkeys(self._offsets, LATEST))

    def reached(self) -> bool:
        return all(self._offsets.get(partition, end) >= end for partition, end in self._ends.items())

    def close(self) -> None:
        self._client.close()

    def _look_around(self) -> None:
        at = time.monotonic()
        if at >= self._next_look:
            self._next_look = at + self._reading.look_every
            self._join()
        if at >= self._next_backlog:
            self._next_backlog = at + BACKLOG_EVERY
            self.backlog = self._behind()

    def _take(self, messages: list[Any], arrival: float) -> list[Fetched]:
        found: list[Fetched] = []
        good = [message for message in messages if message.error() is None]
        for partition, batch, after in runs(good, self._reading.schema) if good else ():
            found.append(self._moved(partition, batch, after, arrival))
        for message in messages if len(good) < len(messages) else ():
            if message.error() is not None:
                found += self._take_error(message, message.error(), arrival)
        if self._bucket is not None:
            self._bucket.take(len(good))
        return found

    def _moved(self, partition: Partition, batch: pa.RecordBatch | None, after: int, arrival: float) -> Fetched:
        self._offsets[partition] = after
        return Fetched((partition[0], str(partition[1])), batch, after, arrival)

    def _take_error(self, message: Any, error: Any, arrival: float) -> list[Fetched]:
        codes = self._library.KafkaError
        partition = (message.topic(), message.partition())
        if error.code() == codes._PARTITION_EOF:
            # Past the last message there may be marks of transactions: the end is further than its offset says.
            if message.offset() > self._offsets.get(partition, message.offset()):
                return [self._moved(partition, None, message.offset(), arrival)]
        elif error.code() in {getattr(codes, name) for name in _GONE}:
            self._lost.append(partition)
        elif error.fatal() or error.code() in {getattr(codes, name) for name in _HOPELESS}:
            raise HeadwayError(f"source kafka, topic {message.topic()}: {error.str()}")
        else:
            _log.info("source kafka: %s; the client tries again", error.str())
        return []

    def _leave_out(self, lost: list[Partition]) -> None:
        """Go on where there is something, unless the query is to fail."""
        self._lost = []
        known = {partition: self._offsets[partition] for partition in lost if partition in self._offsets}
        if not known:
            return
        if self._reading.fail_on_data_loss:
            raise HeadwayError(
                f"source kafka: the records at {nested(known)} are gone: they were aged out, or the topic was deleted; "
                "set failOnDataLoss to false to go on with what is there"
            )
        there = [partition for partition in self._reading.topics.find(self._client) if partition in known]
        self._offsets = {partition: at for partition, at in self._offsets.items() if partition not in known}
        self._offsets |= list_offsets(self._client, dict.fromkeys(there, EARLIEST))
        _log.warning("source kafka: the records at %s are gone; they are left out", nested(known))
        self._assign()

    def _join(self) -> None:
        """Take up partitions that are new."""
        if self._reading.topics.fixed:
            return
        found = self._reading.topics.find(self._client)
        new = [p for p in found if p not in self._offsets and owner(p, self._nodes) == self._node]
        if new:
            self._offsets |= list_offsets(self._client, dict.fromkeys(new, EARLIEST))
            self._assign()

    def _assign(self) -> None:
        make = self._library.TopicPartition
        self._client.assign([make(topic, number, at) for (topic, number), at in self._offsets.items()])

    def _behind(self) -> int:
        """Rows that brokers have and this consumer has not, as the answers to earlier fetches told."""
        make, behind = self._library.TopicPartition, 0
        for (topic, number), at in self._offsets.items():
            _, end = self._client.get_watermark_offsets(make(topic, number), cached=True)
            behind += max(0, end - at)
        return behind


class Bucket:
    """How many rows may be taken: a second's worth at most, filled evenly.

    >>> bucket = Bucket(10.0, at=0.0)
    >>> bucket.take(bucket.room(at=0.0)), bucket.room(at=0.0), bucket.room(at=0.5), bucket.room(at=9.0)
    (None, 0, 5, 10)
    """

    def __init__(self, per_second: float, at: float) -> None:
        self._most = max(1.0, per_second)
        self._per_second = per_second
        self._level = self._most
        self._filled = at

    def room(self, at: float) -> int:
        self._level = min(self._most, self._level + (at - self._filled) * self._per_second)
        self._filled = at
        return int(self._level)

    def take(self, rows: int) -> None:
        self._level -= rows
