"""Python data sources as sinks: the user's stream writer runs in the nodes, its commit in the driver.

1. The writer is made once, in the driver, and every operator works with a copy of it, as in Spark.
2. `write` of the user pulls rows while Headway pushes them: it runs in a thread of its own for as long as an epoch
   lasts, so that rows reach it at once, and a bounded queue holds back the operator if it is slow.
3. An epoch without rows is not committed, as Spark runs no micro-batch without data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from queue import Full, Queue
from threading import Thread
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.connectors.sinks.base import DriverCommitter, SparkSink, spark_schema
from headway.connectors.sinks.rows import Rows
from headway.dataflow.types import Schema
from headway.errors import HeadwayError, InvalidOption

_QUEUED_BATCHES = 8
_LOOK_SECONDS = 0.1


class DataSourceSink(SparkSink):
    """A registered `DataSource` with a `streamWriter`; `payload` is its pickled class."""

    modes = frozenset({"append", "complete"})

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        source = cloudpickle.loads(context.payload)(options=CaseInsensitiveDict(context.options))
        writer = source.streamWriter(spark_schema(context.schema), context.output_mode.lower() == "complete")
        if not isinstance(writer, DataSourceStreamWriter | DataSourceStreamArrowWriter):
            raise InvalidOption(
                f"data source {format}: streamWriter() gave {type(writer).__name__}; "
                "it must give a DataSourceStreamWriter or a DataSourceStreamArrowWriter"
            )
        self._pickled: bytes = cloudpickle.dumps(writer)

    def writer(self, operator: str) -> SinkWriter:
        return DataSourceWriter(self.format, cloudpickle.loads(self._pickled), self.schema)

    def committer(self) -> SinkCommitter:
        return DataSourceCommitter(cloudpickle.loads(self._pickled))


class DataSourceCommitter(DriverCommitter):
    """Commits and aborts through the user's writer."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._next = 0

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        messages = [cloudpickle.loads(receipt) for receipt in receipts if receipt is not None]
        self._next = epoch + 1
        if not messages:
            return
        try:
            self._writer.commit(messages, epoch)
        except Exception:
            self._writer.abort(messages, epoch)
            raise

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        self._next = epoch + 1

    def close(self, failed: bool) -> None:
        if failed:
            self._writer.abort([], self._next)


class DataSourceWriter:
    """One operator's share. `_epoch` is not None iff the user's `write` is running."""

    def __init__(self, name: str, writer: Any, schema: Schema) -> None:
        self._name = name
        self._writer = writer
        self._rows = _rows_of(writer, spark_schema(schema))
        self._epoch: Epoch | None = None

    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        if self._epoch is None:
            self._epoch = Epoch(self._writer.write, self._rows)
        self._epoch.put(batch)

    def prepare(self, epoch: int) -> bytes | None:
        running, self._epoch = self._epoch, None
        if running is None:
            return None
        message = running.finish()
        if not isinstance(message, WriterCommitMessage):
            raise HeadwayError(
                f"data source {self._name}: write() gave {type(message).__name__}; it must give a WriterCommitMessage"
            )
        pickled: bytes = cloudpickle.dumps(message)
        return pickled

    def close(self, failed: bool) -> None:
        running, self._epoch = self._epoch, None
        if running is not None:
            running.cancel()


class EpochCancelled(HeadwayError):
    """What a user's `write` sees when its epoch ends early."""


class Epoch:
    """One call of the user's `write`, in its own thread, fed through a queue; None in the queue is the end."""

    def __init__(self, write: Callable[[Iterator[Any]], Any], rows: Callable[[Iterator[pa.RecordBatch]], Any]) -> None:
        self._queue: Queue[pa.RecordBatch | EpochCancelled | None] = Queue(_QUEUED_BATCHES)
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(write, rows), name="headway-data-source-writer", daemon=True)
        self._thread.start()

    def _run(self, write: Callable[[Iterator[Any]], Any], rows: Callable[[Iterator[pa.RecordBatch]], Any]) -> None:
        try:
            self._result = write(rows(self._batches()))
        except BaseException as error:
            self._error = error

    def _batches(self) -> Iterator[pa.RecordBatch]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, EpochCancelled):
                raise item
            yield item

    def put(self, item: pa.RecordBatch | EpochCancelled | None) -> None:
        """Queue `item` for the user's `write`; if that has ended, raise what it raised or drop the item, as Spark
        does with rows that a writer did not ask for."""
        while self._thread.is_alive():
            try:
                self._queue.put(item, timeout=_LOOK_SECONDS)
                break
            except Full:
                continue
        if self._error is not None:
            raise self._error

    def finish(self) -> Any:
        self.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        try:
            self.put(EpochCancelled("the query ended before the epoch did; its rows will come again"))
        except BaseException:
            return


def _rows_of(writer: Any, schema: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    if isinstance(writer, DataSourceStreamArrowWriter):
        return iter

    convert = Rows(schema)
    return lambda batches: chain.from_iterable(map(convert, batches))
