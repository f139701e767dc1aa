"""Writes a chain's rows into new columns, and makes Arrow columns of them.

A column that a chain hands on as it came is not computed: it is taken by row number, or as it is if no row was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.types import Schema, arrow_schema, arrow_type
from headway.kernels.compiled import layout
from headway.kernels.compiled.emitter import Emitter, Ref, Scope
from headway.kernels.compiled.values import NotCompilable, Struct, Value, is_fixed, negate, storage
from headway.memory import Memory, aligned

_DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Leaf:
    """A written column: number `at` among the leaves; `kind` is None where there is only validity (a struct)."""

    at: int
    type: pa.DataType
    kind: str | None
    nullable: bool
    children: tuple[Leaf, ...] = ()


@dataclass(frozen=True)
class Carried:
    """The input column that an output column is."""

    index: int


@dataclass
class OutputPlan:
    """How the columns that come out are made."""

    schema: pa.Schema
    one_to_one: bool
    columns: list[Leaf | Carried] = field(default_factory=list)
    leaves: list[Leaf] = field(default_factory=list)

    @property
    def needs_origin(self) -> bool:
        return not self.one_to_one and any(isinstance(column, Carried) for column in self.columns)


def write_output(schema: Schema, one_to_one: bool, inputs: int, emitter: Emitter, scope: Scope) -> OutputPlan:
    plan = OutputPlan(arrow_schema(schema), one_to_one)
    for column, ref in zip(schema, scope.columns, strict=True):
        plan.columns.append(_write_column(column.type, ref, plan, inputs, emitter))
    if plan.needs_origin:
        emitter.preamble.append(f"origin = header[{layout.ORIGIN}]")
        emitter.line("store_i32(origin, out, i64(i))")
    emitter.line("out += 1")
    return plan


def _write_column(spark_type: T.DataType, ref: Ref, plan: OutputPlan, inputs: int, emitter: Emitter) -> Leaf | Carried:
    if ref.origin is not None and (plan.one_to_one or not is_fixed(spark_type)):
        return Carried(ref.origin)
    value = ref()
    if isinstance(value, Value):
        return _write_leaf(spark_type, value, plan, inputs, emitter)
    if not isinstance(spark_type, T.StructType):
        raise NotCompilable(f"a struct where {spark_type.simpleString()} is expected")
    return _write_struct(spark_type, value, plan, inputs, emitter)


def _write_struct(spark_type: T.StructType, value: Struct, plan: OutputPlan, inputs: int, emitter: Emitter) -> Leaf:
    children = tuple(
        _write_leaf(f.dataType, v, plan, inputs, emitter) for f, v in zip(spark_type.fields, value.fields, strict=True)
    )
    leaf = Leaf(len(plan.leaves), arrow_type(spark_type), None, value.null != "False", children)
    plan.leaves.append(leaf)
    _write_validity(leaf, value.null, inputs, emitter)
    return leaf


def _write_leaf(spark_type: T.DataType, value: Value, plan: OutputPlan, inputs: int, emitter: Emitter) -> Leaf:
    leaf = Leaf(len(plan.leaves), arrow_type(spark_type), storage(spark_type), value.null != "False")
    plan.leaves.append(leaf)
    slot = layout.output_slot(inputs, leaf.at)
    emitter.preamble.append(f"d{leaf.at} = header[{slot}]")
    if leaf.kind == "bit":
        emitter.line(f"if {value.code}: set_bit(d{leaf.at}, out)")
    else:
        emitter.line(f"store_{leaf.kind}(d{leaf.at}, out, {value.code})")
    _write_validity(leaf, value.null, inputs, emitter)
    return leaf


def _write_validity(leaf: Leaf, null: str, inputs: int, emitter: Emitter) -> None:
    if leaf.nullable:
        emitter.preamble.append(f"b{leaf.at} = header[{layout.output_slot(inputs, leaf.at) + 1}]")
        emitter.line(f"if {negate(null)}: set_bit(b{leaf.at}, out)")


class Columns:
    """The memory that one call of a kernel writes its rows into."""

    def __init__(self, plan: OutputPlan, capacity: int, inputs: int, header: memoryview, memory: Memory) -> None:
        self._plan = plan
        self._capacity = capacity
        self._memory = memory
        self._columns = _columns(plan, capacity, memory)
        for leaf, (data, validity) in zip(plan.leaves, self._columns, strict=True):
            for bits in (data if leaf.kind == "bit" else None, validity):
                if bits is not None:
                    bits[0].fill(0)
            slot = layout.output_slot(inputs, leaf.at)
            header[slot] = 0 if data is None else data[1].address
            header[slot + 1] = 0 if validity is None else validity[1].address
        self._origin = np.empty(capacity if plan.needs_origin else 0, np.int32)
        header[layout.ORIGIN] = self._origin.ctypes.data

    def batch(self, rows: int, source: pa.RecordBatch) -> pa.RecordBatch:
        """The first `rows` of them; columns that were carried come from `source`."""
        if 2 * rows < self._capacity:
            self._move(rows)
        columns = [
            self._array(column, rows) if isinstance(column, Leaf) else self._carried(column, rows, source)
            for column in self._plan.columns
        ]
        if not columns:
            return _empty_rows(rows)
        return pa.RecordBatch.from_arrays(columns, schema=self._plan.schema)

    def _move(self, rows: int) -> None:
        """A selective filter leaves most of the memory unused; it should not live as long as the few rows."""
        filled, self._columns = self._columns, _columns(self._plan, rows, self._memory)
        for before, after in zip(filled, self._columns, strict=True):
            for one, other in zip(before, after, strict=True):
                if one is not None and other is not None:
                    other[0][:] = one[0][: len(other[0])]

    def _carried(self, column: Carried, rows: int, source: pa.RecordBatch) -> pa.Array:
        found = source.column(column.index)
        if self._plan.one_to_one:
            return found
        return found.take(pa.array(self._origin[:rows]))

    def _array(self, leaf: Leaf, rows: int) -> pa.Array:
        data, validity = self._columns[leaf.at]
        buffers = [None if validity is None else validity[1]]
        if data is not None:
            buffers.append(data[1])
        children: Sequence[pa.Array] = [self._array(child, rows) for child in leaf.children]
        nulls = -1 if leaf.nullable else 0
        return pa.Array.from_buffers(leaf.type, rows, buffers, nulls, 0, children or None)


_Column = tuple[np.ndarray, pa.Buffer] | None


def _columns(plan: OutputPlan, rows: int, memory: Memory) -> list[tuple[_Column, _Column]]:
    """Data and validity of every leaf, in one area."""
    sizes = [(_cells(leaf.kind, rows), _cells("bit", rows) if leaf.nullable else None) for leaf in plan.leaves]
    flat = [aligned(np.dtype(dtype).itemsize * count) for pair in sizes for dtype, count in filter(None, pair)]
    if not flat:
        return [(None, None) for _ in sizes]
    area = memory.area(sum(flat))
    return [
        (None if data is None else area.column(*data), None if validity is None else area.column(*validity))
        for data, validity in sizes
    ]


def _cells(kind: str | None, rows: int) -> tuple[type, int] | None:
    if kind is None:
        return None
    return (np.uint8, (rows + 7) // 8) if kind == "bit" else (_DTYPES[kind], rows)


def _empty_rows(rows: int) -> pa.RecordBatch:
    """A batch that has rows but no columns, as a count over a stream needs."""
    return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), rows, [None]))
