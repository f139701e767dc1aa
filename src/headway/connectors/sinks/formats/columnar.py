"""Batches gathered into larger ones, so that a file of a columnar format has few row groups."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

_GATHERED_BYTES = 4 * 1024 * 1024


class TableWriter(Protocol):
    """A file writer of Arrow's own."""

    def write_table(self, table: pa.Table) -> None: ...

    def close(self) -> None: ...


class Gathered:
    """An encoder that hands batches on when they come to some megabytes, and the rest at the end."""

    def __init__(self, writer: TableWriter, schema: pa.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._batches: list[pa.RecordBatch] = []
        self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= _GATHERED_BYTES:
            self._flush()

    def _flush(self) -> None:
        columns = pa.Table.from_batches(self._batches).columns
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self._batches.clear()
        self._bytes = 0

    def close(self) -> None:
        if self._batches:
            self._flush()
        self._writer.close()
