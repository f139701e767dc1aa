"""The console sink: every result is printed as a table, as Spark's console sink prints a micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext
from headway.connectors.sinks.base import DriverCommitter, SparkSink, spark_schema

_RULE = "-" * 43


class ConsoleSink(SparkSink):
    """Prints to the driver's standard output; options numRows (20) and truncate (true)."""

    to_driver = True

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        self.options.check(format, ["numRows", "truncate"])
        self.num_rows = self.options.number("numRows", 20)
        self.truncate = self.options.flag("truncate", True)

    def committer(self) -> SinkCommitter:
        return ConsoleCommitter(self.context, self.num_rows, self.truncate)


class ConsoleCommitter(DriverCommitter):
    """Prints one table for each call; the batch number goes on over restarts."""

    def __init__(self, context: SinkContext, num_rows: int, truncate: bool) -> None:
        self._spark = context.spark
        self._schema = spark_schema(context.schema)
        self._num_rows = num_rows
        self._width = 20 if truncate else 0
        self._batch = 0

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        frame = self._spark.createDataFrame(pa.Table.from_batches([batch]), self._schema)
        table = frame._jdf.showString(self._num_rows, self._width, False)
        print(f"{_RULE}\nBatch: {self._batch}\n{_RULE}\n{table}", flush=True)
        self._batch += 1

    def prepare(self, epoch: int) -> int:
        return self._batch

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        self._batch = kept[-1] if kept else 0
