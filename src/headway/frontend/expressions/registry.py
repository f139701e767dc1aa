"""The registry of expressions: one small function per Catalyst expression class lowers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headway.dataflow.expr import Column, Expr, Variable
from headway.frontend.expressions.refusals import unsupported
from headway.frontend.tree import Tree


@dataclass(frozen=True)
class Lowering:
    """What lowering an expression needs to know: the input's columns and the variables of lambdas around it by
    Catalyst's expression id, and the session."""

    columns: Mapping[int, Column | Variable]
    ansi: bool
    time_zone: str

    def __call__(self, tree: Tree) -> Expr:
        """Lower `tree`, or raise `UnsupportedPlan` that names the class that has no entry."""
        found = _LOWERINGS.get(tree.name)
        if found is None:
            raise unsupported("expression", tree.name)
        return found(tree, self)


LoweringFunction = Callable[[Tree, Lowering], Expr]
_LOWERINGS: dict[str, LoweringFunction] = {}


def lowers(*names: str) -> Callable[[LoweringFunction], LoweringFunction]:
    """Register a function for the Catalyst expression classes `names`."""

    def register(function: LoweringFunction) -> LoweringFunction:
        for name in names:
            if name in _LOWERINGS:
                raise ValueError(f"{name} is registered twice")
            _LOWERINGS[name] = function
        return function

    return register


def known() -> frozenset[str]:
    """The names of all expression classes that can be lowered."""
    return frozenset(_LOWERINGS)
