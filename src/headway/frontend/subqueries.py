"""Scalar subqueries over static tables: Spark computes their value when the query is lowered; then it is a constant.

Spark itself computes it with every micro-batch, as it does with static sides of joins; see docs/semantics.md.
Subqueries over streams it refuses.
"""

from __future__ import annotations

import json
from typing import Any

from headway.dataflow.expr import Expr, Literal
from headway.frontend.expressions.completion import catalyst_value
from headway.frontend.expressions.leaves import exact_value, spark_type
from headway.frontend.plan import Plan
from headway.frontend.tree import Tree
from headway.gateway import jvm_method


def subquery_value(plan: Plan, tree: Tree) -> Expr:
    """The value of a ScalarSubquery; Spark's own error where it has more rows than one."""
    expression = tree.fields["expression"]
    kind = expression.dataType()
    written = json.loads(kind.json())
    value = catalyst_value(_rows(plan, expression)[0].get(0, kind), kind, written)
    data_type = spark_type(written)
    return Literal(data_type, exact_value(data_type, value))


def _rows(plan: Plan, expression: Any) -> Any:
    """One row of one column, as Catalyst has it: the subquery over a table of one row."""
    column = jvm_method(plan.spark, "org.apache.spark.sql.classic.ExpressionUtils", "column")(expression)
    frame = plan.spark.range(1)._jdf.select(plan.spark._jvm.PythonUtils.toSeq([column]))
    return frame.queryExecution().executedPlan().executeCollect()
