"""Lowering of operations on bits.

Calls, without options: `BitwiseAnd`, `BitwiseOr`, `BitwiseXor` of two integers of one type, `BitwiseNot` of one;
`ShiftLeft`, `ShiftRight`, `ShiftRightUnsigned` of an int or a long by an int; `BitwiseCount` of an integer or boolean;
`BitwiseGet` of an integer and the bit's position, an error in every mode if there is no such bit.
"""

from __future__ import annotations

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Expr
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


@lowers("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ShiftLeft", "ShiftRight", "ShiftRightUnsigned")
def _bits(tree: Tree, lowering: Lowering) -> Expr:
    args = tuple(lowering(child) for child in tree.children)
    return Call(args[0].type, tree.name, args)


@lowers("BitwiseCount")
def _count(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.IntegerType(), tree.name, (lowering(tree.children[0]),))


@lowers("BitwiseGet")
def _get(tree: Tree, lowering: Lowering) -> Expr:
    return Call(T.ByteType(), tree.name, tuple(lowering(child) for child in tree.children))
