"""Lowering of plan nodes with one input that keep no state: Project, Filter, Expand, watermarks, and of Union."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import types as T

from headway.dataflow.expr import Column
from headway.dataflow.graph import Expand, Filter, Relation, Union, Watermark
from headway.dataflow.types import Field
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.files import FILE_ID
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, attribute, expr_id, field_of, lowers_relation
from headway.frontend.tree import parse
from headway.gateway import jvm_method


@lowers_relation("Project")
def _project(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower.with_file(node.children[0])
    expressions = lower.expressions(below)
    named = node.expressions("projectList")
    names, ids = [tree.fields["name"] for tree in named], [expr_id(tree) for tree in named]
    exprs = list(map(expressions, named))
    if below.ids[-1:] == (FILE_ID,):
        last = below.schema[-1]
        exprs, names, ids = [*exprs, Column(last.type, len(below.ids) - 1)], [*names, last.name], [*ids, FILE_ID]
    return lower.project(below, exprs, names, ids)


@lowers_relation("Filter")
def _filter(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower.with_file(node.children[0])
    condition = lower.expressions(below)(node.expression("condition"))
    return Lowered(lower.intern(Filter(below.schema, below.relation, condition)), below.ids)


@lowers_relation("SubqueryAlias", "View", "Repartition", "RepartitionByExpression", "RebalancePartitions")
def _same_rows(node: PlanNode, lower: PlanLowering) -> Lowered:
    """Nodes that only say what rows are called, or where they are."""
    return lower.with_file(node.children[0]) if node.name in ("SubqueryAlias", "View") else lower(node.children[0])


@lowers_relation("Expand")
def _expand(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    expressions = lower.expressions(below)
    projections = tuple(tuple(expressions(parse(flat)) for flat in row) for row in node.tree.fields["projections"])
    output = [attribute(tree) for tree in node.expressions("output")]
    schema = tuple(
        _merged([field_of(out.name, row[i], below.schema) for row in projections]) for i, (out, _) in enumerate(output)
    )
    return Lowered(lower.intern(Expand(schema, below.relation, projections)), tuple(id_ for _, id_ in output))


@lowers_relation("EventTimeWatermark")
def _watermark(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower.with_file(node.children[0])
    if any(isinstance(relation, Watermark) for relation in _below(below.relation)):
        why = "a second withWatermark on one stream, with which Spark fails as soon as its watermark moves"
        raise UnsupportedPlan("plan node EventTimeWatermark", why)
    event_time = node.expression("eventTime")
    column = below.ids.index(expr_id(event_time))
    if not isinstance(below.schema[column].type, T.TimestampType):
        raise UnsupportedPlan("plan node EventTimeWatermark", "event time that is not a timestamp is not supported")
    schema = tuple(f._replace(event_time=i == column) for i, f in enumerate(below.schema))
    delay_us = _delay_ms(node, lower) * 1000
    return Lowered(lower.intern(Watermark(schema, below.relation, column, delay_us)), below.ids)


def _delay_ms(node: PlanNode, lower: PlanLowering) -> int:
    """Spark's own count, which says how long a month is."""
    delay_ms = jvm_method(
        lower.plan.spark, "org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark", "getDelayMs"
    )
    return int(delay_ms(node.jvm.delay()))


def _below(relation: Relation) -> Iterator[Relation]:
    yield relation
    for below in relation.inputs:
        yield from _below(below)


@lowers_relation("Union")
def _union(node: PlanNode, lower: PlanLowering) -> Lowered:
    if not all(child.streaming for child in node.children):
        raise UnsupportedPlan("plan node Union", "a union of a stream and a static table is not supported")
    branches = [lower(child) for child in node.children]
    schema = tuple(_merged(list(fields)) for fields in zip(*(branch.schema for branch in branches), strict=True))
    relation = Union(schema, tuple(branch.relation for branch in branches))
    return Lowered(lower.intern(relation), branches[0].ids)


def _merged(fields: list[Field]) -> Field:
    """The column that holds all of `fields`, named and marked as the first, as Catalyst does."""
    if any(f.type != fields[0].type for f in fields):
        raise UnsupportedPlan(f"column {fields[0].name}", "its type is not the same in all branches")
    return fields[0]._replace(nullable=any(f.nullable for f in fields))
