"""The interpreted tier of expressions: one small function per Catalyst expression class, over whole Arrow columns.

1. `evaluate` gives an array of the batch's length and of exactly `arrow_type(expr.type)`.
2. A strict function gets its arguments as arrays. A lazy one gets the call and the batch, and evaluates an argument
   only on the rows that reach it: in ANSI mode an error in a branch not taken must not be raised.
3. An error that Spark would raise is a `RowError` with Spark's error class in its message.
4. Errors are rare and filtering is not free, so arguments are first evaluated on all rows. Only if that fails are they
   evaluated again on the rows that reach them, and an error that remains is Spark's error too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call, Column, Expr, Literal, Variable
from headway.dataflow.types import arrow_type
from headway.errors import HeadwayError, UnsupportedPlan
from headway.kernels.lists import build


class RowError(HeadwayError):
    """A row on which Spark in ANSI mode would fail: division by zero, overflow, a malformed cast."""


Strict = Callable[[Call, Sequence[pa.Array]], pa.Array]
Lazy = Callable[[Call, pa.RecordBatch], pa.Array]
_STRICT: dict[str, Strict] = {}
_LAZY: dict[str, Lazy] = {}
_EVERY_ARGUMENT: set[str] = set()
_RIGHT_FIRST: set[str] = set()


def evaluate(expr: Expr, batch: pa.RecordBatch) -> pa.Array:
    """The value of `expr` for every row of `batch`."""
    if isinstance(expr, Column):
        return batch.column(expr.index)
    if isinstance(expr, Literal):
        return literal(expr, batch.num_rows)
    if isinstance(expr, Variable):
        return batch.column(expr.name)
    assert isinstance(expr, Call)
    if expr.function in _LAZY:
        return _LAZY[expr.function](expr, batch)
    strict = _STRICT.get(expr.function)
    if strict is None:
        raise UnsupportedPlan(f"expression {expr.function}", "it has no interpreted kernel")
    return strict(expr, _arguments(expr, batch))


def _arguments(call: Call, batch: pa.RecordBatch) -> list[pa.Array]:
    try:
        return [evaluate(arg, batch) for arg in call.args]
    except RowError:
        if len(call.args) < 2 or call.function in _EVERY_ARGUMENT:
            raise
    # Spark looks at the next argument only where the one before is not null.
    positions = list(range(len(call.args)))
    if call.function in _RIGHT_FIRST:
        positions.reverse()
    values: dict[int, pa.Array] = {}
    rows = pa.repeat(True, batch.num_rows)
    for at in positions:
        values[at] = evaluate_where(call.args[at], batch, rows)
        rows = pc.and_(rows, pc.is_valid(values[at]))
    return [values[at] for at in range(len(values))]


def evaluate_where(expr: Expr, batch: pa.RecordBatch, rows: pa.Array) -> pa.Array:
    """The value of `expr` where `rows` is true (it has no nulls), null elsewhere: no other row is looked at."""
    values = evaluate(expr, batch.filter(rows))
    if len(values) == batch.num_rows:
        return values
    selected = rows.to_numpy(zero_copy_only=False)
    positions = pa.array(np.cumsum(selected) - 1, mask=~selected)
    return values.take(positions)


def literal(expr: Literal, length: int) -> pa.Array:
    """`length` times the constant."""
    target = arrow_type(expr.type)
    if expr.value is None:
        return pa.nulls(length, target)
    if pa.types.is_nested(target):
        return build([expr.value], expr.type).take(pa.array(np.zeros(length, np.int64)))
    return pa.repeat(pa.scalar(expr.value, target), length)


def evaluates(*names: str, every_argument: bool = False, right_first: bool = False) -> Callable[[Strict], Strict]:
    """Register a strict function for the expression classes `names`.

    Spark does not look at later arguments where an earlier one is null, unless `every_argument`; and it looks at the
    first argument last if `right_first`.
    """

    def register(function: Strict) -> Strict:
        _STRICT.update(dict.fromkeys(names, function))
        _EVERY_ARGUMENT.update(names if every_argument else ())
        _RIGHT_FIRST.update(names if right_first else ())
        return function

    return register


def evaluates_lazily(*names: str) -> Callable[[Lazy], Lazy]:
    """Register a lazy function for the expression classes `names`."""

    def register(function: Lazy) -> Lazy:
        _LAZY.update(dict.fromkeys(names, function))
        return function

    return register
