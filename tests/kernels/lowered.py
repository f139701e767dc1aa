"""DataFrames lowered and run by the kernels, on a few nodes that restart now and then; used by the tests beside it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from aggregation import Cluster
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headway.dataflow.graph import Aggregate, Limit, Relation, Sort
from headway.dataflow.types import arrow_schema
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain


def stream_of(spark: SparkSession, table: pa.Table, tmp_path: Path) -> DataFrame:
    """A stream with the columns of `table`."""
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    return spark.readStream.schema(schema).json(str(tmp_path))


def batch_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


def answer_of(df: DataFrame, table: pa.Table, seed: int) -> pa.Table:
    """What the kernels of the lowered `df`, which has one source, give for the rows of `table`."""
    return rows_of(lower(df).plan, table, seed)


def rows_of(relation: Relation, table: pa.Table, seed: int) -> pa.Table:
    """All rows of `relation`."""
    if not relation.inputs:
        return table.cast(arrow_schema(relation.schema))
    below = rows_of(relation.inputs[0], table, seed)
    if isinstance(relation, Aggregate):
        return Cluster(relation, seed).run(below)
    # In complete mode one operator gives the whole result as one batch.
    below = below.combine_chunks() if isinstance(relation, Sort | Limit) else below
    chain = InterpretedChain(Chain(relation.inputs[0], (relation,)))
    rows = [chain.process(part)[0] for part in below.to_batches()]
    return pa.Table.from_batches([part for part in rows if part is not None], arrow_schema(relation.schema))
