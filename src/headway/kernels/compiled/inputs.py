"""The columns that a kernel may read: those of its input, then the fields of structs among them, each with a number."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.types import Schema
from headway.kernels.compiled.values import is_fixed


class Input(NamedTuple):
    """A column of the input, or a field of one: `path` has the column's place, and the field's."""

    type: T.DataType
    nullable: bool
    path: tuple[int, ...]

    def of(self, batch: pa.RecordBatch) -> pa.Array:
        """Whether the struct itself is null does not show in its field."""
        column = batch.column(self.path[0])
        return column.field(self.path[1]) if len(self.path) > 1 else column


def inputs_of(schema: Schema) -> list[Input]:
    """By their numbers; fields of a struct follow each other."""
    columns = [Input(field.type, field.nullable, (i,)) for i, field in enumerate(schema)]
    structs = [(i, field.type) for i, field in enumerate(schema) if is_plain(field.type)]
    return columns + [Input(f.dataType, f.nullable, (i, j)) for i, kind in structs for j, f in enumerate(kind)]


def is_plain(kind: T.DataType) -> bool:
    """Whether a type is a struct whose fields kernels can compute with, such as a time window."""
    return isinstance(kind, T.StructType) and all(is_fixed(field.dataType) for field in kind)
