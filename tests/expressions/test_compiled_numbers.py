"""Compiled expressions of numbers give what Spark gives, bit by bit, and fail on the rows on which Spark fails."""

from __future__ import annotations

import pytest
from compiled import check_compiled
from edges import DOUBLES, FLOATS, integer_edges, pairs
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from test_random_rows import integers

from generated_rows import generated

INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
NUMBERS = (*INTEGERS, "float", "double")
_COMPARED = [f"a {sign} b" for sign in ("=", "<", "<=", ">", ">=", "<=>")]
_CHOSEN = [
    "coalesce(a, b)",
    "if(a > b, a, b)",
    "case when a > b then a when b > 5 then b end",
    "nullif(a, b)",
    "greatest(a, b)",
    "least(b, a)",
    "a in (b, a)",
    "isnull(a)",
    "a is not null or b is null",
    "xxhash64(a, b)",
]

# What does not depend on the mode, and what does.
INTEGRAL = [
    *_COMPARED,
    *_CHOSEN,
    *(f"try_{name}(a, b)" for name in ("add", "subtract", "multiply")),
    "a in (1, 7, 127)",
    "a in (1, null)",
    "a & b",
    "a | b",
    "a ^ b",
    "~a",
    "ceil(a)",
    "floor(b)",
]
INTEGRAL_BY_MODE = [
    *(f"a {sign} b" for sign in ("+", "-", "*", "%", "/", "div")),
    "pmod(a, b)",
    "-a",
    "abs(a)",
    "a % 7",
    "a div -1",
    "b % 0",
    "timestamp_seconds(a)",
    "timestamp_millis(a)",
    "timestamp_micros(a)",
]
REAL = [
    *_COMPARED,
    *_CHOSEN,
    "isnan(a)",
    "nanvl(a, b)",
    "ceil(a)",
    "floor(b)",
    "sqrt(a)",
    "rint(a)",
    "signum(a)",
    "degrees(a)",
    "radians(a)",
]
REAL_BY_MODE = [
    *(f"a {sign} b" for sign in ("+", "-", "*", "%", "/")),
    "pmod(a, b)",
    "-a",
    "abs(a)",
    "a / 2",
]
SHIFTS = {
    "int": ["shiftleft(a, b)", "shiftright(a, b)", "shiftrightunsigned(a, b)", "date_from_unix_date(a)"],
    "bigint": [f"{name}(a, cast(b % 100 as int))" for name in ("shiftleft", "shiftright", "shiftrightunsigned")],
}


def casts(kind: str) -> list[str]:
    return [f"cast(a as {target})" for target in (*NUMBERS, "boolean") if target != kind]


def try_casts(kind: str) -> list[str]:
    """Those that have something to try: to types that are narrower."""
    return [f"try_cast(a as {target})" for target, bits in INTEGERS.items() if bits < INTEGERS.get(kind, 65)]


def _rows(kind: str) -> list[tuple[object, ...]]:
    if kind in INTEGERS:
        bits = INTEGERS[kind]
        return pairs(integer_edges(bits)) + generated(st.tuples(integers(bits), integers(bits)))
    floats = st.none() | st.floats(width=32 if kind == "float" else 64) | st.integers(-300, 300).map(float)
    return pairs(_reals(kind)) + generated(st.tuples(floats, floats))


def _reals(kind: str) -> list[float | None]:
    """With the numbers around which a cast to an integer begins to fail."""
    bounds = [float(sign * 2**bits) for bits in (7, 15, 31, 63) for sign in (1, -1)]
    if kind == "float":
        return [*FLOATS, *bounds, 127.5, -128.5]
    return [*DOUBLES, *bounds, 127.99, -128.99, 2147483647.5, -2147483648.5, 9223372036854774784.0]


def exprs(kind: str, ansi: bool) -> list[str]:
    if kind in INTEGERS:
        always, by_mode = INTEGRAL + SHIFTS.get(kind, []), [*INTEGRAL_BY_MODE, "cast(a as timestamp)"]
    else:
        always, by_mode = REAL, REAL_BY_MODE
    return by_mode + casts(kind) + ([] if ansi else always + try_casts(kind))


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "no ansi"])
@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(spark: SparkSession, kind: str, ansi: bool) -> None:
    check_compiled(spark, exprs(kind, ansi), _rows(kind), f"a {kind}, b {kind}", ansi=ansi)
