"""Driving sources without threads, and comparing them with Spark."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import types as T

from headway.connectors.sources import open_source
from headway.dataflow.graph import Source
from headway.dataflow.types import Field, Schema, arrow_schema

_SHORT = {"int": "integer", "bigint": "long", "tinyint": "byte", "smallint": "short"}


def struct_of(ddl: str) -> T.StructType:
    """A flat DDL string as a struct, without asking Spark's parser: pure tests need no session."""
    fields = [part.split() for part in re.split(r",\s*(?![^(]*\))", ddl)]
    kinds = {name: T._parse_datatype_json_value(_SHORT.get(kind, kind)) for name, kind in fields}
    return T.StructType([T.StructField(name, kind) for name, kind in kinds.items()])


def schema_of(struct: T.StructType | str) -> Schema:
    struct = struct_of(struct) if isinstance(struct, str) else struct
    return tuple(Field(f.name, f.dataType, f.nullable) for f in struct.fields)


def source_of(format: str, struct: T.StructType | str, payload: bytes = b"", **options: Any) -> Source:
    lower = {key.lower(): str(value) for key, value in options.items()}
    return Source(schema_of(struct), format, tuple(sorted(lower.items())), payload)


def open_remote(source: Source) -> Any:
    """The source as a node gets it: opened in the driver, pickled, and unpickled."""
    return cloudpickle.loads(cloudpickle.dumps(open_source(source)))


class Driver:
    """A planned source driven by hand: one look, one round of tasks, at a time."""

    def __init__(self, source: Source, position: Any = None) -> None:
        self.source = open_remote(source)
        self.schema = arrow_schema(source.schema)
        self.planner = self.source.planner()
        self.position = self.planner.start(position)

    def round(self) -> list[list[dict[str, Any]]]:
        """What is new, a list of rows per task."""
        end = self.planner.latest()
        if end == self.position:
            return []
        tasks = self.planner.tasks(self.position, end)
        self.position = end
        return [self._rows(task) for _, task in tasks]

    def rows(self) -> list[tuple[Any, ...]]:
        """All that is new, as tuples."""
        return [tuple(row.values()) for task in self.round() for row in task]

    def tables(self) -> pa.Table:
        end = self.planner.latest()
        batches = [b for _, t in self.planner.tasks(self.position, end) for b in self.source.read(t)]
        self.position = end
        return pa.Table.from_batches(batches, self.schema)

    def _rows(self, task: bytes) -> list[dict[str, Any]]:
        batches = list(self.source.read(task))
        for batch in batches:
            assert batch.schema.equals(self.schema), (batch.schema, self.schema)
        return [row for batch in batches for row in batch.to_pylist()]


def comparable(value: Any) -> Any:
    """Equal for equal values of Spark, NaN included; sortable whatever it is."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict | T.Row):
        values = value.values() if isinstance(value, dict) else value
        return tuple(comparable(v) for v in values)
    return bytes(value) if isinstance(value, bytearray) else value


def multiset(rows: Iterable[Iterable[Any]]) -> list[tuple[Any, ...]]:
    return sorted((tuple(comparable(v) for v in row) for row in rows), key=repr)


def arrow_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows of plain values: dates and times as numbers, for Spark's years go beyond Python's."""
    columns = [_plain(column).to_pylist() for column in table.columns]
    return [tuple(comparable(value) for value in row) for row in zip(*columns, strict=True)]


def _plain(column: Any) -> Any:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.int32()) if pa.types.is_date(column.type) else column
