"""From a streaming DataFrame to the dataflow that computes it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from headway.dataflow.graph import Relation, Source
from headway.dataflow.stages import sources
from headway.dataflow.types import Schema, arrow_schema
from headway.errors import UnsupportedPlan
from headway.frontend.plan import read_plan
from headway.frontend.relations import PlanLowering


@dataclass(frozen=True)
class LoweredQuery:
    """A query's dataflow. `schema` is that of `plan`, with columns nullable exactly where Spark says so."""

    plan: Relation
    sources: tuple[Source, ...]
    schema: Schema


def lower(df: DataFrame) -> LoweredQuery:
    """The dataflow of `df`.

    Raises `UnsupportedPlan` that names the plan node, expression or type that has no native implementation, and
    `InvalidOption` if `df` is not a streaming DataFrame.
    """
    plan = read_plan(df)
    root = PlanLowering(plan)(plan.root).relation
    # The optimizer may drop a projection that only renames; the DataFrame says what its columns are called.
    fields = df.schema.fields
    named = tuple(f._replace(name=out.name) for f, out in zip(root.schema, fields, strict=True))
    if named != root.schema:
        root = replace(root, schema=named)
    arrow_schema(named)
    _refuse_intervals(named)
    schema = tuple(f._replace(nullable=out.nullable) for f, out in zip(named, fields, strict=True))
    return LoweredQuery(root, sources(root), schema)


def _refuse_intervals(schema: Schema) -> None:
    """Intervals are values inside a query; no sink writes them as Spark does."""
    for field in schema:
        if "interval" in field.type.simpleString():
            raise UnsupportedPlan(f"type {field.type.simpleString()} of column {field.name}", "no sink takes intervals")
