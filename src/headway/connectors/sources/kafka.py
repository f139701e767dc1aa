"""The `kafka` source, with the options and columns of Spark's.

1. A DataFrame of it comes from Spark: `format("kafka")` where Spark has its own connector on the class path, else
   `format("headway-kafka")`, which Headway registers and which takes the same options. Both are read here.
2. Where a new query begins is found out once, when it starts, and kept in its checkpoint.
3. `maxOffsetsPerTrigger` is what a second may bring, over all nodes: there are no triggers to count by.
4. `minPartitions` and `maxRecordsPerPartition` say how Spark cuts a micro-batch into tasks, and change nothing here.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.connectors.api import Position
from headway.connectors.kafka.client import Options, check, make, settings
from headway.connectors.kafka.consumer import LOOK_EVERY, KafkaConsumer, Reading, owner
from headway.connectors.kafka.offsets import LATEST, Bound, Offsets, flat, nested
from headway.connectors.kafka.topics import Topics
from headway.connectors.sources.options import boolean, integer, refuse_unknown
from headway.dataflow.graph import Source
from headway.dataflow.types import arrow_schema
from headway.errors import HeadwayError, InvalidOption

_WHAT = "source kafka"
_KNOWN = (
    "subscribe", "subscribePattern", "assign", "startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp",
    "startingOffsetsByTimestampStrategy", "maxOffsetsPerTrigger", "minPartitions", "maxRecordsPerPartition",
    "failOnDataLoss", "includeHeaders", "groupIdPrefix", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
)  # fmt: skip
_OF_BATCHES = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_OF_SPARK = ("minOffsetsPerTrigger", "maxTriggerDelay")
_DEFAULTS = {
    # Rows come as soon as they are there; a full queue is looked at again soon.
    "fetch.wait.max.ms": "200",
    "fetch.queue.backoff.ms": "10",
    "queued.max.messages.kbytes": "16384",
    # Java's default, which Spark's users have.
    "isolation.level": "read_uncommitted",
    "max.poll.interval.ms": "86400000",
}
_OURS = {"enable.auto.commit": "false", "enable.partition.eof": "true", "auto.offset.reset": "error"}


@dataclass(frozen=True)
class KafkaSource:
    """See the module. Implements `headway.connectors.api.ConsumedSource`."""

    reading: Reading
    start: Bound
    replayable: bool = True

    def settle(self) -> Position:
        client = make("Consumer", self.reading.settings)
        try:
            return nested(self.start.resolve(client, self.reading.topics.check(client)))
        finally:
            client.close()

    def partitions(self, nodes: int, restored: Sequence[Position], now: float) -> list[Position]:
        merged: Offsets = {}
        for position in restored:
            merged |= flat(position)
        known = {partition: at for partition, at in merged.items() if self.reading.topics.has(partition)}
        if known != merged and self.reading.fail_on_data_loss:
            raise HeadwayError(
                f"the checkpoint has read {nested(merged)}, and the query does not subscribe to all of it any more: "
                "subscribe to it, set failOnDataLoss to false, or use another checkpointLocation"
            )
        return [nested({p: at for p, at in known.items() if owner(p, nodes) == n}) for n in range(nodes)]

    def consume(self, position: Position, node: int, nodes: int) -> KafkaConsumer:
        return KafkaConsumer(self.reading, flat(position), node, nodes)


def open_kafka(source: Source) -> KafkaSource:
    """Check the options of a Kafka source."""
    options = dict(source.options)
    for name in _OF_BATCHES:
        if name.lower() in options:
            raise InvalidOption(f"option {name} of {_WHAT} is for batches: a stream has no end")
    given = settings(options, _WHAT)
    others = tuple(pair for pair in source.options if not pair[0].startswith("kafka."))
    refuse_unknown(Source(source.schema, "kafka", others), _KNOWN, _OF_SPARK)
    start = Bound.of(options, "starting", LATEST)
    for name in ("minPartitions", "maxRecordsPerPartition"):
        integer(source, name, 1)
    limit = integer(source, "maxOffsetsPerTrigger", 0) or None
    reading = Reading(
        Topics.of(options),
        consumer_settings(given, options),
        arrow_schema(source.schema),
        boolean(source, "failOnDataLoss", True),
        limit,
        _look_every(given),
    )
    return KafkaSource(reading, start)


def consumer_settings(given: dict[str, str], options: Options) -> dict[str, Any]:
    """All settings of a consumer, checked."""
    found = _DEFAULTS | given | _OURS
    check("Consumer", tuple(sorted((found | {"group.id": "headway"}).items())), _WHAT)
    group = f"{options.get('groupidprefix', 'headway-kafka-source')}-{uuid.uuid4()}"
    return {"group.id": group} | found


def _look_every(given: dict[str, str]) -> float:
    """Seconds between looks for new partitions; the client's own setting was checked to be a number."""
    return int(given.get("metadata.max.age.ms", LOOK_EVERY * 1000)) / 1000
