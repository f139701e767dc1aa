"""Chains over one kind of rows, and what Spark says about them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal
from headway.dataflow.graph import AggCall, Aggregate, Filter, Project, Relation, Source
from headway.dataflow.types import Field, arrow_schema
from headway.kernels.api import Chain
from headway.kernels.merge import Merge

BOOL, BYTE, SHORT, INT, LONG = T.BooleanType(), T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType()
FLOAT, DOUBLE, DATE, TIME, NTZ = T.FloatType(), T.DoubleType(), T.DateType(), T.TimestampType(), T.TimestampNTZType()
STRING = T.StringType()

FIELDS = (
    ("b", BOOL),
    ("y", BYTE),
    ("s", SHORT),
    ("i", INT),
    ("j", INT),
    ("l", LONG),
    ("m", LONG),
    ("f", FLOAT),
    ("d", DOUBLE),
    ("e", DOUBLE),
    ("day", DATE),
    ("t", TIME),
    ("n", NTZ),
    ("name", STRING),
)
SCHEMA = tuple(Field(name, kind) for name, kind in FIELDS)
SOURCE = Source(SCHEMA, "rate", ())
_INDEX = {name: i for i, (name, _) in enumerate(FIELDS)}
_TYPES = dict(FIELDS)
NAN, INF = math.nan, math.inf
WINDOW = T.StructType([T.StructField("start", TIME), T.StructField("end", TIME)])
SECOND = 1_000_000
_BIG = 9_223_372_036_854_775_807

# One row each of ordinary values, extremes, zeros, odd floats, times before 1970, nulls.
ROWS: list[tuple[Any, ...]] = [
    (True, 1, 2, 3, 4, 5, 6, 1.5, 2.5, -3.5, 19_000, 1_700_000_000_123_456, 1_600_000_000_000_000, "a"),
    (False, -128, -32768, -(2**31), -1, -_BIG - 1, -1, -0.0, 0.0, -0.0, -1, -1, -86_400_000_001, "b"),
    (True, 127, 32767, 2**31 - 1, 1, _BIG, 1, NAN, NAN, NAN, 0, 0, 0, "c"),
    (False, 0, 0, 0, 0, 0, 0, INF, -INF, INF, 11_016, 951_782_400_000_000, 951_868_799_999_999, "d"),
    (True, -7, -7, -7, 3, -7, 3, 3.4e38, 1e300, 1e19, -719_162, -62_135_596_800_000_000, 1, "e"),
    (False, 7, 7, 7, -3, 7, -3, -7.5, -7.5, 2.0, 20_000, 1_234_567_890, -1_234_567_890, "f"),
    (None,) * 13 + ("g",),
    (True, None, 5, None, 4, 100, None, None, 9.0, None, None, 60_000_000, None, None),
    (None, 5, None, 33, 65, None, 65, 0.1, None, 1.0, 365, None, 5, "h"),
]


def col(name: str) -> Column:
    return Column(_TYPES[name], _INDEX[name])


def lit(value: Any, kind: T.DataType = LONG) -> Literal:
    return Literal(kind, value)


def call(function: str, kind: T.DataType, *args: Expr, **options: Any) -> Call:
    return Call(kind, function, args, tuple(options.items()))


def project(exprs: Sequence[Expr], source: Any = SOURCE) -> Project:
    return Project(tuple(Field(f"c{i}", expr.type) for i, expr in enumerate(exprs)), source, tuple(exprs))


def projection(exprs: Sequence[Expr]) -> Chain:
    """A chain that computes `exprs`."""
    return Chain(SOURCE, (project(exprs),))


def filtering(condition: Expr, exprs: Sequence[Expr]) -> Chain:
    kept = Filter(SCHEMA, SOURCE, condition)
    return Chain(SOURCE, (kept, project(exprs, kept)))


def batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """`rows` as a source would hand them over."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(FIELDS)
    schema = arrow_schema(SCHEMA)
    arrays = [pa.array(list(values), field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def values(array: pa.Array) -> list[Any]:
    """The rows of a column so that equal ones are equal: NaN is itself, -0.0 is not 0.0, times are numbers (Python's
    datetime has not all of Spark's)."""
    if pa.types.is_struct(array.type):
        fields = zip(*(values(array.field(i)) for i in range(array.type.num_fields)), strict=True)
        return [field if valid else None for field, valid in zip(fields, array.is_valid().to_pylist(), strict=True)]
    if pa.types.is_timestamp(array.type):
        array = array.view(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    return [repr(v) if isinstance(v, float) else v for v in array.to_pylist()]


def rows_of(out: pa.RecordBatch | None) -> list[str]:
    """The rows of a batch in an order that depends on them alone."""
    return sorted(map(repr, zip(*map(values, out.columns), strict=True))) if out is not None else []


def window(index: int = 0, duration: int = 10 * SECOND, slide: int = 5 * SECOND) -> Expr:
    return call("TimeWindow", WINDOW, col("t"), duration=duration, slide=slide, offset=0, index=index)


def aggregated(
    steps: Sequence[Relation], keys: Sequence[int], aggs: Sequence[AggCall], event: int | None = None
) -> Chain:
    last = steps[-1]
    columns = tuple(Column(last.schema[i].type, i) for i in keys)
    schema = (*(last.schema[i] for i in keys), *(Field(f"a{i}", agg.type) for i, agg in enumerate(aggs)))
    return Chain(SOURCE, tuple(steps), Aggregate(schema, last, columns, tuple(aggs), event))


def over(function: str, kind: T.DataType, index: int, argument: T.DataType, filter: Expr | None = None) -> AggCall:
    return AggCall(function, (Column(argument, index),), kind, filter)


def results(chain: Chain, pieces: Sequence[pa.RecordBatch | pa.Table | None]) -> list[str]:
    """What merging the partials gives in the end."""
    assert chain.aggregate is not None
    merge = Merge(chain.aggregate)
    for piece in pieces:
        for part in piece.to_batches() if isinstance(piece, pa.Table) else [piece]:
            if part is not None and part.num_rows:
                merge.merge(part, None)
    return rows_of(merge.emit("complete", None))


def some_rows(count: int, seed: int) -> list[tuple[Any, ...]]:
    pick = random.Random(seed)
    columns = list(zip(*ROWS, strict=True))
    rows = [tuple(pick.choice(values) for values in columns) for _ in range(count)]
    times = [pick.choice([None, pick.randrange(-60 * SECOND, 60 * SECOND)]) for _ in rows]
    return [
        (*row[:7], pick.choice(ADDABLE), *row[8:11], time, *row[12:]) for row, time in zip(rows, times, strict=True)
    ]


# Floats whose sum does not depend on the order in which they are added.
ADDABLE = (1.5, -7.5, -0.0, 0.0, math.nan, math.inf, -math.inf, None)
