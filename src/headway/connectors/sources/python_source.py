"""Python data sources: classes registered with `spark.dataSource.register`, run inside the nodes.

A source with `streamReader` is planned by it, and each of its input partitions is a task that any node reads; one
with `simpleStreamReader` is read where it is planned, and its rows travel in the task. Rows are tuples, Rows, or Arrow
batches; the last are used as they are.

A source may be faster still: if its class has a method `headwaySource(schema)`, what that returns (an
`InlineSource` of headway.connectors.api) is polled by the nodes themselves, and the readers serve Spark alone:

    class Clicks(DataSource):
        def schema(self):
            return "user long"

        def streamReader(self, schema):       # how Spark reads it
            return ClicksReader(self.options)

        def headwaySource(self, schema):      # how Headway reads it
            return ClicksInline(self.options)

    spark.dataSource.register(Clicks)
    clicks = spark.readStream.format("Clicks").load()

If that object has a method `narrowed(columns)` (`Narrowing` of headway.connectors.api), it makes no column that a query
does not read.
"""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.errors import PySparkNotImplementedError
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceStreamReader

from headway.connectors.api import InlineSource, Planner, Position
from headway.connectors.sources.conform import struct_of, to_batches
from headway.connectors.sources.options import POLL_INTERVAL, poll_interval
from headway.dataflow.graph import Source
from headway.dataflow.types import arrow_schema
from headway.errors import InvalidOption

POLL_SECONDS = 0.01


def as_json(offset: Any) -> Position:
    """An offset as it comes back from a checkpoint."""
    return json.loads(json.dumps(offset))


class PythonSource:
    """A Python data source, planned by its stream reader or read by its simple one."""

    replayable = True

    def __init__(self, source: Source) -> None:
        self.poll_interval = poll_interval(source, POLL_SECONDS)
        self._source = source
        self._reader: Any = None
        self._opening = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # A reader may hold connections: each process makes its own.
        return {"_source": self._source, "poll_interval": self.poll_interval}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _reader=None, _opening=threading.Lock())

    def planner(self) -> Planner:
        kind, reader = self.make_reader()
        return StreamPlanner(reader) if kind == "stream" else SimplePlanner(reader, self)

    def shown(self, position: Position) -> Any:
        return position

    def read(self, task: bytes) -> Iterator[pa.RecordBatch]:
        kind, payload = cloudpickle.loads(task)
        if kind == "batches":
            with pa.ipc.open_stream(payload) as stream:
                yield from stream
            return
        with self._opening:
            if self._reader is None:
                self._reader = self.make_reader()[1]
        if kind == "partition":
            yield from self.batches(self._reader.read(payload))
        else:
            yield from self.batches(self._reader.readBetweenOffsets(*payload))

    def batches(self, rows: Iterator[Any]) -> Iterator[pa.RecordBatch]:
        schema = self._source.schema
        return to_batches(rows, struct_of(schema), arrow_schema(schema), self.data_source())

    def data_source(self) -> DataSource:
        """A new instance, made as Spark makes it."""
        cls = cloudpickle.loads(self._source.payload)
        options = {key: value for key, value in self._source.options if key != POLL_INTERVAL}
        return cls(options=CaseInsensitiveDict(options))

    def make_reader(self) -> tuple[str, Any]:
        """A new reader and its kind, `stream` or `simple`."""
        instance, struct = self.data_source(), struct_of(self._source.schema)
        try:
            return "stream", instance.streamReader(schema=struct)
        except PySparkNotImplementedError:
            return "simple", instance.simpleStreamReader(schema=struct)


class StreamPlanner:
    """Plans by a DataSourceStreamReader, with or without admission control."""

    def __init__(self, reader: DataSourceStreamReader) -> None:
        self._reader = reader
        self._limited = len(inspect.signature(reader.latestOffset).parameters) > 0
        self._end: Position = None

    def start(self, position: Position | None) -> Position:
        self._end = as_json(self._reader.initialOffset()) if position is None else position
        return self._end

    def latest(self) -> Position:
        if self._limited:
            limit = self._reader.getDefaultReadLimit()
            self._end = as_json(self._reader.latestOffset(self._end, limit))
        else:
            self._end = as_json(self._reader.latestOffset())
        return self._end

    def tasks(self, start: Position, end: Position) -> Sequence[tuple[int, bytes]]:
        partitions = self._reader.partitions(start, end)
        return [(index, cloudpickle.dumps(("partition", part))) for index, part in enumerate(partitions)]

    def commit(self, end: Position) -> None:
        self._reader.commit(end)

    def close(self) -> None:
        self._reader.stop()


class SimplePlanner:
    """Reads where it plans: `latest` fetches rows, `tasks` hands them out once."""

    def __init__(self, reader: Any, source: PythonSource) -> None:
        self._reader = reader
        self._source = source
        self._end: Position = None
        self._fetched: list[tuple[Position, Position, list[pa.RecordBatch]]] = []

    def start(self, position: Position | None) -> Position:
        self._end = as_json(self._reader.initialOffset()) if position is None else position
        self._fetched.clear()
        return self._end

    def latest(self) -> Position:
        rows, end = self._reader.read(self._end)
        batches, end = list(self._source.batches(rows)), as_json(end)
        if end != self._end:
            self._fetched.append((self._end, end, batches))
        elif batches:
            raise InvalidOption(
                f"a simple stream reader gave rows but left its offset at {end}: read() must move it on"
            )
        self._end = end
        return end

    def tasks(self, start: Position, end: Position) -> Sequence[tuple[int, bytes]]:
        """The rows that were fetched for exactly this range, or, after a restart, the range itself."""
        bounds = [entry[0] for entry in self._fetched], [entry[1] for entry in self._fetched]
        if start not in bounds[0] or end not in bounds[1]:
            return [(0, cloudpickle.dumps(("between", (start, end))))]
        last = bounds[1].index(end)
        batches = [batch for entry in self._fetched[bounds[0].index(start) : last + 1] for batch in entry[2]]
        del self._fetched[: last + 1]
        return [(0, cloudpickle.dumps(("batches", _ipc(batches))))] if batches else []

    def commit(self, end: Position) -> None:
        self._reader.commit(end)

    def close(self) -> None:
        """A simple reader has nothing to stop."""


def _ipc(batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def open_python(source: Source) -> PythonSource | InlineSource:
    """Make the data source in the driver once, so that what is wrong with it is known at start()."""
    planned = PythonSource(source)
    instance = planned.data_source()
    inline = getattr(instance, "headwaySource", None)
    if inline is not None:
        found: InlineSource = inline(struct_of(source.schema))
        return found
    # Asked of the class, not by making a reader: one that is never stopped may hold on to what it opened.
    cls = type(instance)
    if cls.streamReader is DataSource.streamReader and cls.simpleStreamReader is DataSource.simpleStreamReader:
        raise InvalidOption(
            f"data source {source.format} cannot be read as a stream: give its class the method streamReader or "
            "simpleStreamReader"
        )
    return planned
