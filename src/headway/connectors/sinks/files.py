"""The file sink: parquet, json, csv, orc and text files, exactly once, that Spark can read while they are written.

1. Operators write data files with unique names into the target directory while an epoch runs.
2. A prepared file is complete and durable; it becomes part of the table when its epoch commits, through the log.
3. A session remembers which files a table has: of the table that is written, this session's memory is dropped.
4. A file that was never prepared is deleted when its writer closes; after a crash it stays, invisible to readers.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.connectors.sinks.base import APPEND, DriverCommitter, SparkSink
from headway.connectors.sinks.file_log import FileLog
from headway.connectors.sinks.formats import Encoder, Format, open_format
from headway.connectors.sinks.partitions import Partitioning
from headway.connectors.sinks.storage import Directory, StoredFile, directory_url
from headway.errors import InvalidOption

TABLE_OPTION = "headway.table"
"""The table that the directory belongs to, by its full name; set by toTable."""
_MAX_OPEN_FILES = 64


class FileSink(SparkSink):
    """Files below option `path`, one per epoch, operator and partition value."""

    visible_at_commit = True
    partitions = True
    modes = APPEND
    _driver_only = ("_context", "_log")
    encoded_as: str | None = None
    """The format of the files, None if it is the sink's."""

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        path = self.options.text("path", default="")
        if not path:
            raise InvalidOption(f"sink {format} needs a path; call .option('path', ...) or start(path)")
        self.partitioning = Partitioning.of(context)
        self.encoding: Format = open_format(
            self.encoded_as or format, context, self.options, self.partitioning.data_fields
        )
        self.max_records = _max_records(context, self.options.text("maxRecordsPerFile", default=""))
        self.url = directory_url(context.spark, path)
        Directory(self.url)
        self._log = FileLog(context.spark, self.url)

    def writer(self, operator: str) -> SinkWriter:
        return FileWriter(self, operator)

    def committer(self) -> SinkCommitter:
        return FileCommitter(self._log, self._forget())

    def _forget(self) -> Callable[[], None]:
        """What makes the session look again which files the table has."""
        table = self.options.text(TABLE_OPTION, default="")
        if not table:
            return lambda: None
        state = self.context.spark._jsparkSession.sessionState()
        catalog, identifier = state.catalog(), state.sqlParser().parseTableIdentifier(table)
        return lambda: catalog.refreshTable(identifier)


def _max_records(context: SinkContext, option: str) -> int:
    value = option or context.spark.conf.get("spark.sql.files.maxRecordsPerFile")
    try:
        return int(value)
    except ValueError:
        raise InvalidOption(f"option maxRecordsPerFile is {value!r}; use a whole number") from None


class FileCommitter(DriverCommitter):
    """Enters the files of an epoch into the log."""

    def __init__(self, log: FileLog, forget: Callable[[], None]) -> None:
        self._log = log
        self._forget = forget

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        files = [StoredFile(*file) for receipt in receipts for file in receipt or ()]
        self._log.add(files)
        if files:
            self._forget()


class OpenFile:
    """A data file that is being written."""

    def __init__(self, directory: Directory, path: str, encoding: Format) -> None:
        self.path = path
        self.rows = 0
        self._stream = directory.create(path)
        self._encoder: Encoder = encoding.encoder(self._stream)

    def write(self, batch: pa.RecordBatch) -> None:
        self._encoder.write(batch)
        self.rows += batch.num_rows

    def close(self) -> None:
        self._encoder.close()
        self._stream.close()


class FileWriter:
    """The data files of one operator; at most `_MAX_OPEN_FILES` are open, the one used longest ago is closed first."""

    def __init__(self, sink: FileSink, operator: str) -> None:
        self._operator = "".join(c if c.isalnum() else "_" for c in operator)
        self._encoding = sink.encoding
        self._partitioning = sink.partitioning
        self._max_records = sink.max_records
        self._directory = Directory(sink.url)
        self._open: OrderedDict[str, OpenFile] = OrderedDict()
        self._closed: dict[str, int] = {}
        """Rows by path."""

    def write(self, batch: pa.RecordBatch, epoch: int) -> None:
        for folder, part in self._partitioning.split(batch):
            self._write_part(folder, part, epoch)

    def _write_part(self, folder: str, part: pa.RecordBatch, epoch: int) -> None:
        while part.num_rows > 0:
            file = self._file(folder, epoch)
            room = self._max_records - file.rows if self._max_records > 0 else part.num_rows
            file.write(part.slice(0, room))
            part = part.slice(min(room, part.num_rows))
            if self._max_records > 0 and file.rows >= self._max_records:
                self._finish(folder)

    def _file(self, folder: str, epoch: int) -> OpenFile:
        if folder not in self._open:
            if len(self._open) >= _MAX_OPEN_FILES:
                self._finish(next(iter(self._open)))
            name = f"part-{epoch:05d}-{self._operator}-{uuid.uuid4()}{self._encoding.extension}"
            self._open[folder] = OpenFile(self._directory, f"{folder}{name}", self._encoding)
        self._open.move_to_end(folder)
        return self._open[folder]

    def _finish(self, folder: str) -> None:
        file = self._open.pop(folder)
        self._closed[file.path] = file.rows
        file.close()

    def prepare(self, epoch: int) -> list[StoredFile]:
        while self._open:
            self._finish(next(iter(self._open)))
        stored = [self._directory.finish(path)._replace(rows=rows) for path, rows in self._closed.items()]
        self._closed.clear()
        return stored

    def close(self, failed: bool) -> None:
        while self._open:
            self._finish(next(iter(self._open)))
        for path in self._closed:
            self._directory.delete(path)
        self._closed.clear()
