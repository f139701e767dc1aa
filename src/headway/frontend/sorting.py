"""Lowering of sort orders, of Sort, and of limits."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.graph import Aggregate, Limit, Order, Relation, Sort
from headway.errors import UnsupportedPlan
from headway.frontend.plan import PlanNode
from headway.frontend.relations import Lowered, PlanLowering, lowers_relation
from headway.frontend.tree import Tree


def sort_order(tree: Tree) -> tuple[bool, bool]:
    """Whether a SortOrder is descending, and whether nulls come first."""
    return (
        tree.fields["direction"]["object"].endswith("Descending$"),
        tree.fields["nullOrdering"]["object"].endswith("NullsFirst$"),
    )


def is_ordered(kind: T.DataType) -> bool:
    """Whether the kernels can compare values of this type."""
    if isinstance(kind, T.StructType):
        return all(is_ordered(field.dataType) for field in kind.fields)
    return not isinstance(kind, T.ArrayType | T.MapType)


@lowers_relation("Sort")
def _sort(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    if not _is_result(below.relation):
        raise UnsupportedPlan("plan node Sort", "only the result of an aggregation can be sorted")
    expressions = lower.expressions(below)
    trees = node.expressions("order")
    orders = tuple(Order(expressions(tree.children[0]), *sort_order(tree)) for tree in trees)
    for order in orders:
        if not is_ordered(order.by.type):
            raise UnsupportedPlan("plan node Sort", f"by a column of type {order.by.type.simpleString()}")
    return Lowered(lower.intern(Sort(below.schema, below.relation, orders)), below.ids)


@lowers_relation("GlobalLimit")
def _limit(node: PlanNode, lower: PlanLowering) -> Lowered:
    below = lower(node.children[0])
    count = node.expression("limitExpr")
    if count.name != "Literal":
        raise UnsupportedPlan("plan node GlobalLimit", "its number of rows is not a constant")
    relation = Limit(below.schema, (below.relation,), ((),), int(count.fields["value"]))
    return Lowered(lower.intern(relation), below.ids)


@lowers_relation("LocalLimit")
def _local_limit(node: PlanNode, lower: PlanLowering) -> Lowered:
    """A global limit follows that says the same."""
    return lower(node.children[0])


def _is_result(relation: Relation) -> bool:
    return isinstance(relation, Aggregate) or any(map(_is_result, relation.inputs))
