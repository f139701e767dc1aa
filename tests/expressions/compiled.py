"""Compiled kernels beside Spark, row by row: its value where it has one, an error where it fails.

1. Spark judges every expression over all rows in one job: each is computed inside `TryEval`, which is Spark's own way
   to make null of an error, and as the field of a struct, so that a null is not taken for an error.
2. A kernel has several of the expressions: numba takes long for few large kernels and for many small ones. One that
   fails for some row is computed only for rows whose column `which` has its number, so that the rows on which it must
   fail can be told apart from those on which it must not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from oracle import batch_of, compare_columns, frame_of, lower, select_all, settings_of, shown
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.classic.column import Column as ClassicColumn

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import Project, Source
from headway.dataflow.types import Field
from headway.gateway import jvm_class
from headway.kernels.api import Chain, ChainKernel
from headway.kernels.compiled import compile_now, why_not
from headway.kernels.expressions import RowError

Rows = Sequence[tuple[Any, ...]]
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"
_FAILURES = 8  # rows per expression that are tried one by one
_TOGETHER = 12  # expressions of one kernel


@dataclass(frozen=True)
class _Case:
    """One expression, what Spark says to it, and the rows for which Spark fails."""

    text: str
    expr: Expr
    values: pa.Array
    failed: np.ndarray


def check_compiled(
    spark: SparkSession, exprs: Sequence[str], rows: Rows, schema: str, *, ansi: bool = False, zone: str = "UTC"
) -> None:
    """Assert that kernels of `exprs` give over `rows` what Spark gives, and fail on the rows on which it does.

    Values are compared bit by bit (NaN equals NaN), in batches with nulls and without.
    """
    with settings_of(spark, ansi, _spark_settings(zone)):
        frame = frame_of(spark, [(*row, -1) for row in rows], f"{schema}, which int")
        cases = _cases(frame, exprs)
        batch = batch_of(frame)
    for some in (cases[at : at + _TOGETHER] for at in range(0, len(cases), _TOGETHER)):
        _check(compile_now(_chain(frame, some)), some, batch)


def reasons(spark: SparkSession, exprs: Sequence[str], schema: str, *, ansi: bool, zone: str) -> dict[str, str | None]:
    """Why each of `exprs` is not compiled, None where it is."""
    lowered = lowered_exprs(spark, exprs, schema, ansi=ansi, zone=zone)
    source = _source(T._parse_datatype_string(schema))
    return {text: why_not(_projection(source, [expr])) for text, expr in zip(exprs, lowered, strict=True)}


def lowered_exprs(spark: SparkSession, exprs: Sequence[str], schema: str, *, ansi: bool, zone: str) -> list[Expr]:
    """What the frontend makes of `exprs`."""
    with settings_of(spark, ansi, _spark_settings(zone)):
        ((_, lowered),) = lower(select_all(frame_of(spark, [], schema), exprs))
    return lowered


def _spark_settings(zone: str) -> dict[str, str]:
    # A common subexpression would be computed outside of TryEval.
    return {"spark.sql.session.timeZone": zone, "spark.sql.subexpressionElimination.enabled": "false"}


def _cases(frame: DataFrame, exprs: Sequence[str]) -> list[_Case]:
    ((_, lowered),) = lower(select_all(frame, exprs))
    judged = select_all(frame, [_tried(frame.sparkSession, text) for text in exprs]).toArrow()
    cases = []
    for text, expr, column in zip(exprs, lowered, judged.columns, strict=True):
        whole = column.combine_chunks()
        failed = whole.is_null().to_numpy(zero_copy_only=False)
        cases.append(_Case(text, expr, pc.struct_field(whole, 0), failed))
    return cases


def _tried(spark: SparkSession, text: str) -> ClassicColumn:
    """struct(text), null where Spark fails to compute it."""
    utilities = jvm_class(spark, "org.apache.spark.sql.classic.ExpressionUtils")
    nullable, tried = (jvm_class(spark, f"{_EXPRESSIONS}.{name}") for name in ("KnownNullable", "TryEval"))
    # Arrow has no null struct whose field may not be null.
    value = ClassicColumn(utilities.column(nullable(utilities.expression(F.expr(text)._jc))))
    inside = utilities.expression(F.struct(value.alias("value"))._jc)
    return ClassicColumn(utilities.column(tried(inside)))


def _source(schema: T.DataType) -> Source:
    assert isinstance(schema, T.StructType)
    return Source(tuple(Field(f.name, f.dataType) for f in schema.fields), "test", ())


def _projection(source: Source, exprs: Sequence[Expr]) -> Chain:
    fields = tuple(Field(f"c{i}", expr.type) for i, expr in enumerate(exprs))
    return Chain(source, (Project(fields, source, tuple(exprs)),))


def _chain(frame: DataFrame, cases: Sequence[_Case]) -> Chain:
    which = Column(T.IntegerType(), len(frame.schema.fields) - 1)
    exprs: list[Expr] = []
    for number, case in enumerate(cases):
        chosen = Call(T.BooleanType(), "EqualTo", (which, Literal(which.type, number)))
        guarded = Call(case.expr.type, "If", (chosen, case.expr, Literal(case.expr.type, None)))
        exprs.append(guarded if case.failed.any() else case.expr)
    return _projection(_source(frame.schema), exprs)


def _check(kernel: ChainKernel, cases: Sequence[_Case], batch: pa.RecordBatch) -> None:
    risky = [i for i, case in enumerate(cases) if case.failed.any()]
    _check_plain(kernel, cases, batch)
    _check_risky(kernel, cases, risky, batch)
    for number in risky:
        _check_failures(kernel, cases[number], number, batch)


def _check_plain(kernel: ChainKernel, cases: Sequence[_Case], batch: pa.RecordBatch) -> None:
    """Expressions that never fail, over all rows and over those without nulls."""
    for keep in (pa.repeat(True, batch.num_rows), _complete(batch)):
        kept = batch.filter(keep) if pc.any(pc.invert(keep)).as_py() else batch
        out = kernel.process(kept)[0]
        for number, case in enumerate(cases):
            if out is not None and not case.failed.any():
                _compare(case, out.column(number), case.values.filter(keep), kept)


def _check_risky(kernel: ChainKernel, cases: Sequence[_Case], risky: Sequence[int], batch: pa.RecordBatch) -> None:
    """Expressions that fail for some rows, over the others."""
    complete = _complete(batch).to_numpy(zero_copy_only=False)
    for keep in (np.full(batch.num_rows, True), complete):
        rows = [np.flatnonzero(keep & ~cases[number].failed) for number in risky]
        if not sum(map(len, rows)):
            continue
        which = np.repeat(np.array(risky, np.int32), [len(some) for some in rows])
        out = kernel.process(_with_which(batch.take(pa.array(np.concatenate(rows))), which))[0]
        assert out is not None
        at = 0
        for number, some in zip(risky, rows, strict=True):
            theirs = cases[number].values.take(pa.array(some))
            _compare(cases[number], out.column(number).slice(at, len(some)), theirs, batch.take(pa.array(some)))
            at += len(some)


def _check_failures(kernel: ChainKernel, case: _Case, number: int, batch: pa.RecordBatch) -> None:
    failing = np.flatnonzero(case.failed)
    spread = failing[:: max(1, len(failing) // _FAILURES)]
    for at in spread:
        row = _with_which(batch.slice(at, 1), np.array([number], np.int32))
        try:
            out, _ = kernel.process(row)
        except RowError:
            continue
        assert out is not None
        ours = shown(pa.Table.from_batches([out]))[number]
        pytest.fail(f"{case.text} at {shown(pa.Table.from_batches([row]))}: Spark fails, Headway gives {ours!r}")


def _compare(case: _Case, ours: pa.Array, theirs: pa.Array, rows: pa.RecordBatch) -> None:
    compare_columns(f"{case.text} as {case.expr}", theirs.cast(ours.type), ours, pa.Table.from_batches([rows]))


def _complete(batch: pa.RecordBatch) -> pa.Array:
    """Which rows have no null."""
    whole = pa.repeat(True, batch.num_rows)
    for column in batch.columns:
        whole = pc.and_(whole, column.is_valid())
    return whole


def _with_which(batch: pa.RecordBatch, which: np.ndarray) -> pa.RecordBatch:
    return batch.set_column(batch.num_columns - 1, "which", pa.array(which))
