"""The static table of a join as a kernel reads it: by position where keys are dense, else by hash.

1. Keys are unique integers, so a stream row meets one table row or none.
2. Which of the two ways is taken is a constant, not a matter of the source: the data may differ from tenant to tenant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Expr
from headway.dataflow.graph import StaticJoin, StaticTable
from headway.kernels.compiled.emitter import Emitter, Ref, Scope
from headway.kernels.compiled.values import NotCompilable, Value, both, either, is_float, negate, storage
from headway.kernels.expressions.registry import evaluate

_SPARSENESS = 8  # a dense table may be this many times longer than its rows


@dataclass(frozen=True, eq=False)
class Index:
    """Where a key's row is: `place[r]` is the position, in arrays of `size`, of table row `rows[r]`."""

    low: int
    span: int
    present: np.ndarray
    hashed: np.ndarray
    rows: np.ndarray
    places: np.ndarray
    size: int


def write_lookup(step: StaticJoin, emitter: Emitter, scope: Scope) -> tuple[str, Scope]:
    """Find the table's row; the condition under which the stream row goes on, and the columns it then has."""
    _check(step)
    key = emitter.scalar(step.stream_keys[0], scope)
    index = _index(step.table, step.table_keys[0])
    if emitter.quick is not None:
        emitter.quick.refuse_after()
        emitter.quick.begins(emitter)
    row = _write_probe(index, key, emitter)
    hit = emitter.let(both(f"({row} >= 0)", negate(key.null)), "hit")
    # A key is of one row at most, so that a semi-join is an inner one.
    found = step.how in ("inner", "semi")
    if not found:
        row = emitter.let(f"max({row}, i64(0))")
    missing = "False" if found else emitter.let(negate(hit))
    columns = [
        _column(step.table, index, at, row, missing, emitter) for at in range(len(step.schema) - len(scope.columns))
    ]
    goes_on = {"left": "True", "exists": "True", "anti": missing}.get(step.how, hit)
    return goes_on, Scope((*scope.columns, *columns))


def _check(step: StaticJoin) -> None:
    if len(step.stream_keys) != 1:
        raise NotCompilable("a static join by several keys has no compiled form")
    if step.condition is not None:
        raise NotCompilable("a static join with a condition beyond equality has no compiled form")
    if storage(step.stream_keys[0].type) == "bit" or is_float(step.stream_keys[0].type):
        raise NotCompilable(f"a static join by a key of type {step.stream_keys[0].type.simpleString()}")


def _write_probe(index: Index, key: Value, emitter: Emitter) -> str:
    parameters = emitter.parameters
    low, span = parameters.integer(index.low), parameters.integer(index.span)
    present, hashed = parameters.array(index.present), parameters.array(index.hashed)
    mask = parameters.integer(len(index.hashed) // 2 - 1)
    row = emitter.let(f"look_up({key.code}, {low}, {span}, {present}, {hashed}, {mask})", "row")
    if emitter.quick is not None:
        emitter.quick.tables[row] = key, low, span
    return row


def _column(table: StaticTable, index: Index, at: int, row: str, missing: str, emitter: Emitter) -> Ref:
    """Column `at` of the table, laid out as the index wants it when something needs it."""

    def load() -> Value:
        data, valid = _laid_out(table.table.column(at), index)
        kind = _KINDS.get(str(data.dtype))
        address = emitter.parameters.array(data)
        code = f"load_{kind}({address}, {row})" if kind else f"load_u8({address}, {row}) != 0"
        null = "False"
        if valid is not None:
            null = emitter.let(f"load_u8({emitter.parameters.array(valid)}, {row}) == 0")
        return Value(emitter.let(code), emitter.let(either(missing, null)), row, index.size)

    return Ref(lambda: emitter.once((index, at), load))


_KINDS = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}


def _laid_out(column: pa.ChunkedArray, index: Index) -> tuple[np.ndarray, np.ndarray | None]:
    values = as_numpy(column.combine_chunks())
    data = np.zeros(max(index.size, 1), values.dtype)
    data[index.places] = values[index.rows]
    if not column.null_count:
        return data, None
    valid = np.zeros(max(index.size, 1), np.uint8)
    valid[index.places] = pc.is_valid(column).to_numpy()[index.rows]
    return data, valid


def as_numpy(array: pa.Array) -> np.ndarray:
    """The values of a fixed-width column; zero where it is null."""
    if pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_boolean(array.type)):
        raise NotCompilable(f"a column of type {array.type} of a static table is used")
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(False if pa.types.is_boolean(array.type) else 0, array.type))
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _index(table: StaticTable, key: Expr) -> Index:
    batches: Sequence[pa.RecordBatch] = table.table.combine_chunks().to_batches()
    keys = pa.chunked_array([evaluate(key, b) for b in batches], type=None if batches else pa.int64()).combine_chunks()
    rows = np.flatnonzero(pc.is_valid(keys).to_numpy(zero_copy_only=False))
    values = as_numpy(keys)[rows].astype(np.int64)
    if len(np.unique(values)) != len(values):
        raise NotCompilable("a static join by a key that is not unique in the table")
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    span = high - low + 1
    if span <= _SPARSENESS * len(values) + 1024:
        present = np.zeros(span, np.uint8)
        present[values - low] = 1 if len(values) else 0
        return Index(low, span, present, np.full(2, -1, np.int64), rows, values - low, span)
    return Index(0, 0, np.zeros(1, np.uint8), _hashed(values), rows, np.arange(len(rows)), len(rows))


def _hashed(values: np.ndarray) -> np.ndarray:
    """Pairs of key and row, open addressing, at most half full; as runtime.probe reads it."""
    size = 1 << max(1, (2 * len(values) - 1).bit_length())
    pairs = np.full((size, 2), -1, np.int64)
    waiting, places = np.arange(len(values)), _places(values, size)
    while len(waiting):
        free = np.flatnonzero(pairs[places, 1] < 0)
        _, first = np.unique(places[free], return_index=True)
        settled = free[first]
        pairs[places[settled]] = np.column_stack((values[waiting[settled]], waiting[settled]))
        waiting, places = np.delete(waiting, settled), (np.delete(places, settled) + 1) & (size - 1)
    return pairs.reshape(-1)


def _places(values: np.ndarray, size: int) -> np.ndarray:
    """runtime.mix, over a whole column."""
    bits = values.view(np.uint64)
    mixed = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed ^ (mixed >> np.uint64(29))) & np.uint64(size - 1)).astype(np.int64)
