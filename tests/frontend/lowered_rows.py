"""Runs a lowered dataflow over rows, kernel by kernel, to compare with Spark's batch answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from headway.dataflow.graph import Aggregate, Relation, Source, Union
from headway.dataflow.types import arrow_schema
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain
from headway.kernels.merge import Merge


def run(relation: Relation, rows: pa.Table) -> pa.Table:
    """All rows of `relation`, by the interpreted kernels, if `rows` come, in batches that cut through groups."""
    if isinstance(relation, Source):
        return rows.cast(arrow_schema(relation.schema))
    if isinstance(relation, Union):
        names = [f.name for f in relation.schema]
        return pa.concat_tables([run(branch, rows).rename_columns(names) for branch in relation.branches])
    below = run(relation.inputs[0], rows)
    if not isinstance(relation, Aggregate):
        kernel = InterpretedChain(Chain(relation.inputs[0], (relation,)))
        return _table(relation, [kernel.process(batch)[0] for batch in below.to_batches(max_chunksize=17)])
    partial, merge = InterpretedChain(Chain(relation.input, (), relation)), Merge(relation)
    for batch in below.to_batches(max_chunksize=17):
        partial.process(batch)
        merge.merge(partial.flush(None), None)
    return _table(relation, [merge.emit("complete", None)])


def _table(relation: Relation, batches: list[pa.RecordBatch | None]) -> pa.Table:
    return pa.Table.from_batches([b for b in batches if b is not None], arrow_schema(relation.schema))


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    columns = [_plain(column.combine_chunks()) for column in table.columns]
    return Counter(zip(*columns, strict=True))


def _plain(column: pa.Array) -> list[Any]:
    """Comparable values; instants are instants in whichever zone they are shown, sums of doubles to twelve digits."""
    if pa.types.is_struct(column.type):
        return list(zip(*(_plain(child) for child in column.flatten()), strict=True))
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    return [f"{value:.12g}" if isinstance(value, float) else value for value in column.to_pylist()]
