"""The foreach sink: a function or object of the user gets every row, in the nodes.

1. Each operator has its own copy of the function or object, and is one partition to it.
2. An object with `open` and `close` is opened at the first row of an epoch and closed at its end.
3. If an epoch ends early, `close` gets the error, so that the object can take back what it did.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.connectors.sinks.base import DriverCommitter, SparkSink, spark_schema
from headway.connectors.sinks.rows import Rows
from headway.errors import HeadwayError, InvalidOption


class ForeachSink(SparkSink):
    """Calls `payload(row)`, or `payload.process(row)` between `payload.open` and `payload.close`."""

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        _check_payload(context.payload)
        self._pickled = _pickle(context.payload)

    def writer(self, operator: str) -> SinkWriter:
        return ForeachWriter(cloudpickle.loads(self._pickled), spark_schema(self.schema), partition_id(operator))

    def committer(self) -> SinkCommitter:
        return DriverCommitter()


def _check_payload(payload: Any) -> None:
    if callable(payload):
        return
    if not callable(getattr(payload, "process", None)):
        raise InvalidOption("foreach needs a function of a row, or an object with a method process(row)")
    for name in ("open", "close"):
        if not callable(getattr(payload, name, print)):
            raise InvalidOption(f"foreach: {name} of {type(payload).__name__} is not a method")


def _pickle(payload: Any) -> bytes:
    try:
        pickled: bytes = cloudpickle.dumps(payload)
    except Exception as error:
        name = getattr(payload, "__name__", type(payload).__name__)
        raise InvalidOption(
            f"foreach: {name} cannot be sent to the nodes ({error}); open connections in open(), not before"
        ) from error
    return pickled


def partition_id(operator: str) -> int:
    """A number for `operator`: the one its name ends with, else one made from its name."""
    found = re.search(r"(\d+)$", operator)
    return int(found[1]) if found else zlib.crc32(operator.encode()) & 0x7FFFFFFF


class ForeachWriter:
    """One partition of the sink. `_epoch` is not None iff the object is open."""

    def __init__(self, payload: Any, schema: Any, partition: int) -> None:
        self._payload = payload
        self._process = payload if callable(payload) else payload.process
        self._rows = Rows(schema)
        self._partition = partition
        self._epoch: int | None = None
        self._wanted = True

    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        if self._epoch is None:
            self._open(epoch)
        if not self._wanted:
            return
        try:
            for row in self._rows(batch):
                self._process(row)
        except Exception as error:
            self._close(error)
            raise

    def _open(self, epoch: int) -> None:
        open_payload = getattr(self._payload, "open", None)
        self._wanted = True if callable(self._payload) or open_payload is None else open_payload(self._partition, epoch)
        self._epoch = epoch

    def _close(self, error: Exception | None) -> None:
        if self._epoch is None:
            return
        self._epoch = None
        if not callable(self._payload) and hasattr(self._payload, "close"):
            self._payload.close(error)

    def prepare(self, epoch: int) -> None:
        self._close(None)

    def close(self, failed: bool) -> None:
        self._close(HeadwayError("the query ended before the epoch did; its rows will come again"))
