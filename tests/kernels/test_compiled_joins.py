"""Compiled chains that group by what a static table says of their rows do what interpreted ones do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from compiled_cases import (
    BOOL,
    INT,
    LONG,
    SCHEMA,
    SECOND,
    SOURCE,
    aggregated,
    batch,
    call,
    col,
    over,
    project,
    results,
    some_rows,
    window,
)  # fmt: skip

from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Filter, StaticJoin, StaticTable
from headway.dataflow.types import Field
from headway.kernels.api import Chain
from headway.kernels.compiled import compile_now
from headway.kernels.compiled.shape import shape_of
from headway.kernels.interpreted import InterpretedChain


def joined_groups(how: str, sparse: bool) -> Chain:
    """Windows and a column of a static table, whose values lie far apart, repeat, and may be null."""
    keys = [5, -7, 0, 7, 100, 2**40] if sparse else [5, -7, 0, 7, 100]
    values = pa.array([10**12, None, 10**12, -(10**12), 3, 3][: len(keys)], pa.int64())
    table = pa.table({"k": pa.array(keys, pa.int64()), "v": values})
    fields = (*SCHEMA, Field("k", LONG), Field("v", LONG))
    join = StaticJoin(fields, SOURCE, StaticTable("t", table), (col("l"),), (Column(LONG, 0),), how)
    present = Filter(fields, join, call("IsNotNull", BOOL, col("t")))
    keyed = project([window(slide=10 * SECOND), Column(LONG, len(SCHEMA) + 1), col("i")], present)
    aggs = [AggCall("count", (), LONG), over("sum", LONG, 2, INT)]
    return aggregated([join, present, keyed], [0, 1], aggs, event=0)


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("sparse", [False, True])
def test_groups_by_a_column_of_a_static_table(how: str, sparse: bool) -> None:
    """Several rows of the table are of one group; windows leave in between, and come again."""
    chain = joined_groups(how, sparse)
    plan = shape_of(chain).without_nulls.aggregation
    assert plan is not None
    assert plan.places == (6 if sparse else 108)
    batches = [batch(some_rows(300, seed)) for seed in range(12)]
    pieces: list[list[pa.RecordBatch | None]] = []
    for kernel in (compile_now(chain), InterpretedChain(chain)):
        made = []
        for number, data in enumerate(batches):
            kernel.process(data)
            if number % 3 == 2:
                made.append(kernel.flush(None if number % 2 else 10 * SECOND))
        pieces.append([*made, kernel.flush(None)])
    compiled, interpreted = (results(chain, flushed) for flushed in pieces)
    assert compiled == interpreted
    assert len(compiled) > 20
