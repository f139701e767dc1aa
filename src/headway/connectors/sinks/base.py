"""What sinks have in common: options, output modes, and Spark's schema of the rows.

1. Names of options are compared without case, as Spark does.
2. An option that Spark knows and Headway does not implement raises `UnsupportedPlan` that names it.
3. An option that nobody knows raises `InvalidOption`.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.connectors.api import SinkCommitter, SinkContext, SinkWriter
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import HeadwayError, InvalidOption, UnsupportedPlan

ALL_MODES = frozenset({"append", "update", "complete"})
APPEND = frozenset({"append"})

_OF_THE_QUERY = frozenset({"checkpointlocation", "queryname", "path"})


def spark_schema(schema: Schema) -> T.StructType:
    """Spark's schema of rows of `schema`."""
    return T.StructType([T.StructField(f.name, f.type, f.nullable) for f in schema])


class Options:
    """The options of a writer, their names compared without case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): str(value) for name, value in options.items()}
        self._names = {name.lower(): name for name in options}

    def text(self, *names: str, default: str) -> str:
        """The value of the first of `names` that is set."""
        return next((self._values[n.lower()] for n in names if n.lower() in self._values), default)

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name, default=str(default)).lower()
        if value not in ("true", "false"):
            raise InvalidOption(f"option {name} is {value!r}; use true or false")
        return value == "true"

    def number(self, name: str, default: int) -> int:
        value = self.text(name, default=str(default))
        try:
            return int(value)
        except ValueError:
            raise InvalidOption(f"option {name} is {value!r}; use a whole number") from None

    def char(self, *names: str, default: str) -> str:
        value = self.text(*names, default=default)
        if len(value) > 1:
            raise InvalidOption(f"option {names[0]} is {value!r}; use one character")
        return value

    def check(self, sink: str, native: Sequence[str], of_spark: Sequence[str] = ()) -> None:
        """Raise for an option that is neither `native` nor one of the query itself."""
        known = {n.lower() for n in native} | _OF_THE_QUERY
        for key, name in self._names.items():
            if key in known or key.startswith("headway."):
                continue
            if "." in key or key in {n.lower() for n in of_spark}:
                raise UnsupportedPlan(f"option {name} of sink {sink}")
            near = difflib.get_close_matches(key, [*known, *of_spark], 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(sorted(native)) or 'none'}"
            raise InvalidOption(f"option {name!r} of sink {sink} is unknown; {hint}")


class SparkSink:
    """Base of the sinks; what only the driver needs is left behind when a sink goes to a node."""

    to_driver = False
    inline = False
    keeps_history = False
    visible_at_commit = False
    modes = ALL_MODES
    partitions = False
    """Whether partitionBy means something."""
    _driver_only: tuple[str, ...] = ("_context",)
    """Attributes that are None in the nodes."""

    def __init__(self, format: str, context: SinkContext) -> None:
        self.format = format
        self.schema = context.schema
        self.arrow_schema = arrow_schema(context.schema)
        self.options = Options(context.options)
        self._context: SinkContext | None = context
        self._check_mode(context.output_mode)
        if context.partition_by and not self.partitions:
            raise InvalidOption(f"sink {format} does not take partitionBy; leave it out, or write to files")

    def _check_mode(self, mode: str) -> None:
        if mode.lower() not in self.modes:
            allowed = ", ".join(sorted(self.modes))
            raise InvalidOption(f"sink {self.format} does not take output mode {mode}; use {allowed}")

    @property
    def context(self) -> SinkContext:
        if self._context is None:
            raise HeadwayError(f"sink {self.format} is used in a node where only the driver can use it")
        return self._context

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, **dict.fromkeys(self._driver_only)}

    def writer(self, operator: str) -> SinkWriter:
        raise HeadwayError(f"sink {self.format} takes rows in the driver and has no writer in the nodes")

    def committer(self) -> SinkCommitter:
        raise NotImplementedError


class DriverCommitter:
    """A committer with nothing to do; sinks override what they need."""

    def rows(self, batch: pa.RecordBatch, epoch: int) -> None:
        raise HeadwayError("the rows of this sink are written in the nodes")

    def prepare(self, epoch: int) -> Any:
        return None

    def commit(self, epoch: int, receipts: Sequence[Any]) -> None:
        return None

    def restore(self, epoch: int, kept: Sequence[Any]) -> None:
        return None

    def close(self, failed: bool) -> None:
        return None


def to_ipc(schema: pa.Schema, batches: Sequence[pa.RecordBatch]) -> bytes:
    """`batches` as one Arrow IPC stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    data: bytes = out.getvalue().to_pybytes()
    return data


def from_ipc(data: bytes) -> list[pa.RecordBatch]:
    """The batches of an Arrow IPC stream."""
    batches: list[pa.RecordBatch] = list(pa.ipc.open_stream(data))
    return batches
