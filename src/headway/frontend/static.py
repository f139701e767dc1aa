"""Static sub-plans: Spark runs them when the query is lowered, and their rows become a value of the dataflow."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.graph import StaticTable
from headway.dataflow.types import Field, Schema, arrow_schema
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.plan import Plan, PlanNode
from headway.frontend.relations import PlanLowering
from headway.gateway import jvm_method

MARK = "_there"


@dataclass(frozen=True)
class Static:
    """The static side of a join: its rows, and Catalyst's expression id of each of its columns."""

    table: StaticTable
    schema: Schema
    ids: tuple[int, ...]
    marked: bool = False
    """Whether the last column is none of the sub-plan's, but true in every row. Where the plan uses no column of the
    table, it is the only one: it counts how many rows there are."""


def static_side(node: PlanNode, lower: PlanLowering) -> Static:
    """Run a static sub-plan, unless one that computes the same was: it might give its rows in another order."""
    output = node.jvm.output()
    ids = tuple(output.apply(i).exprId().id() for i in range(output.length()))
    frame = _frame(lower.plan, node.jvm)
    if not ids:
        frame, ids = frame.select(F.lit(True).alias(MARK)), (-1,)
    schema = tuple(Field(f.name, spark_type(f.dataType.jsonValue()), f.nullable) for f in frame.schema.fields)
    for known, table in lower.static_tables:
        if known.sameResult(node.jvm):
            return Static(table, schema, ids, ids == (-1,))
    table = _run(frame, schema)
    lower.static_tables.append((node.jvm, table))
    return Static(table, schema, ids, ids == (-1,))


def marked(static: Static) -> Static:
    """With one more column, which is true: where a join leaves it null, there was no match."""
    if static.marked:
        return static
    there = pa.array(np.ones(static.table.table.num_rows, np.bool_))
    table = StaticTable(f"{static.table.fingerprint} marked", static.table.table.append_column(MARK, there))
    return Static(table, (*static.schema, Field(MARK, T.BooleanType(), False)), (*static.ids, -1), True)


def _frame(plan: Plan, jvm_plan: Any) -> DataFrame:
    of_rows = jvm_method(plan.spark, "org.apache.spark.sql.classic.Dataset", "ofRows")
    return DataFrame(of_rows(plan.spark._jsparkSession, jvm_plan), plan.spark)


def _run(frame: DataFrame, schema: Schema) -> StaticTable:
    target = arrow_schema(schema)
    rows = frame.toArrow()
    # By position: names may repeat, and a table cannot be cast by names that do.
    columns = [rows.column(i).cast(target.field(i).type) for i in range(len(schema))]
    table = pa.Table.from_arrays(columns, schema=target).combine_chunks()
    return StaticTable(_fingerprint(table), table)


def _fingerprint(table: pa.Table) -> str:
    """Of schema and rows: tables with equal fingerprints are the same value, whichever plan made them."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return hashlib.sha256(memoryview(sink.getvalue())).hexdigest()
