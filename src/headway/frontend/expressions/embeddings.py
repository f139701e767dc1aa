"""Lowering of functions of vectors, arrays of floats: `Vector…` of two of them, or of one and the norm's degree."""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.frontend.expressions.methods import lowers_method
from headway.frontend.tree import Tree

_OWNER = "VectorFunctionImplUtils"


def _lowers_vectors(method: str, result: T.DataType) -> None:
    """Register a method of two arguments; the third is its own name."""

    @lowers_method(_OWNER, method)
    def _vectors(tree: Tree, args: tuple[Expr, ...]) -> Expr:
        return Call(result, method[0].upper() + method[1:], args[:2])


_lowers_vectors("vectorCosineSimilarity", T.FloatType())
_lowers_vectors("vectorInnerProduct", T.FloatType())
_lowers_vectors("vectorL2Distance", T.FloatType())
_lowers_vectors("vectorNorm", T.FloatType())
_lowers_vectors("vectorNormalize", T.ArrayType(T.FloatType()))
