"""Parquet and ORC files, read by Arrow, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from headway.connectors.sources.files.content import BadFile
from headway.connectors.sources.files.widen import pick
from headway.dataflow.graph import Source

PARQUET_KNOWN = ("mergeSchema",)
PARQUET_UNSUPPORTED = ("datetimeRebaseMode", "int96RebaseMode", "compression", "variantShredding")
ORC_KNOWN = ("mergeSchema",)
ORC_UNSUPPORTED = ("compression",)

ROWS_PER_BATCH = 65_536

_LOCAL_TIME = pa.timestamp("us")


class ColumnarReader:
    """What Parquet and ORC share: bad files and columns that do not fit are named."""

    kind = ""

    def __init__(self, source: Source, fields: pa.Schema) -> None:
        self._fields = fields

    def read(self, filesystem: Any, path: str) -> Iterator[pa.RecordBatch]:
        with filesystem.open_input_file(path) as file:
            batches = self._opened(file, path)
            while True:
                try:
                    batch = next(batches, None)
                    fitting = batch if batch is None else pick(batch, self._fields)
                except pa.ArrowException as error:
                    raise BadFile(
                        f"file {path} does not fit the schema of the stream ({error}): give the stream the schema that "
                        "the file has, or keep the file out with the option pathGlobFilter"
                    ) from error
                if fitting is None:
                    return
                yield fitting

    def _opened(self, file: Any, path: str) -> Iterator[Any]:
        try:
            return self._batches(file)
        except (pa.ArrowException, OSError) as error:
            raise BadFile(
                f"file {path} is not a {self.kind} file ({error}): remove it from the directory, or keep it out of the "
                "stream with the option pathGlobFilter"
            ) from error

    def _batches(self, file: Any) -> Iterator[Any]:
        raise NotImplementedError


class ParquetReader(ColumnarReader):
    kind = "Parquet"

    def _batches(self, file: Any) -> Iterator[Any]:
        wanted = {field.name.lower() for field in self._fields}
        opened = pyarrow.parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
        columns = [name for name in opened.schema_arrow.names if name.lower() in wanted]
        batches: Iterator[Any] = opened.iter_batches(ROWS_PER_BATCH, columns=columns)
        return batches


class OrcReader(ColumnarReader):
    kind = "ORC"

    def _batches(self, file: Any) -> Iterator[Any]:
        opened = pyarrow.orc.ORCFile(file)
        names = opened.schema.names
        # Files of old Hive versions call their columns _col0, _col1, ...: then the position counts.
        positional = bool(names) and all(name.startswith("_col") for name in names)
        stripes = (self._local_times(opened.read_stripe(index)) for index in range(opened.nstripes))
        return (self._renamed(stripe) for stripe in stripes) if positional else stripes

    def _local_times(self, stripe: Any) -> Any:
        """Spark writes timestamp_ntz to ORC as microseconds in a plain number."""
        wanted = {field.name.lower() for field in self._fields if field.type == _LOCAL_TIME}
        for index, field in enumerate(stripe.schema):
            if field.name.lower() in wanted and field.type == pa.int64():
                stripe = stripe.set_column(index, field.name, stripe.column(index).cast(_LOCAL_TIME))
        return stripe

    def _renamed(self, stripe: Any) -> Any:
        names = [field.name for field in self._fields][: stripe.num_columns]
        return pa.RecordBatch.from_arrays(stripe.columns[: len(names)], names=names)
