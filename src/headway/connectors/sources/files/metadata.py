"""What Spark tells of the file that a row came from: the hidden column `_metadata`, and `input_file_name()`.

1. A field of a source's schema with the name `METADATA` is such a column: a struct of some of the facts, by name.
2. A file is one block here: `file_block_start` is 0, and `file_block_length` the file's size.
3. Addresses are written as Java writes them: what a path of an URI may not have is escaped, letters of any alphabet are
   not. Local files have one slash in `file_path`, and three in `input_file_name()`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.sources.files.location import Location
from headway.dataflow.types import Field, Schema, arrow_type

METADATA = "_metadata of the file"
FACTS = frozenset(
    [
        *("file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time"),
        "row_index",
    ]
)
_ESCAPED = re.compile(r"[\x00-\x7f](?<![A-Za-z0-9_.!~'()*,;:$&+=@/-])")


def in_files(schema: Schema) -> Schema:
    """The fields that are not such columns."""
    return tuple(field for field in schema if field.name != METADATA)


def with_metadata(
    batches: Iterable[pa.RecordBatch], schema: Schema, location: Location, path: str
) -> Iterator[pa.RecordBatch]:
    """`batches` of one file, in order, with the columns of `schema` that tell of it."""
    hidden = [(at, field) for at, field in enumerate(schema) if field.name == METADATA]
    if not hidden:
        yield from batches
        return
    facts = _facts(location, path)
    first = 0
    for batch in batches:
        columns = list(batch.columns)
        names = list(batch.schema.names)
        for at, field in hidden:
            columns.insert(at, _column(field, facts, first, batch.num_rows))
            names.insert(at, METADATA)
        first += batch.num_rows
        yield pa.RecordBatch.from_arrays(columns, names)


def _column(field: Field, facts: dict[str, Any], first: int, rows: int) -> pa.Array:
    assert isinstance(field.type, T.StructType)
    kind = arrow_type(field.type)
    values = [
        pa.array(np.arange(first, first + rows))
        if part.name == "row_index"
        else pa.repeat(pa.scalar(facts[part.name], part.type), rows)
        for part in kind
    ]
    return pa.StructArray.from_arrays(values, fields=list(kind))


def _facts(location: Location, path: str) -> dict[str, Any]:
    info = location.filesystem.get_file_info(path)
    address = file_address(location, path)
    return {
        "input_file_name": address,
        "file_path": re.sub("^file:///", "file:/", address),
        "file_name": address.rsplit("/", 1)[-1],
        "file_size": info.size,
        "file_block_start": 0,
        "file_block_length": info.size,
        "file_modification_time": (info.mtime_ns or 0) // 1_000_000 * 1000,
    }


def file_address(location: Location, path: str) -> str:
    """The address of a file, in Hadoop's words.

    >>> file_address(Location("file:///", "/data"), "/data/a b.json")
    'file:///data/a%20b.json'
    """
    escaped = _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", path)
    return f"file://{escaped}" if location.uri == "file:///" else f"{location.uri.split('://')[0]}://{escaped}"
