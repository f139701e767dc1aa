"""Streams for tests: rows that a test adds, read by Headway and by Structured Streaming alike."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from headway.connectors.sources.conform import conform, to_batches

FORMAT = "headway-memory-stream"


def _spool_file(directory: str, partition: int, number: int) -> str:
    return os.path.join(directory, f"{partition}-{number:010d}.arrow")


class _Slice(InputPartition):  # type: ignore[misc]
    """The files of one partition from `first` up to `end`."""

    def __init__(self, partition: int, first: int, end: int) -> None:
        self.partition = partition
        self.first = first
        self.end = end


class _SpoolReader(DataSourceStreamReader):  # type: ignore[misc]
    """Reads a spool directory; an offset says, per partition, how many of its files were read."""

    def __init__(self, directory: str, partitions: int, schema: T.StructType) -> None:
        self._directory = directory
        self._partitions = partitions
        self._schema = schema

    def initialOffset(self) -> dict[str, int]:
        return {str(p): 0 for p in range(self._partitions)}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        # Only what follows `start` is looked for, so that a look costs the same however long the stream is.
        return {p: self._end(int(p), number) for p, number in start.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        # All of them, also those with nothing new: a partition is known by its place in the list.
        return [_Slice(int(p), start[p], end[p]) for p in sorted(end, key=int)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        target = to_arrow_schema(self._schema, timezone="UTC")
        assert isinstance(partition, _Slice)
        for number in range(partition.first, partition.end):
            with pa.memory_map(_spool_file(self._directory, partition.partition, number)) as file:
                reader = pa.ipc.open_file(file)
                for index in range(reader.num_record_batches):
                    yield conform(reader.get_batch(index), target, "MemoryStream")

    def _end(self, partition: int, number: int) -> int:
        while os.path.exists(_spool_file(self._directory, partition, number)):
            number += 1
        return number


class MemoryStreamSource(DataSource):  # type: ignore[misc]
    """The data source behind `MemoryStream`; options `directory` and `partitions`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: T.StructType) -> DataSourceStreamReader:
        return _SpoolReader(self.options["directory"], int(self.options["partitions"]), schema)


class MemoryStream:
    """A stream of the rows that a test adds, each call visible at once and in order.

    `schema` is a StructType or a DDL string. Rows are spooled as Arrow files, so that nodes in other processes, and
    Structured Streaming, read the same; with a `directory` of its own the stream outlives the process, and opening it
    again goes on behind the rows that are there.

        stream = MemoryStream(spark, "id long, word string")
        query = hw.writeStream(stream.toDF()).format("memory").queryName("words").start()
        stream.addData((1, "one"), (2, "two"))
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: T.StructType | str,
        name: str | None = None,
        partitions: int = 1,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        if partitions < 1:
            raise ValueError(f"a MemoryStream has at least one partition, not {partitions}")
        self.schema = schema if isinstance(schema, T.StructType) else T.StructType.fromDDL(schema)
        self._spark = spark
        self._directory = Path(directory or tempfile.mkdtemp(prefix=f"headway-{name or 'stream'}-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        if directory is None:
            atexit.register(shutil.rmtree, self._directory, ignore_errors=True)
        self._files = [len(list(self._directory.glob(f"{p}-*.arrow"))) for p in range(partitions)]
        self._calls = sum(self._files)

    def toDF(self) -> DataFrame:
        """The stream, from its first row on."""
        self._spark.dataSource.register(MemoryStreamSource)
        reader = self._spark.readStream.format(FORMAT).schema(self.schema)
        options = {"directory": self._directory, "partitions": len(self._files)}
        return reader.options(**{key: str(value) for key, value in options.items()}).load()

    def addData(self, *rows: Any, partition: int | None = None) -> None:
        """Add rows (tuples, Rows, bare values where there is one column, Arrow tables or batches) to a partition.

        All rows of a call go to one partition: the one given, else each in turn.
        """
        chosen = self._calls % len(self._files) if partition is None else partition
        batches = [batch for given in _runs(rows) for batch in self._batches(given)]
        path = _spool_file(str(self._directory), chosen, self._files[chosen])
        with pa.OSFile(path + ".tmp", "wb") as file, pa.ipc.new_file(file, self._arrow_schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        os.replace(path + ".tmp", path)
        self._files[chosen] += 1
        self._calls += 1

    @property
    def _arrow_schema(self) -> pa.Schema:
        return to_arrow_schema(self.schema, timezone="UTC")

    def _batches(self, given: Any) -> Iterator[pa.RecordBatch]:
        if isinstance(given, pa.RecordBatch):
            return iter([conform(given, self._arrow_schema, "MemoryStream.addData")])
        if isinstance(given, pa.Table):
            return (conform(batch, self._arrow_schema, "MemoryStream.addData") for batch in given.to_batches())
        rows = (row if isinstance(row, tuple | list) else (row,) for row in given)
        return to_batches(rows, self.schema, self._arrow_schema, MemoryStreamSource({}))


def _runs(rows: Sequence[Any]) -> Iterator[Any]:
    """Arrow data one by one, other rows together."""
    run: list[Any] = []
    for row in rows:
        if isinstance(row, pa.RecordBatch | pa.Table):
            if run:
                yield run
            yield row
            run = []
        else:
            run.append(row)
    if run:
        yield run
