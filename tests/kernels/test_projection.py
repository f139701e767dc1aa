"""A filter before a projection, as one step and as two."""

from __future__ import annotations

import pyarrow as pa
import pytest
from aggregation import source_of
from pyspark.sql import types as T

import headway.kernels.expressions  # noqa: F401  registers the expressions
from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import Filter, Project
from headway.dataflow.types import Field, arrow_schema
from headway.kernels.expressions.registry import RowError
from headway.kernels.projection import FilteredProjection

L, S, B = T.LongType(), T.StringType(), T.BooleanType()
SOURCE = source_of([("a", L), ("text", S), ("b", L)])
A, TEXT, BEE = Column(L, 0), Column(S, 1), Column(L, 2)
SUM = Call(L, "Add", (A, BEE), (("ansi", True),))
MOST = 2**63 - 1


def _batch(a: list[int | None]) -> pa.RecordBatch:
    columns = [pa.array(a, pa.int64()), pa.array([f"text {n}" for n in a]), pa.array([1] * len(a))]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(SOURCE.schema))


def _step(condition: Expr, *exprs: Expr) -> FilteredProjection:
    kept = Filter(SOURCE.schema, SOURCE, condition)
    return FilteredProjection(kept, Project(tuple(Field("x", expr.type) for expr in exprs), kept, exprs))


def _below(expr: Expr, bound: int) -> Expr:
    return Call(B, "LessThan", (expr, Literal(L, bound)))


def test_what_the_condition_computed_is_filtered_too() -> None:
    found = _step(_below(SUM, 4), BEE, SUM, Literal(L, 7))(_batch([1, 2, None, 3]))
    assert [column.to_pylist() for column in found.columns] == [[1, 1], [2, 3], [7, 7]]


def test_no_row_is_left() -> None:
    found = _step(_below(SUM, 0), TEXT, SUM)(_batch([1, 2]))
    assert (found.num_rows, found.schema.types) == (0, [pa.string(), pa.int64()])


def test_rows_that_are_left_out_do_not_fail() -> None:
    guarded = Call(B, "And", (_below(A, 5), _below(SUM, 100)))
    assert _step(guarded, SUM)(_batch([1, MOST])).column(0).to_pylist() == [2]
    with pytest.raises(RowError, match="ARITHMETIC_OVERFLOW"):
        _step(_below(A, MOST), SUM, TEXT)(_batch([1, MOST - 1]).set_column(2, "b", pa.array([1, 9])))


def test_constants_alone_are_not_such_a_step() -> None:
    kept = Filter(SOURCE.schema, SOURCE, _below(A, 2))
    assert not FilteredProjection.fits(Project((Field("x", L),), kept, (Literal(L, 1),)))
