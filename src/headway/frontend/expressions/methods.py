"""Lowering of calls of Java methods, which the optimizer makes of functions: StaticInvoke and Invoke."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway.dataflow.expr import Expr
from headway.errors import UnsupportedPlan
from headway.frontend.expressions.refusals import unsupported
from headway.frontend.expressions.registry import Lowering, lowers
from headway.frontend.expressions.simple import arguments
from headway.frontend.tree import Tree

MethodLowering = Callable[[Tree, tuple[Expr, ...]], Expr]
EvaluatorLowering = Callable[[Tree, list[Any], tuple[Expr, ...]], Expr]
_METHODS: dict[tuple[str, str], MethodLowering] = {}
_EVALUATORS: dict[str, EvaluatorLowering] = {}


def lowers_method(owner: str, method: str) -> Callable[[MethodLowering], MethodLowering]:
    """Register a function for calls of a Java class's static method, or of a method of the first argument's."""

    def register(function: MethodLowering) -> MethodLowering:
        _METHODS[owner, method] = function
        return function

    return register


def lowers_evaluator(name: str) -> Callable[[EvaluatorLowering], EvaluatorLowering]:
    """Register a function for calls of an object of Java class `name`; it is given the object's fields."""

    def register(function: EvaluatorLowering) -> EvaluatorLowering:
        _EVALUATORS[name] = function
        return function

    return register


@lowers("StaticInvoke")
def _static_invoke(tree: Tree, lowering: Lowering) -> Expr:
    owner = tree.fields["staticObject"].rsplit(".", 1)[-1].rstrip("$")
    method = tree.fields["functionName"]
    found = _METHODS.get((owner, method))
    if found is None:
        raise unsupported("expression StaticInvoke of", f"{owner}.{method}")
    return found(tree, arguments(tree, lowering))


@lowers("Invoke")
def _invoke(tree: Tree, lowering: Lowering) -> Expr:
    target, *given = tree.children
    if target.name != "Literal" or "object" not in target.fields:
        found = _METHODS.get(("", tree.fields["functionName"]))
        if found is None:
            raise UnsupportedPlan(f"expression Invoke of {tree.fields['functionName']}")
        return found(tree, arguments(tree, lowering))
    name, fields = target.fields["object"]
    evaluator = _EVALUATORS.get(name)
    if evaluator is None:
        raise UnsupportedPlan(f"expression Invoke of {name}")
    return evaluator(tree, fields, tuple(map(lowering, given)))


def known() -> frozenset[str]:
    """The methods and the classes of objects that can be lowered, methods as "class.method"."""
    return frozenset(f"{owner}.{method}" for owner, method in _METHODS) | frozenset(_EVALUATORS) | {".evaluate"}
