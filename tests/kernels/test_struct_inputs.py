"""Compiled chains read the fields of structs that come as columns, as a window does behind an aggregation."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from compiled_cases import BOOL, LONG, TIME, call, project, rows_of
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column
from headway.dataflow.graph import AggCall, Aggregate, Filter, Source
from headway.dataflow.types import Field, arrow_schema, arrow_type
from headway.kernels.api import Chain
from headway.kernels.compiled import compile_now, why_not
from headway.kernels.interpreted import InterpretedChain

WINDOW = T.StructType([T.StructField("start", TIME), T.StructField("end", TIME)])
NAMED = T.StructType([T.StructField("start", TIME), T.StructField("name", T.StringType())])
SCHEMA = (Field("k", LONG), Field("w", WINDOW), Field("v", LONG))
SOURCE = Source(SCHEMA, "rate", ())


def end() -> Call:
    return call("GetStructField", TIME, Column(WINDOW, 1), ordinal=1)


def rows(count: int, nulls: bool) -> pa.RecordBatch:
    """Of windows some are null, of others one bound."""
    pick = random.Random(count)
    starts = [pick.randrange(5) for _ in range(count)]
    windows = [{"start": s, "end": None if nulls and pick.random() < 0.2 else s + 10} for s in starts]
    lost = [nulls and pick.random() < 0.2 for _ in range(count)]
    columns = [
        pa.array([pick.randrange(3) for _ in range(count)]),
        pa.array([None if gone else w for gone, w in zip(lost, windows, strict=True)], arrow_type(WINDOW)),
        pa.array([None if nulls and pick.random() < 0.2 else pick.randrange(100) for _ in range(count)], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(SCHEMA))


@pytest.mark.parametrize("nulls", [False, True])
def test_a_field_is_read_where_it_is(nulls: bool) -> None:
    """Rows that do not begin where their memory does, too."""
    present = Filter(SCHEMA, SOURCE, call("IsNotNull", BOOL, Column(WINDOW, 1)))
    chain = Chain(SOURCE, (present, project([end(), Column(WINDOW, 1), Column(LONG, 2)], present)))
    assert why_not(chain) is None
    for batch in (rows(3000, nulls), rows(3000, nulls).slice(13, 2500)):
        out, _ = compile_now(chain).process(batch)
        expected, _ = InterpretedChain(chain).process(batch)
        assert rows_of(out) == rows_of(expected)


@pytest.mark.parametrize("nulls", [False, True])
def test_groups_by_a_field(nulls: bool) -> None:
    projected = project([end(), Column(LONG, 0), Column(LONG, 2)])
    schema = (*projected.schema[:2], Field("sum", LONG))
    total = AggCall("sum", (Column(LONG, 2),), LONG)
    keys = (Column(TIME, 0), Column(LONG, 1))
    chain = Chain(SOURCE, (projected,), Aggregate(schema, projected, keys, (total,)))
    kernels = compile_now(chain), InterpretedChain(chain)
    for kernel in kernels:
        kernel.process(rows(3000, nulls))
    compiled, interpreted = (kernel.flush(None) for kernel in kernels)
    assert sorted(rows_of(compiled)) == sorted(rows_of(interpreted))


def test_a_struct_with_text_stays_as_it_is() -> None:
    source = Source((Field("w", NAMED),), "rate", ())
    begin = call("GetStructField", TIME, Column(NAMED, 0), ordinal=0)
    assert why_not(Chain(source, (project([begin], source),))) is not None
