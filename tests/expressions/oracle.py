"""Spark's own answer to expressions over rows, beside Headway's: they must be equal, errors included."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Expr
from headway.dataflow.types import arrow_type
from headway.frontend.expressions import Lowering
from headway.frontend.expressions.completion import complete
from headway.frontend.expressions.leaves import spark_type
from headway.frontend.tree import Tree, parse
from headway.kernels.expressions import RowError, evaluate

Expression = str | SparkColumn
_SparkError = PySparkException | Py4JJavaError  # the latter where Java's own arithmetic gives up
_NO_FOLDING = ",".join(
    f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in ("ConvertToLocalRelation", "PropagateEmptyRelation")
)


def check(
    spark: SparkSession,
    exprs: Sequence[Expression],
    rows: Sequence[tuple[Any, ...]] | pa.Table,
    schema: str | T.StructType,
    *,
    ansi: bool = True,
    ulps: int = 0,
    given: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> None:
    """Assert that every one of `exprs` over `rows` gives, in Headway, what it gives in Spark.

    Values are compared exactly: null by null, NaN equal to NaN, -0.0 different from 0.0, floats within `ulps` units in
    the last place. `given` is done to the rows first (a filter). Where Spark raises, Headway must raise with the same
    error class. All expressions go through one Spark job; only if it fails, each has a job of its own.
    """
    with settings_of(spark, ansi):
        frame = frame_of(spark, rows, schema, given)
        together = select_all(frame, exprs)
        expected, error = _spark_answer(together)
        if error is None:
            _compare(exprs, together, frame, expected, ulps)
            return
        for expr in exprs:
            _check_one(frame, expr, ulps, error if len(exprs) == 1 else None)


def lower(frame: DataFrame) -> list[tuple[Tree, list[Expr]]]:
    """The optimized plan of `frame` as its Project and Filter nodes, first to last, with lowered expressions."""
    session = frame.sparkSession
    plan = session._jsparkSession.sessionState().optimizer().execute(frame._jdf.queryExecution().analyzed())
    *nodes, leaf = _path(parse(complete(plan, json.loads(plan.toJSON()))))
    columns = _columns([parse(attribute) for attribute in leaf.fields["output"]])
    steps: list[tuple[Tree, list[Expr]]] = []
    for node in reversed(nodes):
        lowering = Lowering(
            columns,
            session.conf.get("spark.sql.ansi.enabled") == "true",
            str(session.conf.get("spark.sql.session.timeZone")),
        )
        if node.name == "Filter":
            steps.append((node, [lowering(parse(node.fields["condition"]))]))
            continue
        trees = [parse(item) for item in node.fields["projectList"]]
        exprs = [lowering(tree) for tree in trees]
        steps.append((node, exprs))
        columns = {
            tree.fields["exprId"]["id"]: Column(e.type, i) for i, (tree, e) in enumerate(zip(trees, exprs, strict=True))
        }
    return steps


def _path(root: Tree) -> list[Tree]:
    """The nodes of a plan that has one leaf, last step first."""
    path = [root]
    while path[-1].children:
        (below,) = path[-1].children
        path.append(below)
    return path


def _columns(attributes: list[Tree]) -> dict[int, Column]:
    return {
        attribute.fields["exprId"]["id"]: Column(spark_type(attribute.fields["dataType"]), index)
        for index, attribute in enumerate(attributes)
    }


def headway_answer(frame: DataFrame, batch: pa.RecordBatch) -> list[tuple[Expr, pa.Array]]:
    """The root projection's expressions, and their values over `batch`, which has the columns of the plan's leaf."""
    answer: list[tuple[Expr, pa.Array]] = []
    for node, exprs in lower(frame):
        values = [evaluate(expr, batch) for expr in exprs]
        if node.name == "Filter":
            batch = batch.filter(values[0], null_selection_behavior="drop")
            continue
        answer = list(zip(exprs, values, strict=True))
        for expr, value in answer:
            assert value.type == arrow_type(expr.type), f"{expr} gives {value.type}, not {arrow_type(expr.type)}"
        batch = pa.RecordBatch.from_arrays(values, names=[f"c{i}" for i in range(len(values))])
    return answer


def table(rows: Sequence[tuple[Any, ...]] | pa.Table, schema: T.StructType) -> pa.Table:
    """`rows` in the Arrow types that Headway uses for `schema`."""
    target = pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in schema.fields])
    if isinstance(rows, pa.Table):
        return rows.cast(target)
    columns: list[tuple[Any, ...]] = list(zip(*rows, strict=True)) if rows else [()] * len(schema.fields)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, target, strict=True)]
    return pa.Table.from_arrays(arrays, schema=target)


@contextmanager
def settings_of(spark: SparkSession, ansi: bool, others: Mapping[str, str] | None = None) -> Iterator[None]:
    """ANSI mode on or off, and `others` as they say, for as long as it lasts."""
    # Without the exclusion the optimizer would compute a projection over local rows, or over none, itself.
    wanted = {"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.optimizer.excludedRules": _NO_FOLDING}
    wanted.update(others or {})
    before = {key: spark.conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def frame_of(
    spark: SparkSession,
    rows: Sequence[tuple[Any, ...]] | pa.Table,
    schema: str | T.StructType,
    given: Callable[[DataFrame], DataFrame] = lambda frame: frame,
) -> DataFrame:
    struct = T._parse_datatype_string(schema) if isinstance(schema, str) else schema
    assert isinstance(struct, T.StructType)
    frame = given(spark.createDataFrame(table(rows, struct), struct))
    frame.rows = table(rows, struct)  # type: ignore[attr-defined]
    return frame


def select_all(frame: DataFrame, exprs: Sequence[Expression]) -> DataFrame:
    columns = [F.expr(e) if isinstance(e, str) else e for e in exprs]
    return frame.select(*[column.alias(f"c{i}") for i, column in enumerate(columns)])


def _spark_answer(selected: DataFrame) -> tuple[pa.Table | None, _SparkError | None]:
    try:
        return selected.toArrow(), None
    except (PySparkException, Py4JJavaError) as error:
        return None, error


def _check_one(frame: DataFrame, expr: Expression, ulps: int, known: _SparkError | None) -> None:
    selected = select_all(frame, [expr])
    expected, error = (None, known) if known else _spark_answer(selected)
    if error is None:
        _compare([expr], selected, frame, expected, ulps)
        return
    try:
        lower(selected)
    except (PySparkException, Py4JJavaError):
        return  # Spark fails before there is a plan: it folds constants.
    with pytest.raises(RowError) as raised:
        headway_answer(selected, batch_of(frame))
    theirs = error.getCondition() if isinstance(error, PySparkException) else None
    if theirs is not None:
        prefix = f"[{theirs.split('.')[0]}"
        assert str(raised.value).startswith(prefix), f"{expr}: Spark raises {theirs}, Headway {raised.value}"


def _compare(
    exprs: Sequence[Expression], selected: DataFrame, frame: DataFrame, expected: pa.Table | None, ulps: int
) -> None:
    assert expected is not None
    batch = batch_of(frame)
    answer = headway_answer(selected, batch)
    empty = headway_answer(selected, batch.slice(0, 0))
    for i, (expr, (lowered, ours)) in enumerate(zip(exprs, answer, strict=True)):
        declared = spark_type(json.loads(selected.schema[i].dataType.json()))
        assert lowered.type == declared, f"{expr}: Spark's type is {declared}, Headway's {lowered.type}"
        theirs = _as_ours(expected.column(i).combine_chunks(), ours.type)
        compare_columns(f"{expr} as {lowered}", theirs, ours, expected_rows=frame.rows, ulps=ulps)  # type: ignore[attr-defined]
        assert len(empty[i][1]) == 0


def _as_ours(theirs: pa.Array, kind: pa.DataType) -> pa.Array:
    """Spark's answer in Headway's type; Arrow casts neither maps nor what holds them."""
    if theirs.type == kind or not pa.types.is_nested(kind):
        return theirs.cast(kind)
    if pa.types.is_struct(kind):
        fields = [_as_ours(pc.struct_field(theirs, [i]), kind.field(i).type) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=theirs.is_null())
    if pa.types.is_map(kind):
        keys, items = _as_ours(theirs.keys, kind.key_type), _as_ours(theirs.items, kind.item_type)
        return pa.MapArray.from_arrays(theirs.offsets, keys, items, mask=theirs.is_null())
    return pa.ListArray.from_arrays(
        theirs.offsets, _as_ours(theirs.values, kind.value_type), type=kind, mask=theirs.is_null()
    )


def batch_of(frame: DataFrame) -> pa.RecordBatch:
    """The rows as a slice of a longer batch, so that kernels that forget an array's offset are found out."""
    rows: pa.Table = frame.rows  # type: ignore[attr-defined]
    longer = pa.concat_tables([rows.slice(0, 1), rows, rows.slice(0, 1)])
    columns = [pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type) for column in longer]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema).slice(min(1, rows.num_rows), rows.num_rows)


def compare_columns(what: str, theirs: pa.Array, ours: pa.Array, expected_rows: pa.Table, ulps: int = 0) -> None:
    assert len(theirs) == len(ours), f"{what}: Spark gives {len(theirs)} rows, Headway {len(ours)}"
    ours.validate(full=True)
    if pa.types.is_floating(ours.type):
        same = [_same_float(a, b, ours.type, ulps) for a, b in zip(theirs.to_pylist(), ours.to_pylist(), strict=True)]
    else:
        same = [bool(a == b) for a, b in zip(_plain(theirs), _plain(ours), strict=True)]
    if not all(same):
        at = same.index(False)
        row = shown(expected_rows.slice(at, 1)) if expected_rows.num_rows == len(ours) else at
        raise AssertionError(f"{what} at {row}: Spark gives {_plain(theirs)[at]!r}, Headway {_plain(ours)[at]!r}")


def shown(row: pa.Table) -> list[Any]:
    """The values of one row, for a message."""
    return [_plain(column.combine_chunks())[0] for column in row.columns]


def _plain(values: pa.Array) -> list[Any]:
    """Python values that compare exactly; times as ints, since Python's end at year 9999."""
    if pa.types.is_timestamp(values.type):
        values = pc.cast(values, pa.int64())
    elif pa.types.is_date32(values.type):
        values = pc.cast(values, pa.int32())
    elif pa.types.is_struct(values.type):
        nulls = values.is_null().to_pylist()
        columns = [_plain(pc.struct_field(values, [i])) for i in range(values.type.num_fields)]
        return [None if null else row for null, row in zip(nulls, zip(*columns, strict=True), strict=True)]
    elif pa.types.is_list(values.type) or pa.types.is_map(values.type):
        inside, offsets = _plain(values.values), values.offsets.to_pylist()
        present = values.is_valid().to_pylist()
        return [inside[a:b] if there else None for there, a, b in zip(present, offsets, offsets[1:], strict=False)]
    return [repr(v) if isinstance(v, float) else v for v in values.to_pylist()]


def _same_float(theirs: float | None, ours: float | None, kind: pa.DataType, ulps: int) -> bool:
    if theirs is None or ours is None:
        return theirs is ours
    if math.isnan(theirs) or math.isnan(ours):
        return math.isnan(theirs) and math.isnan(ours)
    if theirs == ours:
        return math.copysign(1, theirs) == math.copysign(1, ours)
    unit = np.spacing(np.float32(theirs)) if pa.types.is_float32(kind) else math.ulp(theirs)
    return ulps > 0 and abs(theirs - ours) <= ulps * abs(float(unit))
