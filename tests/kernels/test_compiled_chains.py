"""Compiled chains do what interpreted ones do: steps, groups, windows, joins, changing over in the middle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from compiled_cases import (
    ADDABLE,
    BOOL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    ROWS,
    SCHEMA,
    SECOND,
    SOURCE,
    STRING,
    WINDOW,
    aggregated,
    batch,
    call,
    col,
    filtering,
    lit,
    over,
    project,
    projection,
    results,
    rows_of,
    some_rows,
    window,
)  # fmt: skip
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import types as T

from headway.dataflow.expr import Column, Expr
from headway.dataflow.graph import (
    AggCall,
    Expand,
    Filter,
    Relation,
    StaticJoin,
    StaticTable,
    Watermark,
)
from headway.dataflow.types import Field
from headway.kernels.api import Chain, ChainKernel
from headway.kernels.compiled import compile_now, layout, why_not
from headway.kernels.compiled.shape import shape_of
from headway.kernels.expressions.registry import RowError
from headway.kernels.interpreted import InterpretedChain


def windowed() -> Chain:
    """Sliding windows and a nullable key, every aggregate, one of them with a filter."""
    present = Filter(SCHEMA, SOURCE, call("IsNotNull", BOOL, col("t")))
    timed = Watermark(SCHEMA, present, 11, SECOND)
    rest = [col(n) for n in ("i", "l", "d", "f", "day", "b")]
    fields = (Field("w", WINDOW), *(Field(n, e.type) for n, e in zip("ildfxb", rest, strict=True)))
    expanded = Expand(fields, timed, tuple((window(index), *rest) for index in (0, 1)))
    aggs = [
        AggCall("count", (), LONG),
        over("count", LONG, 2, LONG),
        over("sum", LONG, 1, INT),
        over("sum", DOUBLE, 4, FLOAT),
        over("avg", DOUBLE, 1, INT),
        over("min", DOUBLE, 3, DOUBLE),
        over("max", DOUBLE, 3, DOUBLE),
        over("min", DATE, 5, DATE),
        over("max", INT, 1, INT, Column(BOOL, 6)),
        AggCall("count", (), LONG, Column(BOOL, 6)),
    ]
    return aggregated([present, timed, expanded], [0, 1], aggs, event=0)


def joined(how: str, keys: Sequence[int | None]) -> Chain:
    """The stream joined with a table by `l`; the table's second column may be null."""
    table = pa.table(
        {"k": pa.array(keys, pa.int64()), "v": pa.array([None if i == 1 else i for i in range(len(keys))], pa.int64())}
    )
    fields = (*SCHEMA, Field("k", LONG), Field("v", LONG))
    join = StaticJoin(fields, SOURCE, StaticTable("t", table), (col("l"),), (Column(LONG, 0),), how)
    names = [col("name"), col("l"), Column(LONG, len(SCHEMA)), Column(LONG, len(SCHEMA) + 1)]
    return Chain(SOURCE, (join, project(names, join)))


def feed(kernel: ChainKernel, batches: Sequence[pa.RecordBatch]) -> list[int | None]:
    return [kernel.process(data)[1] for data in batches]


CASES = [
    projection([col("name"), col("l"), call("Add", INT, col("i"), lit(1, INT), ansi=False)]),
    filtering(call("GreaterThan", BOOL, col("d"), lit(0.0, DOUBLE)), [col("name"), col("b"), col("day"), window()]),
    filtering(call("IsNotNull", BOOL, col("name")), [col("name"), call("IsNull", BOOL, col("l"))]),
    filtering(
        call("EqualTo", BOOL, call("Remainder", LONG, col("l"), lit(7), ansi=True), lit(0)),
        [
            call("IntegralDivide", LONG, col("l"), lit(-1), ansi=False),
            call("Divide", DOUBLE, col("d"), lit(4.0, DOUBLE), ansi=True),
        ],
    ),
    joined("inner", [5, 7, 100, None, -7]),
    joined("left", [5, 7, 100, None, -7]),
    joined("left", [5, 7 * 10**12, 100, -7, 3]),
    joined("inner", []),
    joined("semi", [5, 7, 100, None, -7]),
    joined("anti", [5, 7 * 10**12, 100, -7, 3]),
    joined("exists", [5, 7, 100, None, -7]),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_rows_out(number: int) -> None:
    chain = CASES[number]
    compiled, interpreted = compile_now(chain), InterpretedChain(chain)
    for rows in (ROWS, [ROWS[0]], [ROWS[6]], [], some_rows(5000, number)):
        data = batch(rows)
        for piece in (data, data.slice(1), data.slice(3, 2)):
            ours, theirs = compiled.process(piece), interpreted.process(piece)
            assert rows_of(ours[0]) == rows_of(theirs[0])
            assert ours[1] == theirs[1]
            if ours[0] is not None:
                ours[0].validate(full=True)


def test_windows_and_every_aggregate() -> None:
    chain = windowed()
    compiled, interpreted = compile_now(chain), InterpretedChain(chain)
    batches = [batch(some_rows(700, seed)) for seed in range(4)] + [batch(ROWS)]
    assert feed(compiled, batches) == feed(interpreted, batches)
    assert compiled.groups == interpreted.groups
    ours, theirs = [], []
    for watermark in (-50 * SECOND, -50 * SECOND, 5 * SECOND, None):
        ours.append(compiled.flush(watermark))
        theirs.append(interpreted.flush(watermark))
        assert (ours[-1] is None) == (theirs[-1] is None)
        assert results(chain, ours) == results(chain, theirs)
        feed(compiled, batches[:1])
        feed(interpreted, batches[:1])
        assert compiled.groups == interpreted.groups


_ROWS = st.tuples(
    st.booleans() | st.none(),
    st.integers(-128, 127) | st.none(),
    st.integers(-(2**15), 2**15 - 1) | st.none(),
    st.integers(-(2**31), 2**31 - 1) | st.none() | st.sampled_from([1, 2, 3]),
    st.integers(-5, 5),
    st.integers(-(2**63), 2**63 - 1) | st.none(),
    st.integers(-5, 5) | st.none(),
    st.sampled_from(ADDABLE),
    st.floats() | st.none(),
    st.floats(),
    st.integers(-100_000, 100_000) | st.none(),
    st.integers(-(2**50), 2**50) | st.integers(0, 30 * SECOND) | st.none(),
    st.integers(-(2**50), 2**50),
    st.text(max_size=3),
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_ROWS, max_size=30), st.integers(0, 30))
def test_any_rows_and_a_change_over_between_them(rows: list[tuple[Any, ...]], at: int) -> None:
    """Interpreted first, compiled from row `at` on: nothing is lost, nothing counted twice."""
    chain = windowed()
    whole, before, after = InterpretedChain(chain), InterpretedChain(chain), compile_now(chain)
    times = [whole.process(batch(rows))[1]]
    seen = [before.process(batch(rows[:at]))[1]]
    state = before.snapshot()
    assert state is not None
    after.restore(state)
    seen.append(after.process(batch(rows[at:]))[1])
    assert max((t for t in seen if t is not None), default=None) == times[0]
    expected = results(chain, [whole.flush(None)])
    assert results(chain, [after.snapshot()]) == expected
    early = after.flush(10 * SECOND)
    assert results(chain, [early, after.flush(None)]) == expected
    assert after.groups == 0


@pytest.mark.parametrize("key", ["b", "y", "s", "i", "l", "f", "d", "day", "t", "n"])
def test_groups_of_both_tiers_go_to_the_same_owners(key: str) -> None:
    """Nulls, NaN and negative numbers too; some groups have come from another kernel."""
    steps = [Watermark(SCHEMA, SOURCE, 11, SECOND)]
    steps.append(project([window(0), col(key), col("t")], steps[0]))
    chain = aggregated(steps, [0, 1], [AggCall("count", (), LONG)], event=0)
    compiled, interpreted = compile_now(chain), InterpretedChain(chain)
    feed(interpreted, [batch(ROWS)])
    state = interpreted.snapshot()
    assert state is not None
    compiled.restore(state)
    for kernel in (compiled, interpreted):
        feed(kernel, [batch(some_rows(500, 1))])
    for watermark in (5 * SECOND, None):
        ours, theirs = compiled.flush_to(watermark, 5), interpreted.flush_to(watermark, 5)
        assert ours is not None
        assert theirs is not None
        assert [results(chain, [part]) for part in ours] == [results(chain, [part]) for part in theirs]


def test_more_groups_than_fit_at_first() -> None:
    """The table grows in the middle of batches; keys far apart are found by hash, near ones by position."""
    chain = aggregated([project([col("l"), col("i")])], [0], [AggCall("count", (), LONG), over("sum", LONG, 1, INT)])
    kernel = compile_now(chain)
    pick = random.Random(3)
    spread = [pick.choice([k, k * 10**12]) for k in (pick.randrange(4000) for _ in range(30_000))]
    rows = [(None, None, None, 1, None, key, *(None,) * 8) for key in spread]
    for at in range(0, len(rows), 10_000):
        kernel.process(batch(rows[at : at + 10_000]))
    counted: dict[int, int] = {}
    for key in spread:
        counted[key] = counted.get(key, 0) + 1
    assert kernel.groups == len(counted)
    out = kernel.flush(None)
    assert out is not None
    assert {row["k0"]: (row["a0_0"], row["a1_0"]) for row in out.to_pylist()} == {k: (n, n) for k, n in counted.items()}


@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("present", [False, True])
def test_more_groups_than_the_cache_holds(nulls: bool, filtered: bool, present: bool) -> None:
    """Hashes are computed ahead, part by part; the table still grows in the middle of them. A filter that asks for
    nulls alone, as Catalyst adds them, is no reason not to."""
    pick = random.Random(4)
    kept = Filter(SCHEMA, SOURCE, call("LessThan", BOOL, col("i"), lit(9, INT)))
    columns = [col("l"), col("m"), col("i")]
    steps: list[Relation] = [kept, project(columns, kept)] if filtered else [project(columns)]
    if present:
        steps.append(Filter(steps[-1].schema, steps[-1], call("IsNotNull", BOOL, Column(LONG, 0))))
    chain = aggregated(steps, [0, 1], [AggCall("count", (), LONG), over("sum", LONG, 2, INT)])
    assert "prefetch" in shape_of(chain).source
    kernel = compile_now(chain)
    counted: dict[tuple[int | None, int], int] = {}
    for _ in range(6):
        keys = [(pick.randrange(200), pick.randrange(150)) for _ in range(10_000)]
        rows = [(None if nulls and not key[0] else key[0], key[1], pick.randrange(10)) for key in keys]
        kernel.process(batch([(None, None, None, i, None, one, other, *(None,) * 7) for one, other, i in rows]))
        for one, other, i in rows:
            if not (filtered and i == 9) and not (present and one is None):
                counted[one, other] = counted.get((one, other), 0) + i
    assert kernel.groups == len(counted) > 2 * layout.FAR
    out = kernel.flush(None)
    assert out is not None
    assert {(row["k0"], row["k1"]): row["a1_0"] for row in out.to_pylist()} == counted


def test_one_group_without_keys() -> None:
    chain = aggregated(
        [project([col("d"), col("name")])], [], [over("max", DOUBLE, 0, DOUBLE), over("count", LONG, 1, STRING)]
    )
    compiled, interpreted = compile_now(chain), InterpretedChain(chain)
    assert compiled.flush(None) is None
    feed(compiled, [batch(ROWS)])
    feed(interpreted, [batch(ROWS)])
    assert rows_of(compiled.flush(None)) == rows_of(interpreted.flush(None))


def test_float_keys_have_one_zero_and_one_nan() -> None:
    chain = aggregated([project([col("e"), col("f")])], [0, 1], [AggCall("count", (), LONG)])
    compiled, interpreted = compile_now(chain), InterpretedChain(chain)
    zeros = [
        (*ROWS[0][:7], f, 0.0, e, *ROWS[0][10:]) for e in (0.0, -0.0, float("nan"), None) for f in (0.0, -0.0, None)
    ]
    feed(compiled, [batch(zeros)])
    feed(interpreted, [batch(zeros)])
    assert compiled.groups == interpreted.groups == 6
    assert rows_of(compiled.flush(None)) == rows_of(interpreted.flush(None))


def test_a_sum_that_overflows_between_batches_fails() -> None:
    chain = aggregated([project([col("l"), col("i")])], [1], [over("sum", LONG, 0, LONG)])
    kernel = compile_now(chain)
    most = (*ROWS[0][:5], 2**63 - 1, *ROWS[0][6:])
    kernel.process(batch([most]))
    with pytest.raises(RowError, match="ARITHMETIC_OVERFLOW"):
        kernel.process(batch([most]))


def test_conditions_before_one_that_may_fail_decide_who_reaches_it() -> None:
    """Spark evaluates conditions from left to right, and goes on after a null one."""
    divided = call("GreaterThan", BOOL, call("Divide", DOUBLE, lit(1.0, DOUBLE), col("e"), ansi=True), lit(0.0, DOUBLE))
    positive = call("And", BOOL, call("IsNotNull", BOOL, col("d")), call("GreaterThan", BOOL, col("i"), lit(0, INT)))
    chain = filtering(call("And", BOOL, positive, divided), [col("name"), col("d")])
    zero_divisor = (*ROWS[0][:9], 0.0, *ROWS[0][10:])
    unreached = (*zero_divisor[:3], -3, *zero_divisor[4:])
    unknown = (*zero_divisor[:3], None, *zero_divisor[4:])
    others = [row for row in some_rows(3000, 5) if row[9]]
    whole = [row for row in others if None not in row]
    for kernel in (compile_now(chain), InterpretedChain(chain)):
        for rows in ([unreached, ROWS[0]], [unreached, *others], [*whole, unreached]):
            data = batch(rows)
            assert rows_of(kernel.process(data)[0]) == rows_of(InterpretedChain(chain).process(data)[0])
        for failing in (zero_divisor, unknown):
            with pytest.raises(RowError, match="DIVIDE_BY_ZERO"):
                kernel.process(batch([ROWS[0], unreached, failing]))


@pytest.mark.parametrize(
    ("expr", "reason"),
    [
        (call("Upper", STRING, col("name")), "expression Upper works on strings"),
        (call("Cast", DATE, col("t"), time_zone="Asia/Tokyo", ansi=True), "Asia/Tokyo"),
        (call("EqualTo", BOOL, col("name"), lit("x", STRING)), "string"),
        (call("Add", T.DecimalType(10, 2), lit(None, T.DecimalType(9, 2)), lit(None, T.DecimalType(9, 2))), "decimal"),
    ],
)
def test_reasons(expr: Expr, reason: str) -> None:
    assert reason in str(why_not(projection([expr])))


def test_a_join_by_a_key_that_repeats_is_not_compiled() -> None:
    assert "not unique" in str(why_not(joined("inner", [1, 1])))
    assert why_not(joined("inner", [1, 2])) is None


def test_constants_are_not_part_of_the_shape() -> None:
    from headway.kernels.compiled.shape import shape_of

    chains = [
        filtering(call("GreaterThan", BOOL, col("d"), lit(x, DOUBLE)), [window(0, n, n)])
        for x, n in ((1.0, 5), (2.0, 7))
    ]
    assert len({shape_of(chain).key for chain in chains}) == 1
    assert shape_of(joined("left", [1, 2])).key == shape_of(joined("left", [10**15, 2, 3])).key
    assert shape_of(CASES[0]).key != shape_of(CASES[1]).key
