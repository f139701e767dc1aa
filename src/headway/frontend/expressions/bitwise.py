"""Lowering of operations on bits.

Calls, without options: `BitwiseAnd`, `BitwiseOr`, `BitwiseXor` of two integers of one type, `BitwiseNot` of one;
`ShiftLeft`, `ShiftRight`, `ShiftRightUnsigned` of an int or a long by an int.
"""

from __future__ import annotations

from headway.dataflow.expr import Call, Expr
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.tree import Tree


@lowers("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "ShiftLeft", "ShiftRight", "ShiftRightUnsigned")
def _bits(tree: Tree, lowering: Lowering) -> Expr:
    args = tuple(lowering(child) for child in tree.children)
    return Call(args[0].type, tree.name, args)
