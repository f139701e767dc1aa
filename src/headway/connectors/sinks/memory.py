"""The memory sink: a temporary view in the driver that grows with the results, as Spark's own does.

1. The view is over Spark's own `MemorySink`, so any query of the session can read it as soon as the query has
   started.
2. Rows are visible as soon as they arrive, before their epoch commits.
3. Going back to an epoch, and a new result in complete mode, replace the contents in one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkCommitter, SinkContext
from headway.connectors.sinks.base import DriverCommitter, SparkSink, from_ipc, spark_schema, to_ipc
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import InvalidOption
from headway.gateway import jvm_class, jvm_method

_SOURCES = "org.apache.spark.sql.execution.streaming.sources"
_WARM: dict[Any, set[pa.Schema]] = {}
"""By JVM: the schemas whose converters are compiled."""


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
        struct = spark._jsparkSession.parseDataType(spark_schema(schema).json())
        self._sink = jvm_class(spark, f"{_SOURCES}.MemorySink")()
        self._writer = jvm_class(spark, f"{_SOURCES}.MemoryDataWriter")(0, struct.asNullable())
        self._arrow = _arrow_converters(spark._jvm)
        self._rows = _plain_rows(spark, struct) if any(_holds_lists(f.type) for f in schema) else None
        self._as_java = jvm_method(spark, "scala.jdk.javaapi.CollectionConverters", "asJava")
        self._row_tag = _row_tag(spark._jvm)
        self._batches = 0
        output = jvm_method(spark, "org.apache.spark.sql.catalyst.types.DataTypeUtils", "toAttributes")(struct)
        plan = jvm_class(spark, f"{_SOURCES}.MemoryPlan")(self._sink, output)
        of_rows = jvm_method(spark, "org.apache.spark.sql.classic.Dataset", "ofRows")
        of_rows(spark._jsparkSession, plan).createOrReplaceTempView(name)
        self._warm_up(spark._jvm, arrow_schema(schema))

    def _warm_up(self, jvm: Any, schema: pa.Schema) -> None:
        """Spark compiles its converter of a schema's rows at the first one: half a second that no result should wait
        for. It keeps the code for the next view."""
        known = _WARM.setdefault(jvm, set())
        if schema not in known:
            nulls = pa.RecordBatch.from_arrays([pa.nulls(1, f.type) for f in schema], schema=schema)
            self._convert(to_ipc(schema, [nulls]))
            known.add(schema)

    def add(self, data: bytes, replace: bool) -> None:
        """Show the rows of an Arrow IPC stream, after those already there or instead of them."""
        self._sink.write(self._batches, replace, self._convert(data))
        self._batches += 1

    def _convert(self, data: bytes) -> Any:
        rows = self._arrow.fromIPCStreamWithIterator(data, None)._1()
        if self._rows is not None:
            rows = rows.map(self._rows)
        self._writer.writeAll(self._as_java(rows))
        return self._writer.commit().data().toArray(self._row_tag)


def _plain_rows(spark: Any, struct: Any) -> Any:
    """A function of Java's from rows over Arrow to rows of Spark's own: the former fail on null numbers in arrays."""
    return jvm_method(spark, "org.apache.spark.sql.catalyst.expressions.UnsafeProjection", "create")(struct)


def _holds_lists(kind: T.DataType) -> bool:
    if isinstance(kind, T.StructType):
        return any(_holds_lists(f.dataType) for f in kind.fields)
    return isinstance(kind, T.ArrayType | T.MapType)


@cache
def _arrow_converters(jvm: Any) -> Any:
    """A Scala object whose methods Java does not see as static ones."""
    return _class_of(jvm, "org.apache.spark.sql.execution.arrow.ArrowConverters$").getField("MODULE$").get(None)


@cache
def _row_tag(jvm: Any) -> Any:
    return getattr(jvm, "scala.reflect.ClassTag").apply(_class_of(jvm, "org.apache.spark.sql.Row"))


def _class_of(jvm: Any, name: str) -> Any:
    return getattr(jvm, "java.lang.Class").forName(name)
