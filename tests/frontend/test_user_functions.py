"""Functions of the user's give what they give in Spark: every way to call one, every type, nulls, wrong results."""

from __future__ import annotations

import datetime as dt
import math
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from lowered_rows import rows_of, run
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from headway import HeadwayError, UnsupportedPlan
from headway.dataflow.user_code import EvalPython
from headway.frontend import lower

# What is pickled must not need this file where it is unpickled.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

KINDS: dict[str, T.DataType] = {
    "b": T.BooleanType(),
    "y": T.ByteType(),
    "h": T.ShortType(),
    "i": T.IntegerType(),
    "l": T.LongType(),
    "f": T.FloatType(),
    "d": T.DoubleType(),
    "m": T.DecimalType(12, 3),
    "s": T.StringType(),
    "x": T.BinaryType(),
    "day": T.DateType(),
    "t": T.TimestampType(),
    "ntz": T.TimestampNTZType(),
    "p": T.StructType().add("a", "integer").add("w", T.StructType().add("t", T.TimestampType()).add("s", "string")),
}
SCHEMA = T.StructType([T.StructField(name, kind) for name, kind in KINDS.items()])
START = dt.datetime(2024, 3, 10, 6, 59, 59, 999_999)


def _row(n: int) -> tuple[Any, ...]:
    time = START + dt.timedelta(minutes=n * 37)
    values = (
        n % 2 == 0,
        n % 256 - 128,
        n * 1000 - 20_000,
        n * 50_000_000 - 10**9,
        n * 10**17 - 2 * 10**18,
        [0.0, -0.0, math.nan, 1.5][n % 4],
        [0.1, -0.0, math.inf, 1e300, 12345678.9][n % 5],
        Decimal(n * 7919 - 100_000).scaleb(-3),
        ["", "a", "Zürich", "\U0001f600"][n % 4],
        [b"", b"\x00\xff", b"abc"][n % 3],
        dt.date(2024, 2, 28) + dt.timedelta(days=n),
        time,
        time.replace(year=1969),
        {"a": n, "w": {"t": time, "s": "x" * (n % 3)}},
    )
    return tuple(None if (n + at) % 7 == 3 else value for at, value in enumerate(values))


ROWS = [_row(n) for n in range(40)]


def _pandas(x: pd.Series, y: pd.Series) -> pd.Series:
    return x.fillna(0).astype("int64") + y.fillna(-1).astype("int64")


def _frame(x: pd.Series, p: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"s": p["a"].astype("str"), "a": p["a"].astype("Int32"), "t": x + pd.Timedelta(days=1)})


def _series(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for batch in batches:
        yield batch * 2


def _two_series(batches: Iterator[tuple[pd.Series, pd.Series]]) -> Iterator[pd.Series]:
    for left, right in batches:
        yield left.astype("str") + "/" + right.astype("str")


def _arrow(times: pa.Array) -> pa.Array:
    assert times.type == pa.timestamp("us", "America/New_York")
    return pc.add(times, pa.scalar(dt.timedelta(days=1)))


def _arrow_iterator(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
    for left, right in batches:
        yield pc.add(left, pc.cast(right, pa.int64()))


def _same(name: str, *, arrow: bool) -> Column:
    """A column through a function that gives it back."""
    return F.udf(lambda value: value, KINDS[name], useArrow=arrow)(name).alias(f"{name}_{arrow}")


def _repr(name: str, *, arrow: bool) -> Column:
    """What Python values a function gets."""
    return F.udf(lambda value: repr(value), "string", useArrow=arrow)(name)


def _returns(value: object, kind: str, *, arrow: bool) -> Column:
    return F.udf(lambda _: value, kind, useArrow=arrow)("l")


def _plus(x: int | None, y: int | None = 1) -> int | None:
    return None if x is None or y is None else x + y


_WRONG: list[tuple[object, str]] = [
    (1, "double"),
    (True, "int"),
    (1.5, "int"),
    ("1", "long"),
    (2**40, "int"),
    (300, "byte"),
    (2**70, "long"),
    (1.5, "boolean"),
    (Decimal("1.23456"), "decimal(5,2)"),
    (1, "decimal(5,2)"),
    (7, "string"),
    (True, "string"),
    (1e10, "string"),
    (Decimal("1.50"), "string"),
    ("é", "binary"),
    (bytearray(b"\x01"), "binary"),
    (3, "binary"),
    ((1, "x"), "a int, b string"),
    ({"b": "x"}, "a int, b string"),
    ([1, 2.5], "a int, b string"),
    (None, "date"),
    (dt.date(1582, 10, 4), "date"),
    (dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), "timestamp"),
    (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "timestamp"),
    (dt.datetime(2024, 1, 1, 12, 0, 0, 1), "timestamp_ntz"),
]


def _pandas_columns() -> list[Column]:
    frame = F.pandas_udf(_frame, "a int, t timestamp, s string")
    return [
        F.pandas_udf(_pandas, "long")("i", "l"),
        frame("t", "p"),
        frame("t", "p")["s"],
        F.pandas_udf(_series, "double")("d"),
        F.pandas_udf(_two_series, "string")("s", "l"),
    ]


def _arrow_columns() -> list[Column]:
    later = F.arrow_udf(_arrow, "timestamp")
    return [later("t"), F.arrow_udf(_arrow_iterator, "long")("l", "h"), later(later("t"))]


def _nested() -> list[Column]:
    plain, arrow = F.udf(_plus, "long", useArrow=False), F.udf(_plus, "long", useArrow=True)
    return [
        plain(plain("i")),
        arrow(arrow("i")),
        plain(arrow(plain("l"))),
        plain(F.col("i") + arrow("i")) * 2,
        plain("i", y=F.lit(5)),
        arrow(y=F.col("i"), x=F.col("l")),
        F.when(plain("i") > 0, arrow("i")).otherwise(F.pandas_udf(_pandas, "long")("i", "l")),
        F.udf(lambda: 7, "int", useArrow=False)(),
        F.udf(lambda: 7, "int", useArrow=True)(),
        F.udf(lambda x: x, "int").asNondeterministic()("i"),
    ]


COLUMNS: dict[str, Callable[[], list[Column]]] = {
    "every type": lambda: [_same(name, arrow=arrow) for name in KINDS for arrow in (False, True)],
    "what Python sees": lambda: [_repr(name, arrow=arrow) for name in KINDS for arrow in (False, True)],
    "what is not of the type": lambda: [_returns(value, kind, arrow=False) for value, kind in _WRONG],
    "nested": _nested,
    "pandas": _pandas_columns,
    "arrow": _arrow_columns,
}


def frames(spark: SparkSession, folder: Path) -> tuple[DataFrame, DataFrame]:
    """The rows as a stream and as a batch of one partition: pandas makes floats of the integers beside a null."""
    stream = spark.readStream.schema(SCHEMA).json(str(folder))
    return stream, spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


def check(spark: SparkSession, folder: Path, make: Callable[[DataFrame], DataFrame]) -> None:
    stream, batch = frames(spark, folder)
    query = lower(make(stream))
    assert rows_of(run(query.plan, batch.toArrow())) == rows_of(make(batch).toArrow())


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_are_sparks(spark: SparkSession, tmp_path: Path, case: str) -> None:
    named = [column.alias(f"c{i}") for i, column in enumerate(COLUMNS[case]())]
    check(spark, tmp_path, lambda df: df.select("l", *named))


def _doubled(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[["s", "l", "t"]]
        yield frame[frame["b"] == True][["t", "l", "s"]]  # noqa: E712  columns are found by name; nulls are not true
        yield frame[["s", "l", "t"]][:0]


def _longer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        longer = pc.fill_null(pc.greater(pc.utf8_length(batch.column("s")), 0), False)
        yield batch.select(["p", "s", "t"]).filter(longer)


def _everywhere(df: DataFrame) -> DataFrame:
    """In filters, as keys and arguments of aggregates, below and above them."""
    odd = F.udf(lambda x: x % 2 == 1 if x is not None else None, "boolean")
    half = F.pandas_udf(_series, "double")
    counts = df.where(odd("h") | F.col("b")).groupBy(F.udf(lambda s: len(s or ""), "int")("s").alias("n"))
    return counts.agg(F.sum(half("h")).alias("total"), F.count("*").alias("c")).where(odd(F.col("n") + 1))


MAPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "mapInPandas": lambda df: df.mapInPandas(_doubled, "s string, l long, t timestamp"),
    "mapInArrow": lambda df: df.mapInArrow(_longer, T.StructType([SCHEMA["p"], SCHEMA["s"], SCHEMA["t"]])).where(
        "s <> 'a'"
    ),
    "everywhere": _everywhere,
}


@pytest.mark.parametrize("case", MAPS)
def test_rows_are_sparks(spark: SparkSession, tmp_path: Path, case: str) -> None:
    check(spark, tmp_path, MAPS[case])


def test_batches_are_as_long_as_the_user_says(spark: SparkSession, tmp_path: Path) -> None:
    def length(x: pd.Series) -> pd.Series:
        return pd.Series([len(x)] * len(x))

    lengths = F.pandas_udf(length, "int")
    stream, batch = frames(spark, tmp_path)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "5")
    try:
        query = lower(stream.select(lengths("l").alias("n")))
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    found = run(query.plan, batch.coalesce(1).toArrow().combine_chunks())
    # Two batches of 17 rows and one of 6 come.
    assert found.column("n").to_pylist() == ([5] * 15 + [2] * 2) * 2 + [5] * 5 + [1]


def test_broadcast_variables_are_there(spark: SparkSession, tmp_path: Path) -> None:
    names = spark.sparkContext.broadcast({0: "zero", 1: "one"})
    named = F.udf(lambda x: names.value.get(x), "string")
    stream, batch = frames(spark, tmp_path)
    found = run(lower(stream.select(named(F.col("h") % 2).alias("n"))).plan, batch.toArrow())
    assert set(found.column("n").to_pylist()) == {"zero", None}


def test_an_accumulator_falls_back(spark: SparkSession, tmp_path: Path) -> None:
    seen = spark.sparkContext.accumulator(0)
    count = F.udf(lambda x: seen.add(1), "long")
    with pytest.raises(UnsupportedPlan, match="it uses an accumulator"):
        lower(frames(spark, tmp_path)[0].select(count("l")))


def test_equal_calls_are_one_unless_they_are_not_deterministic(spark: SparkSession, tmp_path: Path) -> None:
    stream, _ = frames(spark, tmp_path)
    same, other = F.udf(lambda x: x, "long"), F.udf(lambda x: x, "long").asNondeterministic()
    for udf, equal in ((same, True), (other, False)):
        one, two = (lower(stream.select(udf("l").alias("l"))).plan.inputs[0] for _ in range(2))
        assert isinstance(one, EvalPython)
        assert (one == two) is equal


def test_arrow_batches_of_another_type_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    stream, batch = frames(spark, tmp_path)
    wrong = lower(stream.mapInArrow(lambda batches: batches, "l string")).plan
    with pytest.raises(HeadwayError, match=r"ARROW_TYPE_MISMATCH.*expected string, got boolean"):
        run(wrong, batch.toArrow())


def test_what_a_function_raises_names_its_line(spark: SparkSession, tmp_path: Path) -> None:
    stream, batch = frames(spark, tmp_path)
    query = lower(stream.select(F.udf(lambda x: 1 // (x * 0), "long")("l")))
    with pytest.raises(ZeroDivisionError) as raised:
        run(query.plan, batch.where("l IS NOT NULL").toArrow())
    assert Path(str(raised.traceback[-1].path)) == Path(__file__)
