"""Compiled expressions give what Spark gives, bit by bit, and fail where Spark fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from compiled_cases import (
    BOOL,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NTZ,
    ORDINARY,
    ROWS,
    SCHEMA,
    SHORT,
    TIME,
    batch,
    call,
    col,
    lit,
    projection,
    values,
)  # fmt: skip
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from headway.dataflow.expr import Expr
from headway.kernels.api import ChainKernel
from headway.kernels.compiled import compile_now
from headway.kernels.expressions.registry import RowError


def _cast(name: str, kind: T.DataType, function: str = "Cast") -> Expr:
    options = {"time_zone": "UTC"} if function == "TryCast" else {"time_zone": "UTC", "ansi": False}
    return call(function, kind, col(name), **options)


def _pair(function: str, kind: T.DataType, left: str, right: str) -> Expr:
    return call(function, kind, col(left), col(right), ansi=False)


def _compare(function: str, left: str, right: str) -> Expr:
    return call(function, BOOL, col(left), col(right))


_COMPARISONS = {
    "=": "EqualTo", "<": "LessThan", "<=": "LessThanOrEqual", ">": "GreaterThan", ">=": "GreaterThanOrEqual",
    "<=>": "EqualNullSafe",
}  # fmt: skip
_PAIRS = (("l", "m", LONG), ("i", "j", INT), ("y", "y", BYTE), ("d", "e", DOUBLE), ("f", "f", FLOAT))
_SQL = {
    BYTE: "tinyint",
    SHORT: "smallint",
    INT: "int",
    LONG: "bigint",
    FLOAT: "float",
    DOUBLE: "double",
    BOOL: "boolean",
}

# With ANSI mode off: Spark's text, and the expression that it means.
LENIENT: dict[str, Expr] = {
    **{f"{a} {sign} {b}": _pair(name, kind, a, b)
       for a, b, kind in _PAIRS
       for sign, name in (("+", "Add"), ("-", "Subtract"), ("*", "Multiply"), ("%", "Remainder"))},
    **{f"pmod({a}, {b})": _pair("Pmod", kind, a, b) for a, b, kind in _PAIRS},
    "d / e": _pair("Divide", DOUBLE, "d", "e"),
    "l div m": _pair("IntegralDivide", LONG, "l", "m"),
    **{f"-{a}": call("UnaryMinus", kind, col(a), ansi=False) for a, _, kind in _PAIRS},
    **{f"abs({a})": call("Abs", kind, col(a), ansi=False) for a, _, kind in _PAIRS},
    **{f"{a} {sign} {b}": _compare(name, a, b)
       for a, b in (("l", "m"), ("d", "e"), ("b", "b"))
       for sign, name in _COMPARISONS.items()},
    "b and d > 0": call("And", BOOL, col("b"), call("GreaterThan", BOOL, col("d"), lit(0.0, DOUBLE))),
    "b or d > 0": call("Or", BOOL, col("b"), call("GreaterThan", BOOL, col("d"), lit(0.0, DOUBLE))),
    "not b": call("Not", BOOL, col("b")),
    "l is null": call("IsNull", BOOL, col("l")),
    "true and l is not null": call("And", BOOL, lit(True, BOOL), call("IsNotNull", BOOL, col("l"))),
    "l in (5, 7, 100)": call("In", BOOL, col("l"), lit(5), lit(7), lit(100)),
    "l in (5, null)": call("In", BOOL, col("l"), lit(5), lit(None)),
    "coalesce(l, m, 9)": call("Coalesce", LONG, col("l"), col("m"), lit(9)),
    "coalesce(i, j)": call("Coalesce", INT, col("i"), col("j")),
    "if(l > m, l, m)": call("If", LONG, _compare("GreaterThan", "l", "m"), col("l"), col("m")),
    "case when b then l when l > 5 then m end": call(
        "CaseWhen", LONG, col("b"), col("l"), call("GreaterThan", BOOL, col("l"), lit(5)), col("m")
    ),
    "case when d > 0 then d else 1.5D end": call(
        "CaseWhen", DOUBLE, call("GreaterThan", BOOL, col("d"), lit(0.0, DOUBLE)), col("d"), lit(1.5, DOUBLE)
    ),
    "isnan(d)": call("IsNaN", BOOL, col("d")),
    "nanvl(d, e)": call("NaNvl", DOUBLE, col("d"), col("e")),
    "d in (2.5D, double('nan'))": call("In", BOOL, col("d"), lit(2.5, DOUBLE), lit(float("nan"), DOUBLE)),
    "greatest(d, e)": call("Greatest", DOUBLE, col("d"), col("e")),
    "least(d, e, 0.5D)": call("Least", DOUBLE, col("d"), col("e"), lit(0.5, DOUBLE)),
    "greatest(l, m)": call("Greatest", LONG, col("l"), col("m")),
    "least(i, j)": call("Least", INT, col("i"), col("j")),
    "l & m": call("BitwiseAnd", LONG, col("l"), col("m")),
    "i | j": call("BitwiseOr", INT, col("i"), col("j")),
    "y ^ y": call("BitwiseXor", BYTE, col("y"), col("y")),
    "~s": call("BitwiseNot", SHORT, col("s")),
    "shiftleft(i, j)": call("ShiftLeft", INT, col("i"), col("j")),
    "shiftright(l, j)": call("ShiftRight", LONG, col("l"), col("j")),
    "shiftrightunsigned(i, j)": call("ShiftRightUnsigned", INT, col("i"), col("j")),
    "shiftrightunsigned(l, j)": call("ShiftRightUnsigned", LONG, col("l"), col("j")),
    **{f"cast({name} as {_SQL[kind]})": _cast(name, kind)
       for name, kinds in {
           "l": (BYTE, SHORT, INT, FLOAT, DOUBLE, BOOL), "d": (BYTE, SHORT, INT, LONG, FLOAT, BOOL),
           "f": (INT, LONG, DOUBLE), "b": (INT, DOUBLE), "t": (INT, LONG, DOUBLE), "y": (LONG,),
       }.items() for kind in kinds},
    **{f"{name.lower()}(d)": call(name, DOUBLE, col("d")) for name in ("Sqrt", "Rint", "Signum")},
    "degrees(d)": call("ToDegrees", DOUBLE, col("d")),
    "radians(d)": call("ToRadians", DOUBLE, col("d")),
    "floor(d)": call("Floor", LONG, col("d")),
    "ceil(e)": call("Ceil", LONG, col("e")),
    **{f"{name.lower()}(day)": call(name, INT, col("day"))
       for name in ("Year", "Month", "Quarter", "DayOfMonth", "DayOfYear", "DayOfWeek", "WeekDay")},
    **{f"{name.lower()}(t)": call(name, INT, col("t"), time_zone="UTC") for name in ("Hour", "Minute", "Second")},
    "date_add(day, j)": call("DateAdd", DATE, col("day"), col("j")),
    "date_diff(day, date'2000-02-29')": call("DateDiff", INT, col("day"), lit(11_016, DATE)),
    "unix_millis(t)": call("UnixMillis", LONG, col("t")),
    "unix_seconds(t)": call("UnixSeconds", LONG, col("t")),
    "timestamp_seconds(i)": call("SecondsToTimestamp", TIME, col("i")),
    "xxhash64(l, i, d, f, b, y, day)": call(
        "XxHash64", LONG, *(col(n) for n in ("l", "i", "d", "f", "b", "y", "day")), seed=42
    ),
    "cast(l as timestamp)": _cast("l", TIME),
    "cast(t as date)": _cast("t", DATE),
    "cast(day as timestamp)": _cast("day", TIME),
    "cast(n as date)": _cast("n", DATE),
    "cast(n as timestamp)": _cast("n", TIME),
    "cast(t as timestamp_ntz)": _cast("t", NTZ),
    "try_cast(l as int)": _cast("l", INT, "TryCast"),
    "try_cast(d as bigint)": _cast("d", LONG, "TryCast"),
    "try_cast(d as tinyint)": _cast("d", BYTE, "TryCast"),
    "(l + m) * (l + m)": call("Multiply", LONG, _pair("Add", LONG, "l", "m"), _pair("Add", LONG, "l", "m"), ansi=False),
}  # fmt: skip

# With ANSI mode on: each fails for some of the rows and must give Spark's value for the others.
STRICT: dict[str, Expr] = {
    "try_add(l, m)": call("TryAdd", LONG, col("l"), col("m")),
    "try_multiply(y, y)": call("TryMultiply", BYTE, col("y"), col("y")),
    "l + m": call("Add", LONG, col("l"), col("m"), ansi=True),
    "l - m": call("Subtract", LONG, col("l"), col("m"), ansi=True),
    "l * m": call("Multiply", LONG, col("l"), col("m"), ansi=True),
    "i + j": call("Add", INT, col("i"), col("j"), ansi=True),
    "y * y": call("Multiply", BYTE, col("y"), col("y"), ansi=True),
    "l div m": call("IntegralDivide", LONG, col("l"), col("m"), ansi=True),
    "l % m": call("Remainder", LONG, col("l"), col("m"), ansi=True),
    "d / e": call("Divide", DOUBLE, col("d"), col("e"), ansi=True),
    "-l": call("UnaryMinus", LONG, col("l"), ansi=True),
    "abs(i)": call("Abs", INT, col("i"), ansi=True),
    "cast(l as int)": call("Cast", INT, col("l"), time_zone="UTC", ansi=True),
    "cast(d as bigint)": call("Cast", LONG, col("d"), time_zone="UTC", ansi=True),
    "cast(d as int)": call("Cast", INT, col("d"), time_zone="UTC", ansi=True),
    "m <> 0 and l div m > 0": call(
        "And", BOOL, call("Not", BOOL, call("EqualTo", BOOL, col("m"), lit(0))),
        call("GreaterThan", BOOL, call("IntegralDivide", LONG, col("l"), col("m"), ansi=True), lit(0)),
    ),
    "m = 0 or l % m > 0": call(
        "Or", BOOL, call("EqualTo", BOOL, col("m"), lit(0)),
        call("GreaterThan", BOOL, call("Remainder", LONG, col("l"), col("m"), ansi=True), lit(0)),
    ),
    "case when m = 0 then -1 else l % m end": call(
        "CaseWhen", LONG, call("EqualTo", BOOL, col("m"), lit(0)), lit(-1),
        call("Remainder", LONG, col("l"), col("m"), ansi=True),
    ),
    "coalesce(l, 1 % m)": call(
        "Coalesce", LONG, col("l"), call("Remainder", LONG, lit(1), col("m"), ansi=True)
    ),
    "y + (1 % m)": call(
        "Add", LONG, call("Cast", LONG, col("y"), time_zone="UTC", ansi=True),
        call("Remainder", LONG, lit(1), col("m"), ansi=True), ansi=True,
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_utc(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)
    spark.conf.set("spark.sql.ansi.enabled", "true")


def _frame(spark: SparkSession, rows: pa.RecordBatch) -> DataFrame:
    struct = T.StructType([T.StructField(f.name, f.type) for f in SCHEMA])
    return spark.createDataFrame(pa.Table.from_batches([rows]), struct)


@pytest.mark.timeout(300)  # one kernel with a hundred expressions takes a while to compile on a busy machine
@pytest.mark.parametrize("rows", [ROWS, ORDINARY], ids=["nulls", "no nulls"])
def test_values_without_ansi(spark: SparkSession, rows: list[tuple[object, ...]]) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    data = batch(rows)
    theirs = _frame(spark, data).selectExpr(*LENIENT).toArrow()
    ours, _ = compile_now(projection(list(LENIENT.values()))).process(data)
    assert ours is not None
    for at, text in enumerate(LENIENT):
        got, expected = ours.column(at), theirs.column(at).combine_chunks()
        assert got.type == expected.type, text
        assert values(got) == values(expected), text


def test_ansi_fails_on_the_rows_on_which_spark_fails(spark: SparkSession) -> None:
    """One kernel has all expressions; `which` chooses, so that this also tries branches that must not be computed."""
    which = call("Cast", LONG, col("s"), time_zone="UTC", ansi=True)
    branches: list[Expr] = []
    for number, expr in enumerate(STRICT.values()):
        branches += [call("EqualTo", BOOL, which, lit(number)), call("IsNull", BOOL, call("Coalesce", expr.type, expr))]
    kernel = compile_now(projection([call("CaseWhen", BOOL, *branches)]))
    for row in ROWS:
        for number, (text, expected) in enumerate(_spark_says(spark, row).items()):
            assert _compiled_says(kernel, (*row[:2], number, *row[3:])) == expected, f"{text} of {row}"


def _spark_says(spark: SparkSession, row: tuple[Any, ...]) -> dict[str, bool | None]:
    """For every strict expression whether its value for `row` is null; None where Spark fails."""
    frame = _frame(spark, batch([row]))
    return {text: _is_null(frame, text) for text in STRICT}


def _is_null(frame: DataFrame, text: str) -> bool | None:
    try:
        return frame.selectExpr(text).collect()[0][0] is None
    except PySparkException:
        return None


def _compiled_says(kernel: ChainKernel, row: tuple[Any, ...]) -> bool | None:
    try:
        ours, _ = kernel.process(batch([row]))
    except RowError:
        return None
    assert ours is not None
    return bool(ours.column(0)[0].as_py())
