"""Writes an Expand step: a loop over its projections, one piece of source however many there are."""

from __future__ import annotations

import numpy as np

from headway.dataflow.expr import Call, Column, Expr
from headway.dataflow.graph import Expand
from headway.kernels.compiled.emitter import Emitter, Ref, Scope
from headway.kernels.compiled.expressions.windows import window
from headway.kernels.compiled.values import AnyValue, Value, zero


def expanded(step: Expand, counter: str, emitter: Emitter, scope: Scope) -> Scope:
    """The columns of the projection that the loop variable `counter` stands at."""
    return Scope(tuple(_column(exprs, counter, emitter, scope) for exprs in zip(*step.projections, strict=True)))


def _column(exprs: tuple[Expr, ...], counter: str, emitter: Emitter, scope: Scope) -> Ref:
    first = exprs[0]
    if all(expr == first for expr in exprs):
        if isinstance(first, Column):
            return scope.columns[first.index]
        return Ref(lambda: emitter.value(first, scope))
    key = (scope, exprs)
    if len({_but_index(expr) for expr in exprs}) == 1:
        assert isinstance(first, Call)
        return Ref(lambda: emitter.once(key, lambda: _windows(exprs, counter, emitter, scope)))
    return Ref(lambda: emitter.once(key, lambda: _chosen(exprs, counter, emitter, scope)))


def _but_index(expr: Expr) -> Expr:
    """The expression, the same for windows that differ only in which one of a row's windows they are."""
    if isinstance(expr, Call) and expr.function == "TimeWindow":
        return Call(expr.type, expr.function, expr.args, tuple(o for o in expr.options if o[0] != "index"))
    return expr


def _windows(exprs: tuple[Expr, ...], counter: str, emitter: Emitter, scope: Scope) -> AnyValue:
    calls = [expr for expr in exprs if isinstance(expr, Call)]
    indexes = emitter.parameters.array(np.array([call.option("index") for call in calls], np.int64))
    return window(calls[0], emitter, scope, emitter.let(f"load_i64({indexes}, i64({counter}))"))


def _chosen(exprs: tuple[Expr, ...], counter: str, emitter: Emitter, scope: Scope) -> AnyValue:
    """The value of whichever expression it is; a branch for each."""
    value, null = emitter.name("x"), emitter.name("z")
    emitter.line(f"{value}, {null} = {zero(exprs[0].type)}, True")
    for at, expr in enumerate(exprs):
        with emitter.block(f"if {counter} == {at}:"):
            chosen = emitter.scalar(expr, scope)
            emitter.line(f"{value}, {null} = {chosen.code}, {chosen.null}")
    return Value(value, null)
