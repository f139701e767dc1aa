"""The Delta Lake sink: a table that other engines read while it is written, exactly once.

1. Nodes write Parquet files below the table's directory, as the file sink does. When an epoch commits, the driver adds
   its files to the table in one commit of the table's log: readers see all of an epoch or nothing.
2. The commit carries an application transaction (Delta's `txn` action): the query's id and the epoch. A query that goes
   on asks the table for the last epoch of its id, and adds nothing twice.
3. Delta Lake and not Iceberg: the package `deltalake` takes files that others wrote and such a transaction in the same
   commit. With Iceberg's the mark would be a property of the snapshot, found by walking the history, and there would
   have to be a catalog.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkCommitter, SinkContext
from headway.connectors.sinks.base import DriverCommitter
from headway.connectors.sinks.files import FileSink
from headway.connectors.sinks.partitions import NO_VALUE
from headway.connectors.sinks.storage import StoredFile
from headway.errors import HeadwayError, InvalidOption


def library() -> Any:
    """The package that knows Delta's log."""
    try:
        import deltalake
    except ImportError:
        raise HeadwayError('sink delta needs the package deltalake: pip install "headway[delta]" brings it') from None
    return deltalake


class DeltaSink(FileSink):
    """See the module. The table is made, if it is not there, when the query starts."""

    encoded_as = "parquet"

    def __init__(self, format: str, context: SinkContext) -> None:
        super().__init__(format, context)
        for field in self.partitioning.columns:
            if isinstance(field.type, T.TimestampType | T.TimestampNTZType):
                raise InvalidOption(
                    f"sink delta: partitionBy of the timestamp {field.name!r} depends on the time zone; use a date"
                )
        parts = urlsplit(self.url)
        self.table = _Table(
            unquote(parts.path) if parts.scheme in ("", "file") else self.url,
            self.arrow_schema,
            tuple(field.name for field in self.partitioning.columns),
        )
        self.table.check()

    def committer(self) -> SinkCommitter:
        return DeltaCommitter(self.table, self.context.query_id)


class _Table:
    """A table, by its place."""

    def __init__(self, place: str, schema: pa.Schema, partition_by: tuple[str, ...]) -> None:
        self.place = place
        self.schema = schema
        self.partition_by = list(partition_by)

    def check(self) -> None:
        """Raise if there is a table of other columns."""
        delta = library()
        if not delta.DeltaTable.is_deltatable(self.place):
            return
        table = delta.DeltaTable(self.place)
        ours, theirs = _columns(delta.Schema.from_arrow(self.schema)), _columns(table.schema())
        if ours != theirs:
            raise InvalidOption(f"the Delta table in {self.place} has the columns {theirs} and the query gives {ours}")
        if table.metadata().partition_columns != self.partition_by:
            there = table.metadata().partition_columns
            raise InvalidOption(f"the Delta table in {self.place} is partitioned by {there}, not {self.partition_by}")

    def open(self) -> Any:
        """The table as it is now; a new one if there is none."""
        delta = library()
        if not delta.DeltaTable.is_deltatable(self.place):
            delta.DeltaTable.create(
                self.place, delta.Schema.from_arrow(self.schema), mode="ignore", partition_by=self.partition_by
            )
        return delta.DeltaTable(self.place)


class DeltaCommitter(DriverCommitter):
    """Adds the files of an epoch to the table, unless they are there."""

    def __init__(self, table: _Table, query: str) -> None:
        self._table = table
        self._query = query
        table.open()

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        files = [StoredFile(*file) for receipt in receipts for file in receipt or ()]
        if not files:
            return
        delta = library()
        table = self._table.open()
        done = table.transaction_version(self._query)
        if done is not None and done >= epoch:
            return
        transaction = delta.CommitProperties(app_transactions=[delta.Transaction(self._query, epoch)])
        schema = delta.Schema.from_arrow(self._table.schema)
        actions = [_added(file) for file in files]
        table.create_write_transaction(
            actions, "append", schema, self._table.partition_by, commit_properties=transaction
        )


def _added(file: StoredFile) -> Any:
    from deltalake.transaction import AddAction

    folders = [part.split("=", 1) for part in file.path.split("/")[:-1]]
    values = {unquote(name): None if value == NO_VALUE else unquote(value) for name, value in folders}
    return AddAction(file.path, file.size, values, file.modified, True, json.dumps({"numRecords": file.rows}))


def _columns(schema: Any) -> dict[str, str]:
    """Types by name, whatever may be null."""
    return {field["name"]: json.dumps(_bare(field["type"])) for field in json.loads(schema.to_json())["fields"]}


def _bare(kind: Any) -> Any:
    if isinstance(kind, dict):
        return {
            name: _bare(part) for name, part in kind.items() if name not in ("nullable", "containsNull", "metadata")
        }
    return [_bare(part) for part in kind] if isinstance(kind, list) else kind
