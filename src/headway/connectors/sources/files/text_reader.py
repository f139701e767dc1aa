"""Text files: a line, or the whole file, in the column `value`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from headway.connectors.sources.files.content import decode, read_bytes, split_lines
from headway.connectors.sources.options import boolean
from headway.dataflow.graph import Source

KNOWN = ("wholetext", "lineSep", "encoding", "charset")
UNSUPPORTED = ("compression",)


class TextReader:
    """Reads text; options wholetext and lineSep."""

    def __init__(self, source: Source, fields: pa.Schema) -> None:
        self._whole = boolean(source, "wholetext", False)
        self._separator = source.option("lineSep")
        self._fields = fields

    def read(self, filesystem: Any, path: str) -> Iterator[pa.RecordBatch]:
        data = read_bytes(filesystem, path)
        lines = [data] if self._whole else split_lines(data, self._separator)
        values = pa.array([decode(line) for line in lines], pa.string())
        # Only `value` can be read from a text file; a schema without it (all columns from directories) counts rows.
        columns = [values for _ in self._fields]
        if columns:
            yield pa.RecordBatch.from_arrays(columns, schema=self._fields)
        else:
            yield pa.RecordBatch.from_struct_array(pa.array([{}] * len(lines), pa.struct([])))
