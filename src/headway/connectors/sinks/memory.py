"""The memory sink: a temporary view in the driver that grows with the results, as Spark's own does.

1. The view is over Spark's own `MemorySink`, so any query of the session can read it as soon as the query has
   started.
2. Rows are visible as soon as they arrive, before their epoch commits.
3. Going back to an epoch, and a new result in complete mode, replace the contents in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext
from headway.connectors.sinks.base import DriverCommitter, SparkSink, from_ipc, spark_schema, to_ipc
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption


class MemorySink(SparkSink):
    """Rows in the driver's memory, read as a temporary view called like the query."""

    to_driver = True
    keeps_history = True
    _driver_only = ("_context", "_view")

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        self.options.check(format, [])
        if not context.query_name:
            raise InvalidOption("sink memory needs queryName, the name of the view; call .queryName(...)")
        self._view = MemoryView(context.spark, context.query_name, context.schema)

    def committer(self) -> SinkCommitter:
        return MemoryCommitter(self._view, self.arrow_schema, self.context.output_mode.lower() == "complete")


class MemoryCommitter(DriverCommitter):
    """Fills the view; keeps the rows of the epoch that is under way, for the checkpoint."""

    def __init__(self, view: MemoryView, schema: pa.Schema, complete: bool) -> None:
        self._view = view
        self._schema = schema
        self._complete = complete
        self._pending: list[pa.RecordBatch] = []

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        self._view.add(to_ipc(self._schema, [batch]), replace=self._complete)
        if self._complete:
            self._pending.clear()
        self._pending.append(batch)

    def prepare(self, epoch: int) -> bytes | None:
        if not self._pending:
            return None
        data = to_ipc(self._schema, self._pending)
        self._pending.clear()
        return data

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        self._pending.clear()
        epochs = [value for value in kept if value is not None]
        if self._complete:
            epochs = epochs[-1:]
        self._view.add(to_ipc(self._schema, [b for data in epochs for b in from_ipc(data)]), replace=True)


class MemoryView:
    """A temporary view over Spark's `MemorySink`, and the way of Arrow rows into it.

    Spark's own writer turns Arrow's rows into the sink's: five calls per batch and no Spark job, about 2 ms.
    """

    def __init__(self, spark: Any, name: str, schema: Schema) -> None:
        jvm = spark._jvm
        empty = spark.createDataFrame([], spark_schema(schema))._jdf
        sources = jvm.org.apache.spark.sql.execution.streaming.sources
        self._sink = sources.MemorySink()
        self._writer = sources.MemoryDataWriter(0, empty.schema().asNullable())
        self._arrow = _scala_object(jvm, "org.apache.spark.sql.execution.arrow.ArrowConverters")
        self._converters = jvm.scala.jdk.javaapi.CollectionConverters
        self._row_tag = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("org.apache.spark.sql.Row"))
        self._batches = 0
        plan = sources.MemoryPlan(self._sink, empty.queryExecution().analyzed().output())
        dataset = jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, plan)
        dataset.createOrReplaceTempView(name)
        self._warm_up(arrow_schema(schema))

    def _warm_up(self, schema: pa.Schema) -> None:
        """Spark compiles its row converter at the first row, half a second that no result should wait for."""
        nulls = pa.RecordBatch.from_arrays([pa.nulls(1, f.type) for f in schema], schema=schema)
        self._convert(to_ipc(schema, [nulls]))

    def add(self, data: bytes, replace: bool) -> None:
        """Show the rows of an Arrow IPC stream, after those already there or instead of them."""
        self._sink.write(self._batches, replace, self._convert(data))
        self._batches += 1

    def _convert(self, data: bytes) -> Any:
        rows = self._arrow.fromIPCStreamWithIterator(data, None)._1()
        self._writer.writeAll(self._converters.asJava(rows))
        return self._writer.commit().data().toArray(self._row_tag)


def _scala_object(jvm: Any, name: str) -> Any:
    return jvm.java.lang.Class.forName(f"{name}$").getField("MODULE$").get(None)
