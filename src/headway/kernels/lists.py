"""Columns of arrays and maps taken apart, elements in one column, and put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as T

from headway.dataflow.types import arrow_type

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Lists:
    """The elements of all rows, one after the other, those of null rows left out (a map's are structs)."""

    values: pa.Array
    lengths: Integers
    valid: Mask

    @cached_property
    def starts(self) -> Integers:
        """Where each row's elements begin."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def parents(self) -> Integers:
        """The row of every element."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def positions(self) -> Integers:
        """The place of every element in its row, from 0."""
        return np.arange(len(self.parents)) - np.repeat(self.starts, self.lengths)

    def kept(self, chosen: Mask) -> pa.Array:
        """Lists of the chosen elements only."""
        counts = np.bincount(self.parents[chosen], minlength=len(self.lengths))
        return list_array(self.values.filter(pa.array(chosen)), counts, self.valid)

    def reordered(self, order: Integers) -> pa.Array:
        """Lists of the same lengths, with the elements in another order."""
        return list_array(self.values.take(pa.array(order)), self.lengths, self.valid)


def lists_of(array: pa.Array) -> Lists:
    """A column of arrays or maps taken apart."""
    present: Mask = pc.is_valid(array).to_numpy(zero_copy_only=False)
    if len(array) == 0:
        return Lists(array.values.slice(0, 0), np.zeros(0, np.int64), present)
    offsets = array.offsets.to_numpy().astype(np.int64)
    lengths = np.where(present, np.diff(offsets), 0)
    values = array.values
    if int(lengths.sum()) == offsets[-1] - offsets[0]:
        return Lists(values.slice(int(offsets[0]), int(offsets[-1] - offsets[0])), lengths, present)
    at = np.repeat(offsets[:-1] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    return Lists(values.take(pa.array(at)), lengths, present)


def list_array(values: pa.Array, lengths: Integers, valid: Mask | None = None) -> pa.Array:
    """A column of arrays; null rows must have no elements."""
    kind = pa.list_(pa.field("element", values.type))
    return pa.ListArray.from_arrays(_offsets(lengths), values, type=kind, mask=_missing(valid))


def map_array(keys: pa.Array, values: pa.Array, lengths: Integers, valid: Mask | None = None) -> pa.Array:
    """A column of maps; null rows must have no entries."""
    return pa.MapArray.from_arrays(_offsets(lengths), keys, values, mask=_missing(valid))


def _offsets(lengths: Integers) -> pa.Array:
    return pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))


def _missing(valid: Mask | None) -> pa.Array | None:
    return None if valid is None or bool(valid.all()) else pa.array(~valid)


def entries(array: pa.Array) -> tuple[Lists, pa.Array, pa.Array]:
    """A column of maps: its entries, and their keys and values."""
    taken = lists_of(array)
    return taken, *taken.values.flatten()


def retyped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """`array` as a column of `kind`, which is its type but for the names of fields."""
    if not pa.types.is_nested(kind) or array.type == kind:
        return array
    if pa.types.is_struct(kind):
        fields = [retyped(pc.struct_field(array, [i]), kind.field(i).type) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind):
        taken, keys, items = entries(array)
        return map_array(retyped(keys, kind.key_type), retyped(items, kind.item_type), taken.lengths, taken.valid)
    taken = lists_of(array)
    return list_array(retyped(taken.values, kind.value_type), taken.lengths, taken.valid)


def build(values: Sequence[Any], spark_type: T.DataType) -> pa.Array:
    """Python values as a column: arrays and structs are sequences, maps sequences of pairs, dates and times numbers."""
    if isinstance(spark_type, T.StructType):
        return _structs(values, spark_type)
    if isinstance(spark_type, T.ArrayType | T.MapType):
        items = [item for value in values if value is not None for item in value]
        lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
        present = np.array([value is not None for value in values], np.bool_)
        if isinstance(spark_type, T.ArrayType):
            return list_array(build(items, spark_type.elementType), lengths, present)
        keys = build([key for key, _ in items], spark_type.keyType)
        return map_array(keys, build([value for _, value in items], spark_type.valueType), lengths, present)
    return _plain(values, spark_type)


def _structs(values: Sequence[Any], spark_type: T.StructType) -> pa.Array:
    kind = arrow_type(spark_type)
    if not spark_type.fields:
        return pa.array([None if value is None else {} for value in values], kind)
    columns = [
        build([None if value is None else value[i] for value in values], f.dataType)
        for i, f in enumerate(spark_type.fields)
    ]
    missing = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=missing)


def _plain(values: Sequence[Any], spark_type: T.DataType) -> pa.Array:
    kind = arrow_type(spark_type)
    if isinstance(spark_type, T.DateType):
        return pa.array(values, pa.int32()).view(kind)
    if isinstance(spark_type, T.TimestampType | T.TimestampNTZType | T.DayTimeIntervalType):
        return pa.array(values, pa.int64()).view(kind)
    if isinstance(spark_type, T.FloatType):
        return pa.array(values, pa.float64()).cast(kind, safe=False)
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        # Half a character, from an escape in JSON that stands alone: Java writes a question mark.
        return pa.array(
            [None if value is None else value.encode("utf-8", "replace").decode() for value in values], kind
        )
