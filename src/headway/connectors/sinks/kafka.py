"""The `kafka` sink: each row a message, exactly once by default.

1. Exactly once: the rows of an epoch come to the driver and into the checkpoint; when it is committed they are written
   in one transaction, which also commits the epoch's number as the offset of a consumer group of the query's own. So
   readers with `isolation.level=read_committed` see all of an epoch or nothing. A query that goes on asks the group
   first, and writes the last epoch again only if its transaction did not commit. The answer is kept by the brokers
   for `offsets.retention.minutes`, a week by default. Rows are seen when their epoch is committed.
2. At least once (`headway.delivery` = `at-least-once`): the nodes write rows as they come; what came after the last
   checkpoint is written again when a query restarts. Rows are seen at once.
3. The transactional id is the query's, so a run that was thought dead cannot write any more when another begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.connectors.kafka.client import TIMEOUT, check, kafka, make, settings
from headway.connectors.kafka.producer import DEFAULTS, Producer, Records
from headway.connectors.sinks.base import DriverCommitter, Options, SparkSink, from_ipc, to_ipc
from headway.errors import HeadwayError, InvalidOption

_WHAT = "sink kafka"
_DELIVERIES = ("exactly-once", "at-least-once")
_TRIES = 5


class KafkaSink(SparkSink):
    """See the module."""

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        options = {name.lower(): value for name, value in context.options.items()}
        self.settings = DEFAULTS | settings(options, _WHAT)
        others = {name: value for name, value in context.options.items() if not name.lower().startswith("kafka.")}
        Options(others).check("kafka", ("topic", "includeHeaders"))
        delivery = options.get("headway.delivery", _DELIVERIES[0])
        if delivery not in _DELIVERIES:
            raise InvalidOption(f"option headway.delivery is {delivery!r}: give {' or '.join(_DELIVERIES)}")
        self.to_driver = self.visible_at_commit = delivery == _DELIVERIES[0]
        self.records = Records(context.schema, options.get("topic", "").strip() or None)
        check("Producer", tuple(sorted(self.settings.items())), _WHAT)

    def writer(self, operator: str) -> SinkWriter:
        return KafkaWriter(self.settings, self.records)

    def committer(self) -> SinkCommitter:
        return KafkaCommitter(self) if self.to_driver else DriverCommitter()


class KafkaWriter:
    """Writes rows as they come."""

    def __init__(self, settings: dict[str, Any], records: Records) -> None:
        self._producer = Producer(settings)
        self._records = records

    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        self._producer.send(self._records, batch)

    def prepare(self, epoch: int) -> None:
        self._producer.flush()

    def close(self, failed: bool) -> None:
        self._producer.client.purge()


class KafkaCommitter(DriverCommitter):
    """Writes the rows of an epoch in a transaction. `_producer` is not None iff transactions can begin."""

    def __init__(self, sink: KafkaSink) -> None:
        self._sink = sink
        self._complete = sink.context.output_mode.lower() == "complete"
        self._group = f"headway-kafka-sink-{sink.context.query_id}"
        self._pending: list[pa.RecordBatch] = []
        self._producer: Producer | None = None
        self._consumer: Any = None

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        if self._complete:
            self._pending.clear()
        self._pending.append(batch)

    def prepare(self, epoch: int) -> bytes | None:
        data = to_ipc(self._sink.arrow_schema, self._pending) if self._pending else None
        self._pending.clear()
        return data

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        batches = [batch for data in receipts if data is not None for batch in from_ipc(data) if batch.num_rows]
        if not batches:
            return
        topic = next(self._sink.records.of(batches[0]))[0]
        fresh = self._producer is None
        producer = self._producer = self._producer or self._open()
        if fresh and self._committed(topic) > epoch:
            return
        self._write(producer, batches, topic, epoch)

    def _open(self) -> Producer:
        """A producer that fences off any other of this query, and a consumer of the query's group."""
        base = {name: v for name, v in self._sink.settings.items() if name not in DEFAULTS}
        self._consumer = make("Consumer", base | {"group.id": self._group, "enable.auto.commit": False})
        producer = Producer(self._sink.settings | {"transactional.id": f"headway-{self._sink.context.query_id}"})
        _try(lambda: producer.client.init_transactions(TIMEOUT))
        return producer

    def _committed(self, topic: str) -> int:
        """The number after the last epoch that was committed with rows for `topic` first, 0 if none was."""
        [found] = _try(lambda: self._consumer.committed([kafka().TopicPartition(topic, 0)], TIMEOUT))
        return max(0, int(found.offset))

    def _write(self, producer: Producer, batches: list[pa.RecordBatch], topic: str, epoch: int) -> None:
        client = producer.client
        client.begin_transaction()
        try:
            for batch in batches:
                producer.send(self._sink.records, batch)
            producer.flush()
            offsets = [kafka().TopicPartition(topic, 0, epoch + 1)]
            group = self._consumer.consumer_group_metadata()
            _try(lambda: client.send_offsets_to_transaction(offsets, group, TIMEOUT))
            _try(lambda: client.commit_transaction(TIMEOUT))
        except BaseException:
            # Where this fails too, the brokers abort when the transaction times out or the query begins again.
            with suppress(kafka().KafkaException):
                client.abort_transaction(TIMEOUT)
            raise

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        self._pending.clear()

    def close(self, failed: bool) -> None:
        if self._consumer is not None:
            self._consumer.close()


def _try(ask: Callable[[], Any]) -> Any:
    """Ask the brokers, again if they say that it may help."""
    library = kafka()
    for left in reversed(range(_TRIES)):
        try:
            return ask()
        except library.KafkaException as error:
            if not (left and error.args[0].retriable()):
                raise HeadwayError(f"sink kafka: {error.args[0].str()}") from None
    return None
