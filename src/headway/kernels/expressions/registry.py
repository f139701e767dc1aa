"""The interpreted tier of expressions: one small function per Catalyst expression class, over whole Arrow columns.

1. `evaluate` gives an array of the batch's length and of exactly `arrow_type(expr.type)`.
2. A strict function gets its arguments as arrays. A lazy one gets the call and the batch, and evaluates an argument
   only on the rows that reach it: in ANSI mode an error in a branch not taken must not be raised.
3. An error that Spark would raise is a `RowError` with Spark's error class in its message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.types import arrow_type
from headway.errors import HeadwayError, UnsupportedPlan


class RowError(HeadwayError):
    """A row on which Spark in ANSI mode would fail: division by zero, overflow, a malformed cast."""


Strict = Callable[[Call, Sequence[pa.Array]], pa.Array]
Lazy = Callable[[Call, pa.RecordBatch], pa.Array]
_STRICT: dict[str, Strict] = {}
_LAZY: dict[str, Lazy] = {}


def evaluate(expr: Expr, batch: pa.RecordBatch) -> pa.Array:
    """The value of `expr` for every row of `batch`."""
    if isinstance(expr, Column):
        return batch.column(expr.index)
    if isinstance(expr, Literal):
        return literal(expr, batch.num_rows)
    assert isinstance(expr, Call)
    if expr.function in _LAZY:
        return _LAZY[expr.function](expr, batch)
    strict = _STRICT.get(expr.function)
    if strict is None:
        raise UnsupportedPlan(f"expression {expr.function}", "it has no interpreted kernel")
    return strict(expr, [evaluate(arg, batch) for arg in expr.args])


def literal(expr: Literal, length: int) -> pa.Array:
    """`length` times the constant."""
    target = arrow_type(expr.type)
    if expr.value is None:
        return pa.nulls(length, target)
    return pa.repeat(pa.scalar(expr.value, target), length)


def evaluates(*names: str) -> Callable[[Strict], Strict]:
    """Register a strict function for the expression classes `names`."""

    def register(function: Strict) -> Strict:
        _STRICT.update(dict.fromkeys(names, function))
        return function

    return register


def evaluates_lazily(*names: str) -> Callable[[Lazy], Lazy]:
    """Register a lazy function for the expression classes `names`."""

    def register(function: Lazy) -> Lazy:
        _LAZY.update(dict.fromkeys(names, function))
        return function

    return register
