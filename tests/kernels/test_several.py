"""Expressions that share parts have the values that each has by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyspark.sql import types as T

import headway.kernels.expressions  # noqa: F401  registers the expressions
from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.kernels.expressions import registry
from headway.kernels.expressions.registry import RowError, evaluate
from headway.kernels.expressions.several import Several

_LONG, _DOUBLE, _BOOLEAN = T.LongType(), T.DoubleType(), T.BooleanType()
_ANSI = (("ansi", True),)
_A, _B = Column(_LONG, 0), Column(_LONG, 1)
_SUM = Call(_LONG, "Add", (_A, _B), _ANSI)


def _values(exprs: list[Expr], batch: pa.RecordBatch) -> list[list[object]]:
    found = [array.to_pylist() for array in Several(exprs, batch.num_columns)(batch)]
    assert found == [evaluate(expr, batch).to_pylist() for expr in exprs]
    return found


def test_parts_within_parts() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2, None], "b": [10, 20, 30]})
    twice = Call(_LONG, "Add", (_SUM, _SUM), _ANSI)
    more = Call(_LONG, "Add", (twice, _SUM), _ANSI)
    assert _values([_SUM, twice, more, _A], batch) == [[11, 22, None], [22, 44, None], [33, 66, None], [1, 2, None]]


def test_what_parts_have_in_common_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Call] = []
    add = registry._STRICT["Add"]

    def counted(call: Call, args: Sequence[pa.Array]) -> pa.Array:
        calls.append(call)
        return add(call, args)

    monkeypatch.setitem(registry._STRICT, "Add", counted)
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": [10, 20]})
    tests = [Call(_BOOLEAN, "LessThan", (_SUM, Literal(_LONG, most))) for most in (12, 30)]
    negated = [Call(_BOOLEAN, "Not", (test,)) for test in tests]
    assert _values([*tests, *negated], batch) == [[True, False], [True, True], [False, True], [False, False]]
    # Once here, and once more in each of the four that `_values` compares with.
    assert len(calls) == 5


def test_zeros_of_both_signs_are_two_constants() -> None:
    batch = pa.RecordBatch.from_pydict({"a": [1, 2], "b": [1, 1]})
    zeros = [Call(_DOUBLE, "UnaryMinus", (Literal(_DOUBLE, zero),), _ANSI) for zero in (0.0, -0.0, 0.0)]
    found = _values(list(zeros), batch)
    assert [math.copysign(1, one[0]) for one in found] == [-1, 1, -1]  # type: ignore[call-overload]


def test_what_fails_where_nobody_looks() -> None:
    most = 2**63 - 1
    batch = pa.RecordBatch.from_pydict({"a": [1, most], "b": [10, 1]})
    small = Call(_BOOLEAN, "LessThan", (_A, Literal(_LONG, 5)))
    guarded = Call(_LONG, "If", (small, _SUM, Literal(_LONG, 0)))
    again = Call(_LONG, "If", (small, Call(_LONG, "Add", (_SUM, _A), _ANSI), _B))
    assert _values([guarded, again], batch) == [[11, 0], [12, 1]]
    with pytest.raises(RowError, match="ARITHMETIC_OVERFLOW"):
        Several([guarded, _SUM], 2)(batch)
