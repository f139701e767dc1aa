"""The quick way to a group gives what the full one gives, and is there only where nothing else follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from compiled_cases import (
    BOOL,
    INT,
    LONG,
    ROWS,
    SCHEMA,
    SECOND,
    SOURCE,
    aggregated,
    batch,
    call,
    col,
    lit,
    over,
    project,
    results,
    window,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Expand, Filter, Relation, StaticJoin, StaticTable, Watermark
from headway.dataflow.types import Field
from headway.kernels.api import Chain
from headway.kernels.compiled import compile_now
from headway.kernels.compiled.shape import shape_of
from headway.kernels.interpreted import InterpretedChain

COUNT = AggCall("count", (), LONG)
SUM = over("sum", LONG, 2, INT)
AD, VALUE = len(SCHEMA), len(SCHEMA) + 1
TUMBLING = window(slide=10 * SECOND)


def meeting(source: Relation, how: str = "inner", far: bool = False) -> StaticJoin:
    """Rows with what a static table says of their key; `far`: the keys are found by hash."""
    keys = [*range(0, 20, 2), *([2**40] if far else [])]
    table = pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([key // 6 for key in keys], pa.int64())})
    fields = (*SCHEMA, Field("k", LONG), Field("v", LONG))
    return StaticJoin(fields, source, StaticTable("t", table), (col("l"),), (Column(LONG, 0),), how)


def watched(steps: Sequence[Relation]) -> Watermark:
    return Watermark(SCHEMA, steps[-1] if steps else SOURCE, SCHEMA.index(Field("t", col("t").type)), 0)


def joined(how: str = "inner", far: bool = False) -> Chain:
    """As in the Yahoo benchmark."""
    some = Filter(SCHEMA, SOURCE, call("EqualTo", BOOL, col("m"), lit(0)))
    timed = watched([some])
    join = meeting(timed, how, far)
    keyed = project([TUMBLING, Column(LONG, VALUE)], join)
    return aggregated([some, timed, join, keyed], [0, 1], [COUNT], event=0)


def keyed_by_value(filtered: bool = False) -> Chain:
    """Without a table: several aggregates, one of them with a filter of its own."""
    timed = watched([])
    keyed = project([TUMBLING, col("l"), col("i"), col("b")], timed)
    aggs = [COUNT, SUM, over("max", INT, 2, INT), over("avg", col("d").type, 2, INT)]
    if filtered:
        aggs.append(AggCall("count", (), LONG, Column(BOOL, 3)))
    return aggregated([timed, keyed], [0, 1], aggs, event=0)


def without_window() -> Chain:
    keyed = project([col("l"), col("l"), col("i")], SOURCE)
    return aggregated([keyed], [0], [COUNT, SUM])


def filtered_after() -> Chain:
    """A filter between the look-up and the group: the quick way must not leave it out."""
    join = meeting(SOURCE)
    few = Filter(join.schema, join, call("EqualTo", BOOL, col("m"), lit(0)))
    keyed = project([TUMBLING, Column(LONG, VALUE)], few)
    return aggregated([join, few, keyed], [0, 1], [COUNT], event=0)


def joined_by_another_key(how: str) -> Chain:
    """That a number was seen in a window says nothing of whether this row meets one of the table."""
    join = meeting(SOURCE, how)
    keyed = project([TUMBLING, col("i")], join)
    return aggregated([join, keyed], [0, 1], [COUNT], event=0)


def watched_after() -> Chain:
    """A watermark after the look-up sees only rows that met one."""
    join = meeting(SOURCE)
    timed = Watermark(join.schema, join, SCHEMA.index(Field("t", col("t").type)), 0)
    keyed = project([TUMBLING, Column(LONG, VALUE)], timed)
    return aggregated([join, timed, keyed], [0, 1], [COUNT], event=0)


def sliding() -> Chain:
    keyed = (window(0), col("l")), (window(1), col("l"))
    fields = (Field("w", window().type), Field("l", LONG))
    expanded = Expand(fields, SOURCE, keyed)
    return aggregated([expanded], [0, 1], [COUNT], event=0)


CASES: dict[str, tuple[Callable[[], Chain], bool]] = {
    "joined": (joined, True),
    "joined by hash": (lambda: joined(far=True), True),
    "left join": (lambda: joined("left"), False),
    "join by another key": (lambda: joined_by_another_key("inner"), False),
    "semi-join": (lambda: joined_by_another_key("semi"), False),
    "anti-join": (lambda: joined_by_another_key("anti"), False),
    "value": (keyed_by_value, True),
    "filtered aggregate": (lambda: keyed_by_value(True), True),
    "no window": (without_window, False),
    "filter after": (filtered_after, False),
    "watermark after": (watched_after, False),
    "sliding": (sliding, False),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_there_where_nothing_else_follows(name: str) -> None:
    make, expected = CASES[name]
    shape = shape_of(make())
    ways = ["\n".join(variant.source).count("load_i32(dense") for variant in (shape.without_nulls, shape.with_nulls)]
    assert ways == [2 if expected else 1, 1]


def rows(picks: Sequence[tuple[int, int, int, int]]) -> pa.RecordBatch:
    """Rows without a null: key, whether it counts, time in seconds, number."""
    base = ROWS[0]
    made = [
        (number % 2 == 0, *base[1:3], number, base[4], key, counts, *base[7:11], 10**15 + seconds * SECOND, *base[12:])
        for key, counts, seconds, number in picks
    ]
    return batch(made)


PICK = st.tuples(st.integers(-3, 25), st.integers(0, 1), st.integers(0, 400), st.integers(-9, 9))
PICKS = st.lists(PICK, max_size=60)


@pytest.mark.parametrize("name", CASES)
@given(batches=st.lists(PICKS, min_size=1, max_size=6), flushes=st.sets(st.integers(0, 5)))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_gives_what_the_full_way_gives(
    name: str, batches: list[list[tuple[int, int, int, int]]], flushes: set[int]
) -> None:
    """Keys that the table has and has not, windows in any order, groups that leave in between."""
    chain = CASES[name][0]()
    kernels = compile_now(chain), InterpretedChain(chain)
    pieces: list[list[pa.RecordBatch | None]] = [[], []]
    for number, picks in enumerate(batches):
        told = [kernel.process(rows(picks))[1] for kernel in kernels]
        assert told[0] == told[1]
        if number in flushes:
            for made, kernel in zip(pieces, kernels, strict=True):
                made.append(kernel.flush(None))
    for made, kernel in zip(pieces, kernels, strict=True):
        made.append(kernel.flush(None))
    compiled, interpreted = (results(chain, made) for made in pieces)
    assert compiled == interpreted
