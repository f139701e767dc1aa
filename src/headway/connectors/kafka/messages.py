"""Messages of Kafka as rows, in whole columns; the columns are those of Spark's source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.kafka.client import kafka
from headway.connectors.kafka.topics import Partition

HEADERS = T.ArrayType(T.StructType([T.StructField("key", T.StringType()), T.StructField("value", T.BinaryType())]))

_FIELDS: tuple[tuple[str, T.DataType], ...] = (
    ("key", T.BinaryType()),
    ("value", T.BinaryType()),
    ("topic", T.StringType()),
    ("partition", T.IntegerType()),
    ("offset", T.LongType()),
    ("timestamp", T.TimestampType()),
    ("timestampType", T.IntegerType()),
)


def schema(headers: bool) -> T.StructType:
    """The columns of a stream of Kafka."""
    fields = [*_FIELDS, ("headers", HEADERS)] if headers else _FIELDS
    return T.StructType([T.StructField(name, kind) for name, kind in fields])


class Run(NamedTuple):
    """Rows of one partition, in order, and the offset after the last."""

    partition: Partition
    batch: pa.RecordBatch
    next: int


def runs(messages: Sequence[Any], target: pa.Schema) -> Iterator[Run]:
    """Messages, none of them an error, as batches of `target`, one per stretch of a single partition."""
    Message = kafka().Message
    topics = list(map(Message.topic, messages))
    partitions = np.fromiter(map(Message.partition, messages), np.int32, len(messages))
    offsets = np.fromiter(map(Message.offset, messages), np.int64, len(messages))
    batch = _batch(messages, topics, partitions, offsets, target)
    changes = np.flatnonzero(np.diff(partitions)) + 1
    if len(set(topics)) > 1:
        codes = np.unique(np.array(topics), return_inverse=True)[1]
        changes = np.union1d(changes, np.flatnonzero(np.diff(codes)) + 1)
    bounds = [0, *changes.tolist(), len(messages)]
    for first, end in pairwise(bounds):
        partition = (topics[first], int(partitions[first]))
        yield Run(partition, batch.slice(first, end - first), int(offsets[end - 1]) + 1)


def _batch(messages: Sequence[Any], topics: list[str], partitions: Any, offsets: Any, target: pa.Schema) -> Any:
    Message = kafka().Message
    stamps = np.array(list(map(Message.timestamp, messages)), np.int64)
    columns = [
        pa.array(list(map(Message.key, messages)), pa.binary()),
        pa.array(list(map(Message.value, messages)), pa.binary()),
        pa.array(topics, pa.string()),
        pa.array(partitions),
        pa.array(offsets),
        pa.array(stamps[:, 1] * 1000).view(pa.timestamp("us", "UTC")),
        # The library counts its kinds of timestamps from 0, Kafka from -1.
        pa.array((stamps[:, 0] - 1).astype(np.int32)),
    ]
    if len(target) > len(columns):
        columns.append(pa.array(list(map(_headers, messages)), target.field(len(columns)).type))
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _headers(message: Any) -> list[dict[str, Any]] | None:
    """Null where there are none, as Spark has it."""
    found = message.headers()
    return [{"key": key, "value": value} for key, value in found] if found else None
