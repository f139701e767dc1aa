"""The foreachBatch sink: the rows of an epoch go to a function of the user, as a DataFrame.

1. The batch id is the epoch, so the same rows have the same id after a restart.
2. An epoch without rows is not passed on, as Spark runs no micro-batch without data.
3. What the function raises is what the query fails with.
4. The function sees the classes that the thread saw which started the query: jars that were added to the session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext
from headway.connectors.sinks.base import DriverCommitter, SparkSink, from_ipc, spark_schema, to_ipc
from headway.errors import InvalidOption
from headway.gateway import jvm_method


def _jvm_thread(spark: Any) -> Any:
    """The thread of the JVM that works for this thread."""
    return jvm_method(spark, "java.lang.Thread", "currentThread")()


class ForeachBatchSink(SparkSink):
    """Calls `payload(DataFrame, epoch)` when an epoch commits."""

    to_driver = True
    visible_at_commit = True
    _driver_only = ("_context", "_loader")

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        self._loader = _jvm_thread(context.spark).getContextClassLoader()
        if not callable(context.payload):
            raise InvalidOption("foreachBatch needs a function of a DataFrame and a batch id")

    def committer(self) -> SinkCommitter:
        return ForeachBatchCommitter(self.context, self.arrow_schema, self._loader)


class ForeachBatchCommitter(DriverCommitter):
    """Collects the rows of an epoch; in complete mode the newest result is the epoch's."""

    def __init__(self, context: SinkContext, schema: pa.Schema, loader: Any) -> None:
        self._spark = context.spark
        self._loader = loader
        self._function: Callable[[Any, int], None] = context.payload
        self._complete = context.output_mode.lower() == "complete"
        self._arrow_schema = schema
        self._schema = spark_schema(context.schema)
        self._pending: list[pa.RecordBatch] = []

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        if self._complete:
            self._pending.clear()
        self._pending.append(batch)

    def prepare(self, epoch: int) -> bytes | None:
        data = to_ipc(self._arrow_schema, self._pending) if self._pending else None
        self._pending.clear()
        return data

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        batches = [b for data in receipts if data is not None for b in from_ipc(data)]
        if not batches:
            return
        table = pa.Table.from_batches(batches, self._arrow_schema)
        _jvm_thread(self._spark).setContextClassLoader(self._loader)
        self._function(self._spark.createDataFrame(table, self._schema), epoch)

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        self._pending.clear()
