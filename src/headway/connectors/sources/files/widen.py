"""Columns of Parquet and ORC files as the types of the schema, where Spark allows the difference."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import types as kinds

from headway.kernels.lists import entries, list_array, lists_of, map_array

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


def widen(column: Any, target: pa.DataType) -> Any:
    """`column` as `target`; raises ArrowTypeError where Spark would refuse, ArrowInvalid where a value does not fit."""
    given = column.type
    if given == target:
        return column
    if kinds.is_dictionary(given):
        return widen(column.dictionary_decode(), target)
    if kinds.is_struct(given) and kinds.is_struct(target):
        return _struct(column, target)
    if kinds.is_map(given) and kinds.is_map(target):
        found, keys, values = entries(column)
        return map_array(widen(keys, target.key_type), widen(values, target.item_type), found.lengths, found.valid)
    if (kinds.is_list(given) or kinds.is_large_list(given)) and kinds.is_list(target):
        found = lists_of(column)
        return list_array(widen(found.values, target.value_type), found.lengths, found.valid)
    if kinds.is_timestamp(given) and kinds.is_timestamp(target):
        return _timestamp(column, target)
    if not _allowed(given, target):
        raise pa.ArrowTypeError(f"a column of {given} cannot be read as {target}")
    return column.cast(target)


def pick(batch: Any, fields: pa.Schema) -> pa.RecordBatch:
    """The columns of `fields` found by name in any case, as their types; missing ones are null."""
    names = _positions(batch.schema.names)
    columns = [
        widen(batch.column(names[field.name.lower()]), field.type)
        if field.name.lower() in names
        else pa.nulls(batch.num_rows, field.type)
        for field in fields
    ]
    if not columns:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(columns, schema=fields)


def _positions(names: list[str]) -> dict[str, int]:
    return {name.lower(): index for index, name in enumerate(names)}


def _struct(column: Any, target: pa.DataType) -> Any:
    given = column.type
    names = _positions([given.field(i).name for i in range(given.num_fields)])
    children = []
    for field in target:
        index = names.get(field.name.lower())
        child = pa.nulls(len(column), field.type) if index is None else widen(column.field(index), field.type)
        children.append(child)
    return pa.StructArray.from_arrays(children, fields=list(target), mask=column.is_null())


def _timestamp(column: Any, target: pa.DataType) -> Any:
    """Instants stay instants; a time without zone read as an instant counts as UTC, as in Spark (and in INT96)."""
    if column.type.tz is not None and target.tz is None:
        raise pa.ArrowTypeError("a column of timestamp cannot be read as timestamp_ntz")
    micros = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return micros.cast(pa.int64()).cast(target)


def _allowed(given: pa.DataType, target: pa.DataType) -> bool:
    if kinds.is_integer(given):
        narrow = given.bit_width <= 32
        return bool(
            kinds.is_integer(target)
            or (narrow and kinds.is_float64(target))
            or (kinds.is_decimal(target) and target.precision - target.scale >= _INTEGER_DIGITS[given.bit_width])
        )
    if kinds.is_decimal(given) and kinds.is_decimal(target):
        whole = target.precision - target.scale >= given.precision - given.scale
        return bool(whole and target.scale >= given.scale)
    return bool(
        (kinds.is_float32(given) and kinds.is_float64(target))
        or (_is_text(given) and _is_text(target))
        or (kinds.is_date32(given) and kinds.is_timestamp(target) and target.tz is None)
        or kinds.is_null(given)
    )


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        kinds.is_string(kind)
        or kinds.is_large_string(kind)
        or kinds.is_binary(kind)
        or kinds.is_large_binary(kind)
        or kinds.is_fixed_size_binary(kind)
    )
