"""Evaluation of three-valued logic, of tests for null and NaN, and of conditionals.

Everything is evaluated on all rows first; if that fails, again on the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headway.dataflow.expr import Call, Expr, Literal
from headway.dataflow.types import arrow_type
from headway.kernels.expressions.comparison import equal
from headway.kernels.expressions.registry import RowError, evaluate, evaluate_where, evaluates, evaluates_lazily

_MANY_CANDIDATES = 4


@evaluates("Not")
def _not(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.invert(args[0])


@evaluates("IsNull")
def _is_null(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.is_null(args[0])


@evaluates("IsNotNull")
def _is_not_null(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.is_valid(args[0])


@evaluates("IsNaN")
def _is_nan(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    return pc.fill_null(pc.is_nan(args[0]), False)


@evaluates("AtLeastNNonNulls", every_argument=True)
def _at_least(call: Call, args: Sequence[pa.Array]) -> pa.Array:
    counts = [pc.cast(_holds_value(arg), pa.int32()) for arg in args]
    total = counts[0]
    for count in counts[1:]:
        total = pc.add(total, count)
    return pc.greater_equal(total, call.option("n"))


def _holds_value(values: pa.Array) -> pa.Array:
    if pa.types.is_floating(values.type):
        return pc.fill_null(pc.invert(pc.is_nan(values)), False)
    return pc.is_valid(values)


@evaluates_lazily("And", "Or")
def _connective(call: Call, batch: pa.RecordBatch) -> pa.Array:
    left = evaluate(call.args[0], batch)
    # A left side that decides alone is never null.
    undecided = pc.fill_null(left if call.function == "And" else pc.invert(left), True)
    right = _reached(call.args[1], batch, lambda: undecided)
    return pc.and_kleene(left, right) if call.function == "And" else pc.or_kleene(left, right)


@evaluates_lazily("If", "CaseWhen")
def _case(call: Call, batch: pa.RecordBatch) -> pa.Array:
    try:
        conditions = [evaluate(arg, batch) for arg in call.args[:-1:2]]
        values, otherwise = [_result(arg, batch) for arg in call.args[1::2]], _result(call.args[-1], batch)
    except RowError:
        args = _branches_taken(call.args, batch)
        conditions, values, otherwise = args[:-1:2], args[1::2], args[-1]
    if len(conditions) == 1:
        return pc.if_else(pc.fill_null(conditions[0], False), values[0], otherwise)
    chosen = pa.StructArray.from_arrays(conditions, names=[str(i) for i in range(len(conditions))])
    return pc.case_when(chosen, *values, otherwise)


def _result(expr: Expr, batch: pa.RecordBatch) -> pa.Array | pa.Scalar:
    """What a branch gives; a constant is not repeated for every row."""
    kind = arrow_type(expr.type)
    if isinstance(expr, Literal) and not pa.types.is_nested(kind):
        return pa.scalar(expr.value, kind)
    return evaluate(expr, batch)


def _branches_taken(args: Sequence[Expr], batch: pa.RecordBatch) -> list[pa.Array]:
    """The arguments of CaseWhen, each evaluated only on the rows that reach it."""
    waiting = pa.repeat(True, batch.num_rows)
    values = []
    for condition, value in zip(args[:-1:2], args[1::2], strict=True):
        met = pc.fill_null(evaluate_where(condition, batch, waiting), False)
        values += [met, evaluate_where(value, batch, met)]
        waiting = pc.and_not(waiting, met)
    return [*values, evaluate_where(args[-1], batch, waiting)]


@evaluates_lazily("Coalesce")
def _coalesce(call: Call, batch: pa.RecordBatch) -> pa.Array:
    values = evaluate(call.args[0], batch)
    for arg in call.args[1:]:
        missing = pc.is_null(values)
        values = pc.coalesce(values, _reached(arg, batch, lambda rows=missing: rows))  # type: ignore[misc]
    return values.cast(arrow_type(call.type))


@evaluates_lazily("RaiseError")
def _raise(call: Call, batch: pa.RecordBatch) -> pa.Array:
    if batch.num_rows:
        name, parameters = (evaluate(arg, batch.slice(0, 1))[0].as_py() for arg in call.args)
        text = ", ".join(f"{key}: {value}" for key, value in parameters or ())
        raise RowError(f"[{name}] {text.removeprefix('errorMessage: ')}")
    return pa.nulls(0, arrow_type(call.type))


@evaluates_lazily("TryEval")
def _try(call: Call, batch: pa.RecordBatch) -> pa.Array:
    """Halves, where there is an error, until it stands alone."""
    try:
        return evaluate(call.args[0], batch)
    except RowError:
        if batch.num_rows == 1:
            return pa.nulls(1, arrow_type(call.type))
    half = batch.num_rows // 2
    return pa.concat_arrays([_try(call, batch.slice(0, half)), _try(call, batch.slice(half))])


@evaluates_lazily("NaNvl")
def _nanvl(call: Call, batch: pa.RecordBatch) -> pa.Array:
    values = evaluate(call.args[0], batch)
    not_numbers = pc.fill_null(pc.is_nan(values), False)
    return pc.if_else(not_numbers, _reached(call.args[1], batch, lambda: not_numbers), values)


@evaluates_lazily("In")
def _in(call: Call, batch: pa.RecordBatch) -> pa.Array:
    value = evaluate(call.args[0], batch)
    candidates = call.args[1:]
    constants = [c.value for c in candidates if isinstance(c, Literal)]
    if len(constants) == len(candidates) > _MANY_CANDIDATES and not _is_special(value.type):
        return _in_constants(value, constants)
    # Null if nothing matches and something is null: what a chain of `or` gives, starting with nothing.
    found = pc.if_else(pc.is_valid(value), pa.scalar(False), pa.scalar(None, pa.bool_()))
    for candidate in candidates:
        waiting = pc.and_(pc.is_valid(value), pc.invert(pc.fill_null(found, False)))
        against = _reached(candidate, batch, lambda rows=waiting: rows)  # type: ignore[misc]
        found = pc.or_kleene(found, equal(value, against))
    return found


def _is_special(kind: pa.DataType) -> bool:
    """Whether Arrow's equality is not Spark's, or there is none."""
    return bool(pa.types.is_floating(kind) or pa.types.is_nested(kind))


def _in_constants(value: pa.Array, constants: Sequence[object]) -> pa.Array:
    known = pa.array([c for c in constants if c is not None], value.type)
    found = pc.is_in(value, known)
    unsure = pc.is_null(value)
    if len(known) < len(constants):
        unsure = pc.or_(unsure, pc.invert(found))
    return pc.if_else(unsure, pa.scalar(None, pa.bool_()), found)


def _reached(expr: Expr, batch: pa.RecordBatch, rows: Callable[[], pa.Array]) -> pa.Array:
    """`expr` on all rows, or if that fails on `rows`."""
    try:
        return evaluate(expr, batch)
    except RowError:
        return evaluate_where(expr, batch, rows())
