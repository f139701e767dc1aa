"""partitionBy: which directory below the target a row belongs to.

Directories are named `column=value` as Spark names them: the value cast to a string in the session's time zone,
escaped, and `__HIVE_DEFAULT_PARTITION__` for null and the empty string.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.connectors.api import SinkContext
from headway.connectors.sinks.text_values import TextValues
from headway.dataflow.types import Field, Schema
from headway.errors import InvalidOption, UnsupportedPlan

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{[]^}") | {chr(code) for code in range(1, 32)}


def escape(name: str) -> str:
    """`name` as part of a path.

    >>> escape("10:30 a/b")
    '10%3A30 a%2Fb'
    """
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in name)


@dataclass(frozen=True)
class Partitioning:
    """The columns that make directories, and the columns that go into the files."""

    columns: tuple[Field, ...]
    data_fields: Schema
    names: tuple[str, ...]
    texts: TextValues

    @staticmethod
    def of(context: SinkContext) -> Partitioning:
        """The partitioning that the writer asks for, checked against the schema."""
        _check_unique(context.schema, _case_sensitive(context))
        columns = tuple(_find(context, name) for name in context.partition_by)
        data = tuple(f for f in context.schema if f not in columns)
        if columns and not data:
            raise InvalidOption("partitionBy names all columns; leave at least one for the files")
        return Partitioning(columns, data, tuple(f.name for f in context.schema), TextValues.of_session(context.spark))

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
        """`batch` by directory, as (directory with a slash at its end, rows without the partition columns)."""
        indexes = [self.names.index(f.name) for f in self.columns]
        data = batch.select([i for i in range(batch.num_columns) if i not in indexes]) if indexes else batch
        if not indexes or batch.num_rows == 0:
            yield "", data
            return
        folders = self._folders([batch.column(i) for i in indexes])
        for code, folder in enumerate(folders.dictionary.to_pylist()):
            yield folder, data.filter(pc.equal(folders.indices, code))

    def _folders(self, columns: list[pa.Array]) -> pa.DictionaryArray:
        parts = [self._folder_parts(field, column) for field, column in zip(self.columns, columns, strict=True)]
        joined = pc.binary_join_element_wise(*parts, "") if len(parts) > 1 else parts[0]
        return joined.dictionary_encode()

    def _folder_parts(self, field: Field, column: pa.Array) -> pa.Array:
        """Only the distinct values are turned into text."""
        encoded = column.dictionary_encode(null_encoding="encode")
        texts = self.texts.cast(encoded.dictionary, field.type)
        prefix = f"{escape(field.name)}="
        names = pa.array([f"{prefix}{escape(t) if t else NO_VALUE}/" for t in texts], pa.string())
        return names.take(encoded.indices)


def _case_sensitive(context: SinkContext) -> bool:
    return str(context.spark.conf.get("spark.sql.caseSensitive")).lower() == "true"


def _check_unique(schema: Schema, case_sensitive: bool) -> None:
    seen: set[str] = set()
    for field in schema:
        name = field.name if case_sensitive else field.name.lower()
        if name in seen:
            raise InvalidOption(f"column {field.name!r} appears twice; give one of them another name with alias()")
        seen.add(name)


def _find(context: SinkContext, name: str) -> Field:
    fold = str if _case_sensitive(context) else str.lower
    for field in context.schema:
        if fold(field.name) == fold(name):
            if isinstance(field.type, T.StructType | T.ArrayType | T.NullType):
                raise InvalidOption(f"partitionBy: column {name!r} is a {field.type.simpleString()}; use a plain value")
            if isinstance(field.type, T.BinaryType):
                raise UnsupportedPlan("partitionBy of a binary column")
            return field
    raise InvalidOption(
        f"partitionBy: there is no column {name!r}; columns are {', '.join(f.name for f in context.schema)}"
    )
