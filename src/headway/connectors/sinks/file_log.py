"""The log of a file sink: which data files are part of the table.

1. It is Spark's own `_spark_metadata` log, kept by Spark's own class, so Spark reads the directory as one of its own:
   only files in the log exist for a reader, and an epoch's files appear at once.
2. An epoch with files is one entry of the log; epochs without files leave no trace. Entries follow those that are
   there already, whoever wrote them.
3. The names of data files are unique, so an epoch is in the log if its files are: committing it again adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.connectors.sinks.storage import StoredFile, file_url

_VERSION = 1
_REPLICATION = 1
_BLOCK_SIZE = 32 * 1024 * 1024
_ATTEMPTS = 10


class FileLog:
    """Spark's log in `directory`; making one creates it, so that readers see no file before the first commit."""

    def __init__(self, spark: Any, directory: str) -> None:
        self._spark = spark
        self._directory = directory
        self._sinks = spark._jvm.org.apache.spark.sql.execution.streaming.sinks
        none = spark._jvm.java.lang.Class.forName("scala.None$").getField("MODULE$").get(None)
        path = spark._jvm.org.apache.hadoop.fs.Path(spark._jvm.java.net.URI(f"{directory}/_spark_metadata"))
        self._log = self._sinks.FileStreamSinkLog(_VERSION, spark._jsparkSession, path.toString(), none)
        self._may_be_known = True

    def add(self, files: Sequence[StoredFile]) -> None:
        """Make `files` part of the table, all at once; nothing happens if they are already."""
        if not files or (self._may_be_known and self._knows(files[0])):
            return
        statuses = self._statuses(files)
        for _ in range(_ATTEMPTS):
            if self._log.add(self._next_id(), statuses):
                self._may_be_known = False
                return
        raise OSError(f"the log of {self._directory} is being written by someone else; stop the other query")

    def _next_id(self) -> int:
        latest = self._log.getLatestBatchId()
        return 0 if latest.isEmpty() else latest.get() + 1

    def _knows(self, file: StoredFile) -> bool:
        """Only the first commit after a start can be a repetition, so the whole log is read once."""
        names = self._spark._jvm.scala.runtime.ScalaRunTime.stringOf(self._log.allFiles())
        return file_url(self._directory, file.path) in names

    def _statuses(self, files: Sequence[StoredFile]) -> Any:
        array = self._spark.sparkContext._gateway.new_array(self._sinks.SinkFileStatus, len(files))
        for index, file in enumerate(files):
            array[index] = self._sinks.SinkFileStatus(
                file_url(self._directory, file.path), file.size, False, file.modified, _REPLICATION, _BLOCK_SIZE, "add"
            )
        return array
