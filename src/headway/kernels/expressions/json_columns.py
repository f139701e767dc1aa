"""JSON objects read by Arrow, whole columns at once, where its answer is sure to be Spark's.

1. Types whose text means the same to both: strings, booleans, whole numbers of 16 bits and more, doubles, dates and
   times (read as strings first), and structs and arrays of them. Every text must be an object on a line of its own.
2. Whatever Arrow refuses (a value that does not fit, a name that comes twice) is left to the reader that goes row by
   row.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pyspark.sql import types as T

from headway.connectors.sources.files.values import TextRules
from headway.dataflow.types import arrow_type
from headway.kernels.lists import build, list_array, lists_of

_SAME = (T.StringType, T.BooleanType, T.ShortType, T.IntegerType, T.LongType, T.DoubleType)
_FEW = 8


def read_columns(texts: pa.Array, kind: T.DataType, rules: TextRules) -> pa.Array | None:
    """The structs that `texts` hold, none of which is null; None where it takes the other reader to tell."""
    raw = _raw(kind)
    if raw is None or len(texts) < _FEW or not _are_objects(texts):
        return None
    data = pa.py_buffer(b"\n".join(texts.view(pa.binary()).to_pylist()))
    reading = pa.json.ReadOptions(use_threads=False, block_size=data.size + 1)
    parsing = pa.json.ParseOptions(explicit_schema=pa.schema(list(raw)), unexpected_field_behavior="ignore")
    try:
        table = pa.json.read_json(pa.BufferReader(data), reading, parsing).combine_chunks()
        if table.num_rows != len(texts):
            return None
        columns = [column.combine_chunks() for column in table.columns]
        return _finished(pa.StructArray.from_arrays(columns, fields=list(raw)), kind, rules)
    except (pa.ArrowException, ValueError):
        return None


def _are_objects(texts: pa.Array) -> bool:
    one_line = pc.invert(pc.match_substring_regex(texts, "[\n\r]"))
    objects = pc.starts_with(pc.ascii_ltrim_whitespace(texts), "{")
    return bool(pc.all(pc.and_(one_line, objects)).as_py())


def _raw(kind: T.DataType) -> pa.DataType | None:
    """The type that Arrow reads `kind` as; None if it cannot."""
    if isinstance(kind, T.DateType | T.TimestampType | T.TimestampNTZType):
        return pa.string()
    if isinstance(kind, T.ArrayType):
        inside = _raw(kind.elementType)
        return None if inside is None else pa.list_(pa.field("element", inside))
    if isinstance(kind, T.StructType):
        kinds = [_raw(f.dataType) for f in kind.fields]
        once = all(count == 1 for count in Counter(kind.names).values())
        if not kinds or not once or any(k is None for k in kinds):
            return None
        return pa.struct([pa.field(f.name, k) for f, k in zip(kind.fields, kinds, strict=True)])
    return arrow_type(kind) if isinstance(kind, _SAME) else None


def _finished(column: pa.Array, kind: T.DataType, rules: TextRules) -> pa.Array:
    """Texts of dates and times as what they are. Raises ValueError for one that is none."""
    if isinstance(kind, T.StructType):
        parts = [_finished(pc.struct_field(column, [i]), f.dataType, rules) for i, f in enumerate(kind.fields)]
        return pa.StructArray.from_arrays(parts, fields=list(arrow_type(kind)), mask=column.is_null())
    if isinstance(kind, T.ArrayType):
        found = lists_of(column)
        return list_array(_finished(found.values, kind.elementType, rules), found.lengths, found.valid)
    parse: dict[type[T.DataType], Any] = {
        T.DateType: rules.date,
        T.TimestampType: rules.timestamp,
        T.TimestampNTZType: rules.timestamp_ntz,
    }
    if type(kind) not in parse:
        return column
    encoded = column.dictionary_encode()
    known = [parse[type(kind)](text) for text in encoded.dictionary.to_pylist()]
    return build([*known, None], kind).take(encoded.indices.fill_null(len(known)))
