"""Lowering of `input_file_name()`: a field of a column that sources of files add, and that plan nodes hand on.

It is handed on only by nodes that neither move rows nor make others of them; elsewhere Spark's own answer depends on
where its tasks end.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree

FILE_ID = -(10**9)
"""Stands for an expression id of Catalyst's."""
FILE_TYPE = T.StructType([T.StructField("input_file_name", T.StringType())])


@lowers("InputFileName")
def _file_name(tree: Tree, lowering: Lowering) -> Expr:
    column = lowering.columns.get(FILE_ID)
    if column is None:
        raise UnsupportedPlan(
            "expression InputFileName", "it is known only behind a source of files, projections and filters"
        )
    return Call(T.StringType(), "GetStructField", (column,), (("ordinal", 0),))
