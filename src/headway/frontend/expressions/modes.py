"""Which of Spark's three ways an expression has to deal with what cannot be computed: ANSI, LEGACY or TRY."""

from __future__ import annotations

from headway.frontend.expressions.registry import Lowering
from headway.frontend.tree import Tree


def eval_mode(tree: Tree, lowering: Lowering) -> str:
    """What the expression says of itself, else what the session says."""
    mode = tree.fields.get("evalMode")
    if mode is not None:
        return str(mode)
    fail = tree.fields.get("failOnError")
    return "ANSI" if (lowering.ansi if fail is None else fail) else "LEGACY"
