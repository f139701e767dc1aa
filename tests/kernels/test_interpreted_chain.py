"""Chains of steps, and what a chain tells about event time and state."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from aggregation import aggregate_of, call, source_of
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Literal
from headway.dataflow.graph import Expand, Filter, Project, Union, Watermark
from headway.dataflow.types import Field, arrow_schema
from headway.errors import UnsupportedPlan
from headway.kernels.api import Chain
from headway.kernels.interpreted import InterpretedChain

L, B = T.LongType(), T.BooleanType()
SOURCE = source_of([("t", T.TimestampType()), ("keep", B), ("v", L)])
T_, KEEP, V = Column(T.TimestampType(), 0), Column(B, 1), Column(L, 2)
KEPT = Filter(SOURCE.schema, SOURCE, KEEP)
BATCH = pa.RecordBatch.from_arrays(
    [pa.array([5, None, 9, 7], pa.timestamp("us", "UTC")), pa.array([True, True, False, None]), pa.array([1, 2, 3, 4])],
    schema=arrow_schema(SOURCE.schema),
)


def test_steps_run_one_after_the_other() -> None:
    timed = Watermark(SOURCE.schema, SOURCE, 0, 10)
    kept = Filter(SOURCE.schema, timed, KEEP)
    same_name = (Field("x", L), Field("x", T.StringType()))
    project = Project(same_name, kept, (V, Literal(T.StringType(), "a")))
    expand = Expand(
        same_name, project, ((Column(L, 0), Column(T.StringType(), 1)), (Column(L, 0), Literal(T.StringType(), None)))
    )
    kernel = InterpretedChain(Chain(SOURCE, (timed, kept, project, expand)))
    rows, highest = kernel.process(BATCH)
    assert highest == 9
    assert rows is not None
    assert rows.schema == arrow_schema(same_name)
    pairs = zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True)
    assert sorted(pairs, key=str) == [(1, "a"), (1, None), (2, "a"), (2, None)]
    assert kernel.snapshot() is None
    assert kernel.flush(None) is None
    assert kernel.groups == 0


def test_the_watermark_step_sees_what_reaches_it() -> None:
    timed = Watermark(SOURCE.schema, KEPT, 0, 10)
    kernel = InterpretedChain(Chain(SOURCE, (KEPT, timed)))
    assert kernel.process(BATCH)[1] == 5
    assert kernel.process(BATCH.slice(1, 1))[1] is None
    assert kernel.process(BATCH.slice(2, 1)) == (None, None)


@pytest.mark.parametrize("kind", [T.TimestampType(), T.TimestampNTZType()])
def test_event_time_far_from_now(kind: T.DataType) -> None:
    source = source_of([("t", kind)])
    kernel = InterpretedChain(Chain(source, (Watermark(source.schema, source, 0, 0),)))
    for micros in (-62_135_596_800_000_000, 253_402_300_800_000_000, 9_223_372_036_854_775_807):
        batch = pa.RecordBatch.from_arrays([pa.array([micros], arrow_schema(source.schema).field(0).type)], ["t"])
        assert kernel.process(batch)[1] == micros


def test_an_empty_result_is_none() -> None:
    assert InterpretedChain(Chain(SOURCE, (KEPT,))).process(BATCH.slice(2))[0] is None
    assert InterpretedChain(Chain(SOURCE, ())).process(BATCH.slice(0, 0)) == (None, None)
    assert InterpretedChain(Chain(SOURCE, ())).process(BATCH)[0] is BATCH


def test_rows_without_columns_are_counted() -> None:
    nothing = Project((), KEPT, ())
    aggregate = aggregate_of(nothing, [], [call("count", None)])
    kernel = InterpretedChain(Chain(SOURCE, (KEPT, nothing), aggregate))
    assert kernel.process(BATCH) == (None, None)
    assert kernel.process(BATCH) == (None, None)
    assert kernel.groups == 1
    partials = kernel.flush(None)
    assert partials is not None
    assert partials.to_pylist() == [{"a0_0": 4}]
    assert kernel.flush(None) is None


def test_flush_gives_ended_groups_and_keeps_the_others() -> None:
    aggregate = aggregate_of(SOURCE, [0], [call("sum", V)], event_key=0)
    kernel = InterpretedChain(Chain(SOURCE, (), aggregate))
    kernel.process(BATCH)
    kernel.process(BATCH)
    assert kernel.flush(4) is None
    ended = kernel.flush(7)
    assert ended is not None
    assert dict(zip(ended.column(0).cast(pa.int64()).to_pylist(), ended.column(1).to_pylist(), strict=True)) == {
        5: 2,
        7: 8,
    }
    state = kernel.snapshot()
    assert state is not None
    assert sorted(state.column(1).to_pylist()) == [4, 6]
    assert kernel.groups == 2


def test_a_chain_takes_steps_only() -> None:
    union = Union(SOURCE.schema, (SOURCE, SOURCE))
    with pytest.raises(UnsupportedPlan, match="Union"):
        InterpretedChain(Chain(SOURCE, (union,)))


_COUNT_THREADS = """
import os
from test_interpreted_chain import BATCH, SOURCE, T_, V, Chain, InterpretedChain, aggregate_of, call
kernel = InterpretedChain(Chain(SOURCE, (), aggregate_of(SOURCE, [1], [call("sum", V), call("max", T_)])))
before = len(os.listdir("/proc/self/task"))
for _ in range(20):
    kernel.process(BATCH)
assert kernel.flush(None).num_rows == 3
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_a_kernel_starts_no_threads() -> None:
    """In a process of its own: in this one a pool may be there already."""
    run = subprocess.run(
        [sys.executable, "-c", _COUNT_THREADS], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.returncode) == ("0", 0), run.stderr


def test_it_tells_whether_many_groups_are_held_without_merging_them() -> None:
    kernel = InterpretedChain(Chain(SOURCE, (), aggregate_of(SOURCE, [2], [call("count", None)])))
    for _ in range(3):
        kernel.process(BATCH)
    assert kernel._groups is not None
    assert not kernel.holds_more_than(12)
    assert kernel._groups.rows == 12
    assert not kernel.holds_more_than(4)  # twelve rows, of four groups
    assert kernel._groups.rows == 4
    assert kernel.holds_more_than(3)
