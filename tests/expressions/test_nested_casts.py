"""Arrays, maps and structs cast and hashed."""

from datetime import date
from decimal import Decimal

from oracle import check
from pyspark.sql import SparkSession

ROWS = [
    (
        [1, None, -3],
        {"x": 1, "y": "u"},
        [("a", 1.5)],
        [[1], None, []],
        ["1", "2"],
        [date(2024, 1, 1)],
        [Decimal("1.50")],
    ),
    ([], {"x": None, "y": None}, [], [], [None], [], []),
    (None, None, None, None, None, None, None),
    (
        [2**31 - 1],
        {"x": -1, "y": ""},
        [("b", None), ("c", -0.0)],
        [[1, 2], [3]],
        ["7"],
        [None],
        [None, Decimal("-2.25")],
    ),
]
SCHEMA = (
    "a array<int>, p struct<x: int, y: string>, m map<string, double>, n array<array<int>>, s array<string>, "
    "d array<date>, c array<decimal(5,2)>"
)


def test_casts_and_hashes(spark: SparkSession) -> None:
    exprs = [
        *(
            "cast(a as array<bigint>)",
            "cast(a as array<string>)",
            "cast(s as array<int>)",
            "cast(n as array<array<double>>)",
        ),
        *(
            "cast(p as struct<q: bigint, r: string>)",
            "cast(m as map<string, string>)",
            "cast(a as string)",
            "cast(p as string)",
        ),
        *("cast(m as string)", "cast(n as string)", "cast(s as string)", "cast(d as string)", "cast(c as string)"),
        *(
            "cast(array(p) as string)",
            "cast(array(p) as array<struct<q: string, r: string>>)",
            "cast(d as array<timestamp>)",
        ),
        *(
            "hash(a)",
            "hash(n, p)",
            "xxhash64(a)",
            "xxhash64(p, s, d)",
            "hash(c, d)",
            "xxhash64(array(p), n)",
            "hash(s)",
        ),
        "try_cast(s as array<int>)",
    ]
    check(spark, exprs, ROWS, SCHEMA)
    check(spark, exprs[:13], ROWS, SCHEMA, ansi=False)
    check(
        spark, ["cast(s as array<int>)", "cast(a as array<tinyint>)"], [(["x"], [300])], "s array<string>, a array<int>"
    )
