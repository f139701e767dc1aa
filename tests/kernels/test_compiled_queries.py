"""Whole queries, as the nodes cut them, by compiled kernels alone: their rows are those that Spark computes.

1. Queries are lowered and cut as in production; every chain of theirs must be one that compiles.
2. Rows come in uneven batches, with nulls and without; groups are handed over in the middle, and merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from compiled_cases import values
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from generated_rows import generated
from headway.dataflow.stages import ChainStage, MergeStage, Stage, cut
from headway.dataflow.types import arrow_type
from headway.frontend import lower
from headway.kernels.api import Chain
from headway.kernels.compiled import compile_now, why_not
from headway.kernels.expressions.registry import RowError
from headway.kernels.merge import Merge

SCHEMA = """x int, b boolean, y tinyint, s smallint, i int, j int, l bigint, f float, d double, g double, day date,
            t timestamp, n timestamp_ntz, name string"""
NAN, INF = float("nan"), float("inf")
SECOND = 1_000_000
Make = Callable[[DataFrame, DataFrame], DataFrame]

# Of numbers that are summed, so that neither overflow nor the order of additions decides.
_SMALL = st.none() | st.integers(-(2**31), 2**31 - 1) | st.sampled_from([1, 2, 3])
_ADDABLE = st.sampled_from([1.5, -7.5, 0.0, NAN, INF, -INF, None, 1024.25])
_ROW = st.tuples(
    st.integers(0, 3),
    st.none() | st.booleans(),
    st.none() | st.integers(-128, 127) | st.integers(0, 2),
    st.none() | st.integers(-(2**15), 2**15 - 1) | st.integers(0, 2),
    _SMALL,
    st.integers(-3, 3),
    st.none() | st.integers(-(2**55), 2**55) | st.integers(-3, 3),
    st.none() | st.sampled_from([0.0, -0.0, NAN, INF, -INF, 1.5, 3.4028234663852886e38]),
    st.none() | st.sampled_from([0.0, -0.0, NAN, INF, -INF, 1.5, 5e-324]),
    _ADDABLE,
    st.none() | st.integers(-(2**31), 2**31 - 1) | st.integers(19_000, 19_003),
    st.none() | st.integers(-(2**50), 2**50) | st.integers(-20 * SECOND, 20 * SECOND),
    st.none() | st.integers(-(2**62), 2**62) | st.integers(0, 3),
    st.none() | st.text(max_size=2),
)


def _edges() -> list[tuple[Any, ...]]:
    """The ends of every type, times in the hour that New York's clocks have twice, and nothing at all."""
    low = (0, False, -128, -(2**15), -(2**31), -1, -(2**55), -0.0, -0.0, -7.5, -(2**31), -(2**62), -(2**62), "")
    high = (0, True, 127, 2**15 - 1, 2**31 - 1, 1, 2**55, INF, INF, INF, 2**31 - 1, 2**62, 2**62, "z")
    autumn = [1_730_611_800 * SECOND + n * 1_799_999_999 for n in range(5)]
    return [low, high, (0, *(None,) * 13), *((*low[:11], at, at, None) for at in autumn), *((high,) * 3)]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Some batches of these have no nulls at all."""
    made = _edges() + generated(_ROW, examples=60)
    full = [row for row in made if None not in row]
    schema = pa.schema([pa.field(f.name, arrow_type(f.dataType)) for f in _struct().fields])
    columns = zip(*made, *full * 4, strict=True)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


def _struct() -> T.StructType:
    parsed = T._parse_datatype_string(SCHEMA)
    assert isinstance(parsed, T.StructType)
    return parsed


@pytest.fixture
def names(spark: SparkSession) -> DataFrame:
    """Keys near each other, and values of every type, some null."""
    columns = "id int, far bigint, when date, at timestamp, vb boolean, vy tinyint, vd double, vf float, vt timestamp"
    table = [
        (1, -(2**55), 19_000, 0, True, 1, NAN, -0.0, 5),
        (2, 2**55, 19_001, 1, False, None, -0.0, NAN, None),
        (3, 1, 2**31 - 1, 2**62, None, -128, None, None, -(2**62)),
        (-(2**31), 2, -(2**31), -(2**62), True, 127, INF, 1.5, 0),
        (None, None, None, None, True, 0, 0.0, 0.0, 0),
    ]
    struct = T._parse_datatype_string(columns)
    assert isinstance(struct, T.StructType)
    arrays = [pa.array(c, arrow_type(f.dataType)) for c, f in zip(zip(*table, strict=True), struct.fields, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, names=struct.fieldNames()), struct)


_EVERY = [
    *(f"count({name})" for name in ("*", "name", "i, l")),
    *(f"sum({name})" for name in ("y", "s", "i", "l", "g", "f * 0")),
    *(f"avg({name})" for name in ("y", "i", "l div 4096", "g")),
    *(f"{f}({name})" for f in ("min", "max") for name in ("b", "y", "s", "i", "l", "g", "abs(f)", "day", "t", "n")),
]
_FILTERED = [
    "count(*) filter (where b)",
    "count(l) filter (where i > 0)",
    "sum(i) filter (where b)",
    "sum(i % j) filter (where j <> 0)",
    "avg(g) filter (where not b)",
    "min(day) filter (where b and i > 0)",
    "max(g) filter (where g < 5)",
]
_FEW = ["count(*)", "sum(i)", "min(t)", "max(g)"]


def _grouped(*keys: str, aggs: list[str] = _FEW) -> Make:
    return lambda df, _: df.groupBy(*map(F.expr, keys)).agg(*(F.expr(a).alias(f"r{n}") for n, a in enumerate(aggs)))


GROUPS: dict[str, Make] = {
    "none": _grouped(aggs=_FEW + _FILTERED),
    "int": _grouped("j", aggs=_FEW + _FILTERED),
    # Most of these groups have one row, so that what a state begins with would show.
    "long": _grouped("l", aggs=_EVERY),
    "boolean": _grouped("b", aggs=["count(*)", "sum(i)"]),
    "date": _grouped("day", aggs=["count(*)", "max(g)"]),
    "timestamp": _grouped("t", aggs=["count(*)", "avg(i)"]),
    "several": _grouped("x", "y", "n", aggs=["count(*)", "sum(s)"]),
    "float and double": _grouped("f", "d", aggs=["count(*)"]),
    "computed": _grouped("j * 2", "hour(n)", aggs=["sum(j * 2)"]),
    "tumbling": _grouped("window(t, '10 seconds')", aggs=["count(*)", "sum(i)"]),
    "tumbling and key": _grouped("window(t, '10 seconds')", "j"),
    "sliding": _grouped("window(t, '10 seconds', '4 seconds', '1 second')", "j"),
    "local": _grouped("window(n, '1 hour', '30 minutes')", "b", aggs=["count(i)"]),
}
STEPS: dict[str, Make] = {
    "filter": lambda df, _: df.where("b").select("name", "l", "b", "f", "d", "t"),
    "filters": lambda df, _: df.where("i > 0").where("j <> 0 and i % j = 0").selectExpr("name", "i div j", "-d"),
    "project": lambda df, _: df.selectExpr("name", "j + 1 as k", "b", "d * 2 as e").where("k > 0").selectExpr("e / k"),
    "two of three": lambda df, _: df.na.drop(thresh=2, subset=["i", "d", "l"]).select("i", "d", "name"),
    "sliding windows": lambda df, _: df.select(F.window("t", "10 seconds", "3 seconds"), "name", "j"),
    "bounds": lambda df, _: df.select(F.window("t", "5 seconds"), "j").select(
        "window.end", F.window_time("window"), "j"
    ),
    "inner join": lambda df, names: df.join(names, df.i == names.id),
    "left join": lambda df, names: df.join(names, df.i == names.id, "left"),
    "left join by far keys": lambda df, names: df.join(names, df.l == names.far, "left").select("l", "vb", "vy", "vd"),
    "join by date": lambda df, names: df.join(names, df.day == names.when, "left").select("day", "vf", "vt", "id"),
    "join by time": lambda df, names: df.join(names, df.t == names.at).select("t", "vf", "far", "name"),
    "join then group": lambda df, names: df.join(names, df.i == names.id).groupBy("vy").agg(F.sum("j"), F.max("vd")),
}


def _stages(query: DataFrame) -> tuple[Stage, ...]:
    lowered = lower(query)
    return cut(lowered.plan, frozenset(lowered.sources), "complete")


def _run(stages: tuple[Stage, ...], table: pa.Table) -> tuple[list[pa.RecordBatch], int | None]:
    """What comes out of the last stage but the sink, and the highest event time."""
    out: dict[int, list[pa.RecordBatch]] = {0: table.combine_chunks().to_batches(max_chunksize=97)}
    latest: list[int] = []
    for stage in stages[1:-1]:
        given = [batch for edge in stage.inputs for batch in out[edge.upstream]]
        if isinstance(stage, ChainStage):
            out[stage.id], times = _chain(stage.chain, given)
            latest += times
        else:
            assert isinstance(stage, MergeStage)
            merge = Merge(stage.aggregate)
            for batch in given:
                merge.merge(batch, None)
            result = merge.emit("complete", None)
            out[stage.id] = [] if result is None else [result]
    return out[stages[-1].inputs[0].upstream], max(latest, default=None)


def _chain(chain: Chain, batches: list[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], list[int]]:
    assert why_not(chain) is None
    kernel = compile_now(chain)
    out, times = [], []
    for number, batch in enumerate(batches):
        rows, time = kernel.process(batch)
        out += [rows, kernel.flush(None) if number % 3 == 2 else None]
        times += [] if time is None else [time]
    out.append(kernel.flush(None))
    return [batch for batch in out if batch is not None], times


def _bag(batches: list[pa.RecordBatch]) -> Counter[tuple[Any, ...]]:
    return Counter(row for batch in batches for row in zip(*map(values, batch.columns), strict=True))


def _frame(spark: SparkSession, rows: pa.Table) -> DataFrame:
    return spark.createDataFrame(rows, _struct())


def _stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).json(str(folder)).withWatermark("t", "1 second")


@pytest.mark.parametrize("name", [*GROUPS, *STEPS])
def test_rows_are_sparks(spark: SparkSession, tmp_path: Path, rows: pa.Table, names: DataFrame, name: str) -> None:
    make = {**GROUPS, **STEPS}[name]
    ours, latest = _run(_stages(make(_stream(spark, tmp_path), names)), rows)
    assert _bag(ours) == _bag(make(_frame(spark, rows), names).toArrow().to_batches())
    if name in GROUPS:
        assert latest == pc.max(rows.column("t")).value


def test_the_watermark_sees_the_rows_that_reach_it(spark: SparkSession, tmp_path: Path, rows: pa.Table) -> None:
    def seen(df: DataFrame) -> DataFrame:
        return df.where("j > 0 and t < timestamp'2020-01-01'").withWatermark("t", "1 second")

    stream = spark.readStream.schema(SCHEMA).json(str(tmp_path))
    _, latest = _run(_stages(seen(stream).select("t", "j")), rows)
    expected = seen(_frame(spark, rows)).agg(F.expr("unix_micros(max(t))")).collect()[0][0]
    assert latest == expected


_SUMS = {1: [2**63 - 1, -5, 5], 2: [-(2**62), None], 3: [2**63 - 1, 1], 4: [-(2**63), -1]}


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no ansi"])
def test_sums_overflow_where_sparks_do(spark: SparkSession, tmp_path: Path, rows: pa.Table, ansi: bool) -> None:
    make = _grouped("j", aggs=["sum(l)", "count(*)"])
    spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    try:
        stages = _stages(make(_stream(spark, tmp_path), _frame(spark, rows)))
        for groups in ([1, 2], [3], [4]) if ansi else ([1, 2, 3, 4],):
            pairs = [(key, value) for key in groups for value in _SUMS[key]]
            made = _with(rows.slice(0, len(pairs)), j=[key for key, _ in pairs], l=[value for _, value in pairs])
            batch = make(_frame(spark, made).coalesce(1), _frame(spark, rows))
            fails = ansi and groups != [1, 2]
            with pytest.raises(PySparkException, match="ARITHMETIC_OVERFLOW") if fails else nullcontext():
                expected = _bag(batch.toArrow().to_batches())
            with pytest.raises(RowError, match="ARITHMETIC_OVERFLOW") if fails else nullcontext():
                assert _bag(_run(stages, made)[0]) == expected
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def _with(table: pa.Table, **columns: list[int | None]) -> pa.Table:
    for name, column in columns.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(column, table.schema.field(at).type))
    return table


def test_what_is_left_to_the_interpreted_tier(spark: SparkSession, tmp_path: Path, names: DataFrame) -> None:
    stream = _stream(spark, tmp_path)
    queries = {
        "aggregate approx_count_distinct": stream.groupBy("j").agg(F.approx_count_distinct("i")),
        "a key that is not unique": stream.join(names.union(names), stream.i == names.id),
        "several keys": stream.join(names, (stream.i == names.id) & (stream.l == names.far)),
        "type string": stream.groupBy("name").count(),
    }
    for reason, query in queries.items():
        found = [why_not(stage.chain) for stage in _stages(query) if isinstance(stage, ChainStage)]
        assert reason in str(found[0])


def test_every_expression_of_plans_is_tried(spark: SparkSession, tmp_path: Path, names: DataFrame) -> None:
    """The others are tried one by one; see the tests of compiled expressions."""
    picked = ["two of three", "bounds"]
    text = "".join(str(_stages({**GROUPS, **STEPS}[name](_stream(spark, tmp_path), names))) for name in picked)
    for function in ("AtLeastNNonNulls", "PreciseTimestampConversion", "TimeWindow"):
        assert f"function='{function}'" in text
    assert "function='GetStructField'" in text
