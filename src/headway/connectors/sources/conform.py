"""Arrow batches made exactly those of a source's schema, without copying where they already are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T
from pyspark.sql.datasource import DataSource
from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

from headway.dataflow.types import Schema
from headway.errors import HeadwayError

ROWS_PER_CHUNK = 10_000
"""How many Python rows become one batch; Spark's own default."""


def struct_of(schema: Schema) -> T.StructType:
    """A schema as users of PySpark know it."""
    return T.StructType([T.StructField(f.name, f.type, f.nullable) for f in schema])


def conform(batch: pa.RecordBatch, target: pa.Schema, whose: str) -> pa.RecordBatch:
    """`batch` with the columns of `target`, found by name; a type is changed only where every value survives it."""
    if batch.schema.equals(target):
        return batch
    if batch.schema.types == target.types and batch.schema.names == target.names:
        return pa.RecordBatch.from_arrays(batch.columns, schema=target)
    if sorted(batch.schema.names) != sorted(target.names):
        raise HeadwayError(f"{whose} gave a batch with columns {batch.schema.names}: its schema says {target.names}")
    try:
        columns = [batch.column(name).cast(target.field(name).type) for name in target.names]
    except pa.ArrowException as error:
        raise HeadwayError(f"{whose} gave a batch of {batch.schema}: its schema says {target} ({error})") from error
    return pa.RecordBatch.from_arrays(columns, schema=target)


def to_batches(rows: Iterator[Any], struct: T.StructType, target: pa.Schema, source: DataSource) -> Iterator[Any]:
    """What a reader yields (tuples, lists, Rows or Arrow batches) as batches of `target`, by Spark's conversions."""
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    rows = chain((first,), rows)
    if not isinstance(first, pa.RecordBatch):
        rows = iter(records_to_arrow_batches(rows, ROWS_PER_CHUNK, struct, source))
    for batch in rows:
        yield conform(batch, target, f"data source {source.name()}")
