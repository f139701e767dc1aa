"""The noop sink: rows are computed and forgotten."""

from __future__ import annotations

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.connectors.sinks.base import DriverCommitter, SparkSink


class NoopSink(SparkSink):
    """Takes every row and keeps none."""

    inline = True

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        self.options.check(format, [])

    def writer(self, operator: str) -> SinkWriter:
        return NoopWriter()

    def committer(self) -> SinkCommitter:
        return DriverCommitter()


class NoopWriter:
    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        return None

    def prepare(self, epoch: int) -> None:
        return None

    def close(self, failed: bool) -> None:
        return None
