"""Rows to messages of Kafka, and a producer that tells of what could not be delivered.

1. The columns are those of Spark's sink: `value`, and if they are there `key`, `headers`, `topic`, `partition`; others
   are left out. The option `topic` goes before the column.
2. Keys go to the partitions to which Java's producers send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.kafka.client import TIMEOUT, kafka, make
from headway.connectors.kafka.messages import HEADERS
from headway.dataflow.types import Schema
from headway.errors import HeadwayError, InvalidOption

DEFAULTS = {"linger.ms": "0", "partitioner": "murmur2_random", "enable.idempotence": "true"}

_TYPES: dict[str, tuple[T.DataType, ...]] = {
    "key": (T.StringType(), T.BinaryType()),
    "value": (T.StringType(), T.BinaryType()),
    "headers": (HEADERS,),
    "topic": (T.StringType(),),
    "partition": (T.IntegerType(),),
}


class Records:
    """How rows of a schema become messages."""

    def __init__(self, schema: Schema, topic: str | None) -> None:
        self._columns = {field.name: at for at, field in enumerate(schema) if field.name in _TYPES}
        self._topic = topic
        for name, at in self._columns.items():
            if not any(_alike(schema[at].type, kind) for kind in _TYPES[name]):
                allowed = " or ".join(kind.simpleString() for kind in _TYPES[name])
                raise InvalidOption(
                    f"sink kafka: column {name} is {schema[at].type.simpleString()} and must be {allowed}: cast it"
                )
        if "value" not in self._columns:
            raise InvalidOption("sink kafka needs a column value, of strings or binary: name one so")
        if topic is None and "topic" not in self._columns:
            raise InvalidOption("sink kafka needs the option topic, or a column topic")

    def of(self, batch: pa.RecordBatch) -> Iterator[tuple[str, Any, Any, int, list[tuple[str, Any]] | None]]:
        """Topic, key, value, partition (-1: by the key) and headers of every row."""
        rows = batch.num_rows
        keys, values = (self._binary(batch, name) for name in ("key", "value"))
        topics = [self._topic] * rows if self._topic is not None else self._list(batch, "topic")
        partitions, headers = self._list(batch, "partition"), self._list(batch, "headers")
        for topic, key, value, partition, pairs in zip(topics, keys, values, partitions, headers, strict=True):
            if topic is None:
                raise HeadwayError(
                    "sink kafka: a row has null in the column topic: set the option topic, or leave it out"
                )
            given = None if pairs is None else [(pair["key"], pair["value"]) for pair in pairs]
            yield topic, key, value, -1 if partition is None else partition, given

    def _list(self, batch: pa.RecordBatch, name: str) -> list[Any]:
        at = self._columns.get(name)
        found: list[Any] = [None] * batch.num_rows if at is None else batch.column(at).to_pylist()
        return found

    def _binary(self, batch: pa.RecordBatch, name: str) -> list[Any]:
        at = self._columns.get(name)
        found: list[Any] = [None] * batch.num_rows if at is None else batch.column(at).cast(pa.binary()).to_pylist()
        return found


def _alike(one: T.DataType, other: T.DataType) -> bool:
    """Equal but for what may be null."""
    return bool(one.simpleString() == other.simpleString())


class Producer:
    """A producer; `send` and `flush` raise when a message before could not be delivered."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._errors: list[Any] = []
        self.client = make("Producer", settings | {"delivery.report.only.error": True, "on_delivery": self._failed})

    def _failed(self, error: Any, message: Any) -> None:
        if error is not None:
            self._errors.append((error, message.topic()))

    def send(self, records: Records, batch: pa.RecordBatch) -> None:
        produce = self.client.produce
        for topic, key, value, partition, headers in records.of(batch):
            while True:
                try:
                    produce(topic, value, key, partition, headers=headers)
                    break
                except BufferError:
                    self._serve(lambda: self.client.poll(0.05))
        self._serve(lambda: self.client.poll(0))

    def flush(self) -> None:
        """Everything sent is with the brokers."""
        while self._serve(lambda: self.client.flush(TIMEOUT)):
            pass

    def _serve(self, call: Callable[[], int]) -> int:
        """Let the client tell what became of messages."""
        try:
            left = call()
        except (kafka().KafkaException, SystemError) as error:
            # A fatal error comes as the cause of another if the client was just calling back.
            raise HeadwayError(f"sink kafka: {error.__cause__ or error}") from None
        self._check()
        return left

    def _check(self) -> None:
        if self._errors:
            error, topic = self._errors[0]
            raise HeadwayError(f"sink kafka: rows could not be written to topic {topic}: {error.str()}")
