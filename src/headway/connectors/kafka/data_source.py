"""A Python data source through which Spark itself knows Kafka, with the options and columns of its own connector.

Headway registers it as `headway-kafka`, for Spark keeps the name `kafka` for its connector, which is a jar of its own.
Headway reads such a stream natively; the readers here serve what runs on Spark: batches, and streams that fall back.

    events = spark.readStream.format("headway-kafka").option("kafka.bootstrap.servers", "host:9092") …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from headway.connectors.kafka.client import kafka, make
from headway.connectors.kafka.messages import runs, schema
from headway.connectors.kafka.offsets import EARLIEST, LATEST, Bound, flat, list_offsets, nested
from headway.connectors.kafka.topics import Partition
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.connectors.sources.kafka import KafkaSource

KAFKA_FORMAT = "headway-kafka"
_WAIT = 1.0
_AT_ONCE = 8192
_ENDS = ("endingoffsets", "endingoffsetsbytimestamp", "endingtimestamp")
Position = dict[str, dict[str, int]]


class KafkaDataSource(DataSource):  # type: ignore[misc]
    """See the module."""

    @classmethod
    def name(cls) -> str:
        return KAFKA_FORMAT

    def schema(self) -> T.StructType:
        return schema(str(self.options.get("includeHeaders", "false")).lower() == "true")

    def reader(self, schema: T.StructType) -> DataSourceReader:
        options = {name.lower(): str(value) for name, value in self.options.items()}
        return KafkaBatchReader(options, schema)

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:
        return KafkaStreamReader({name.lower(): str(value) for name, value in self.options.items()}, schema)


class Range(InputPartition):  # type: ignore[misc]
    """Offsets of one partition, from `first` up to `end`."""

    def __init__(self, partition: Partition, first: int, end: int) -> None:
        self.partition = partition
        self.first = first
        self.end = end


class _Reader:
    """What reading in ranges needs, in Spark's tasks too."""

    def __init__(self, options: dict[str, str], schema: T.StructType) -> None:
        self._options = options
        self._schema = schema
        self._made: KafkaSource | None = None

    @property
    def _source(self) -> KafkaSource:
        """Made anew in every process."""
        from headway.connectors.sources.kafka import open_kafka
        from headway.dataflow.graph import Source
        from headway.dataflow.types import Field

        if self._made is None:
            fields = tuple(Field(f.name, f.dataType, f.nullable) for f in self._schema.fields)
            options = {name: value for name, value in self._options.items() if name not in _ENDS}
            self._made = open_kafka(Source(fields, "kafka", tuple(sorted(options.items()))))
        return self._made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None}

    def _client(self) -> Any:
        return make("Consumer", self._source.reading.settings)

    def _ranges(self, start: Position, end: Position) -> list[Range]:
        first = flat(start)
        found = [Range(p, first.get(p, 0), at) for p, at in flat(end).items() if at > first.get(p, 0)]
        return found or [Range(("", 0), 0, 0)]

    def read(self, part: Range) -> Iterator[pa.RecordBatch]:
        """The rows of a range; messages that were aged out of it, or never were, are left out."""
        if part.end <= part.first:
            return
        client, target = self._client(), to_arrow_schema(self._schema, timezone="UTC")
        try:
            client.assign([kafka().TopicPartition(*part.partition, part.first)])
            at = part.first
            while at < part.end:
                messages = client.consume(_AT_ONCE, _WAIT / 10)
                good = [m for m in messages if m.error() is None]
                at = max([at, *(_end(m) for m in messages)])
                within = [m for m in good if m.offset() < part.end]
                yield from (run.batch for run in runs(within, target)) if within else ()
        finally:
            client.close()


def _end(message: Any) -> int:
    """How far reading is with this message, or with this event of the client's."""
    error = message.error()
    if error is None:
        return int(message.offset()) + 1
    if error.code() == kafka().KafkaError._PARTITION_EOF:
        return int(message.offset())
    if error.fatal() or error.code() == kafka().KafkaError._AUTO_OFFSET_RESET:
        raise HeadwayError(f"source kafka, topic {message.topic()}: {error.str()}")
    return 0


class KafkaBatchReader(_Reader, DataSourceReader):  # type: ignore[misc]
    """A batch: from startingOffsets, by default the earliest, to endingOffsets, by default the latest."""

    def partitions(self) -> Sequence[InputPartition]:
        client = self._client()
        try:
            found = self._source.reading.topics.check(client)
            start = Bound.of(self._options, "starting", EARLIEST).resolve(client, found)
            end = Bound.of(self._options, "ending", LATEST).resolve(client, found)
            return self._ranges(nested(start), nested(end))
        finally:
            client.close()


class KafkaStreamReader(_Reader, DataSourceStreamReader):  # type: ignore[misc]
    """A stream in micro-batches."""

    def initialOffset(self) -> Position:
        found: Position = self._source.settle()
        return found

    def latestOffset(self) -> Position:
        client = self._client()
        try:
            found = self._source.reading.topics.find(client)
            return nested(list_offsets(client, dict.fromkeys(found, LATEST)))
        finally:
            client.close()

    def partitions(self, start: Position, end: Position) -> Sequence[InputPartition]:
        return self._ranges(start, end)


def register(spark: Any) -> None:
    """Have Spark know the format `headway-kafka`."""
    spark.dataSource.register(KafkaDataSource)
