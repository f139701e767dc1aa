"""Arithmetic on decimals of any precision, rounded as Spark rounds."""

import json
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from edges import decimal_edges
from oracle import check
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column
from headway.frontend.expressions import Lowering
from headway.frontend.tree import parse
from headway.kernels.expressions import RowError, evaluate

BINARY = ["a + b", "a - b", "a * b", "a / b", "a div b", "a % b", "pmod(a, b)", "try_add(a, b)", "try_multiply(a, b)"]
TYPES = [(5, 2), (18, 6), (20, 0), (38, 10), (38, 18), (38, 37), (38, 0), (3, 3)]


@pytest.mark.parametrize("left", TYPES)
def test_pairs_of_types(spark: SparkSession, left: tuple[int, int]) -> None:
    rows, columns, exprs = [], [], []
    edges = [decimal_edges(p, s) for p, s in TYPES]
    for i, (p, s) in enumerate(TYPES):
        columns.append(f"b{i} decimal({p},{s})")
        exprs += [re.sub(r"\bb\b", f"b{i}", expr) for expr in _safe(left, (p, s))]
    for a in decimal_edges(*left):
        rows += [(a, *(values[i % len(values)] for values in edges)) for i in range(max(map(len, edges)))]
    check(spark, exprs, rows, f"a decimal({left[0]},{left[1]}), {', '.join(columns)}", ansi=False)


def _safe(left: tuple[int, int], right: tuple[int, int]) -> list[str]:
    """Without remainders whose quotients may have too many digits, which fail in every mode."""
    digits = left[0] - left[1] + right[1]
    return [e for e in BINARY if digits <= 38 or ("%" not in e and "mod" not in e and "div" not in e)]


def test_signs(spark: SparkSession) -> None:
    rows = [(v,) for v in decimal_edges(38, 10)[:-2]] + [(Decimal("-1234567890123456789012345678.9012345678"),)]
    check(spark, ["-a", "abs(a)", "+a"], rows, "a decimal(38,10)")
    check(spark, ["-a", "abs(a)"], [(Decimal("9" * 38),), (Decimal("-" + "9" * 38),)], "a decimal(38,0)")
    check(spark, ["-a", "abs(a)"], [(Decimal("-12345678901234567890123456789012345678"),)], "a decimal(38,0)")


def test_rounding(spark: SparkSession) -> None:
    rows = [(Decimal(a), Decimal(b)) for a in ("1", "2", "-1", "-2", "5", "0.5") for b in ("3", "-3", "6", "7", "1.5")]
    check(spark, BINARY, rows, "a decimal(38,10), b decimal(38,10)")
    check(spark, BINARY, rows, "a decimal(5,2), b decimal(5,2)")


def test_overflow(spark: SparkSession) -> None:
    rows = [(Decimal("9" * 38), Decimal("9" * 38))]
    check(
        spark, ["a + b", "-a - b", "a * b", "a / cast(0.01 as decimal(3,2))"], rows, "a decimal(38,0), b decimal(38,0)"
    )
    check(
        spark,
        ["a div cast(0.01 as decimal(3,2))", "a div 1", "a % cast(0.07 as decimal(3,2))"],
        rows,
        "a decimal(38,0), b decimal(38,0)",
    )


def test_division_by_zero(spark: SparkSession) -> None:
    rows = [(Decimal("1.00"), Decimal("0.00"))]
    check(
        spark, ["a / b", "a % b", "a div b", "pmod(a, b)", "try_divide(a, b)"], rows, "a decimal(5,2), b decimal(5,2)"
    )
    check(spark, ["a / b", "a % b"], [(None, Decimal("0.00"))], "a decimal(5,2), b decimal(5,2)")


def test_impossible_remainder(spark: SparkSession) -> None:
    rows = [(Decimal("9" * 38), Decimal("0.0000000000000000000000000000000000007"))]
    check(spark, ["a % b"], rows, "a decimal(38,0), b decimal(38,37)")


def test_mixed_with_integers(spark: SparkSession) -> None:
    rows = [(Decimal("1.50"), 3), (None, 1), (Decimal("-2.25"), -7)]
    check(
        spark,
        ["a + i", "a * i", "a / i", "i - a", "i % a", "a > i", "i / 3.0BD", "a + 1.5D"],
        rows,
        "a decimal(10,2), i int",
    )


def test_decimals_made_of_longs() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([0, 12345, -99999, None])], names=["l"])
    made = Call(T.DecimalType(5, 2), "MakeDecimal", (Column(T.LongType(), 0),), (("ansi", True),))
    expected = [Decimal("0.00"), Decimal("123.45"), Decimal("-999.99"), None]
    assert evaluate(made, batch).to_pylist() == expected
    assert evaluate(Call(T.LongType(), "UnscaledValue", (made,)), batch).equals(batch.column(0))


@pytest.mark.parametrize("ansi", [True, False])
def test_decimals_made_of_too_large_longs(ansi: bool) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([100000, 1])], names=["l"])
    made = Call(T.DecimalType(5, 2), "MakeDecimal", (Column(T.LongType(), 0),), (("ansi", ansi),))
    if ansi:
        with pytest.raises(RowError, match=r"^\[NUMERIC_VALUE_OUT_OF_RANGE\]"):
            evaluate(made, batch)
    else:
        assert evaluate(made, batch).to_pylist() == [None, Decimal("0.01")]


def test_sums_of_small_decimals_are_sums_of_longs(spark: SparkSession) -> None:
    plan = spark.range(1).selectExpr("cast(id as decimal(5,2)) n").groupBy().sum("n")._jdf.queryExecution()
    (outputs,) = (
        node["aggregateExpressions"]
        for node in json.loads(plan.optimizedPlan().toJSON())
        if "aggregateExpressions" in node
    )
    made = next(tree for tree in parse(outputs[0]).walk() if tree.name == "MakeDecimal")
    unscaled = next(tree for tree in made.walk() if tree.name == "UnscaledValue")
    attribute = next(tree for tree in unscaled.walk() if tree.name == "AttributeReference")
    column = Column(T.DecimalType(5, 2), 0)
    lowering = Lowering({attribute.fields["exprId"]["id"]: column}, ansi=True, time_zone="UTC")
    assert lowering(unscaled) == Call(T.LongType(), "UnscaledValue", (column,))
    assert (made.fields["precision"], made.fields["scale"]) == (15, 2)
