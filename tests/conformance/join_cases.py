"""Joins of streams: which pairs come when, when rows leave alone, and when state ends."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conformance import Case, Step, step

TWO = ("v int", "v int")
KEYED = ("k int, t int", "k int, t int")
Join = Callable[[DataFrame, DataFrame], DataFrame]


def sides(left: DataFrame, right: DataFrame, delay: str | None = "10 seconds") -> tuple[DataFrame, DataFrame]:
    """Values are keys and seconds of event time."""
    one = left.select(F.col("v").alias("lk"), F.timestamp_seconds("v").alias("lt"), (F.col("v") * 2).alias("lv"))
    other = right.select(F.col("v").alias("rk"), F.timestamp_seconds("v").alias("rt"), (F.col("v") * 3).alias("rv"))
    return (one.withWatermark("lt", delay), other.withWatermark("rt", delay)) if delay else (one, other)


def on_keys(left: DataFrame, right: DataFrame) -> DataFrame:
    one, other = sides(left, right, None)
    return one.join(other, F.expr("lk = rk")).select("lk", "lv", "rv")


def windowed(how: str, condition: str = "true", delay: str | None = "10 seconds") -> Join:
    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        one, other = sides(left, right, delay)
        one = one.select("lk", "lv", F.window("lt", "10 seconds").alias("lw"))
        other = other.select("rk", "rv", F.window("rt", "10 seconds").alias("rw"))
        joined = one.join(other, F.expr(f"lk = rk and lw = rw and {condition}"), how)
        told = ["lk", "cast(lw.end as long)", "lv"]
        return (
            joined.selectExpr(*told)
            if how == "left_semi"
            else joined.selectExpr(*told, "rk", "cast(rw.end as long)", "rv")
        )

    return join


def one_watermark(left: DataFrame, right: DataFrame) -> DataFrame:
    """Only the left has one."""
    one, other = sides(left, right, None)
    one = one.withWatermark("lt", "10 seconds").select("lk", "lv", F.window("lt", "10 seconds").alias("w"))
    other = other.select(F.col("rk").alias("lk"), "rv", F.window("rt", "10 seconds").alias("w"))
    return one.join(other, ["lk", "w"]).selectExpr("lk", "cast(w.end as long)", "lv", "rv")


def ranged(how: str, condition: str, delays: tuple[str, str] = ("10 seconds", "10 seconds")) -> Join:
    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        one = left.select(F.col("k").alias("lk"), F.timestamp_seconds("t").alias("lt")).withWatermark("lt", delays[0])
        other = right.select(F.col("k").alias("rk"), F.timestamp_seconds("t").alias("rt")).withWatermark(
            "rt", delays[1]
        )
        told = ["lk", "cast(lt as long)"] + ([] if how == "left_semi" else ["rk", "cast(rt as long)"])
        return one.join(other, F.expr(f"lk = rk and {condition}"), how).selectExpr(*told)

    return join


def with_itself(how: str) -> Callable[[DataFrame], DataFrame]:
    """Each row with even rows of the same stream, up to five seconds later; right: the other way round."""

    def join(df: DataFrame) -> DataFrame:
        all_rows = df.select(F.col("k").alias("lk"), F.timestamp_seconds("t").alias("lt")).withWatermark(
            "lt", "5 seconds"
        )
        even = df.where("k % 2 = 0").select(F.col("k").alias("rk"), F.timestamp_seconds("t").alias("rt"))
        even = even.withWatermark("rt", "5 seconds")
        near = F.expr("lk = rk and rt >= lt and rt <= lt + interval 5 seconds")
        both = even.join(all_rows, near, how) if how == "right" else all_rows.join(even, near, how)
        return both.selectExpr("lk", "cast(lt as long)", *([] if how == "left_semi" else ["rk", "cast(rt as long)"]))

    return join


def of_three(one: DataFrame, two: DataFrame, three: DataFrame) -> DataFrame:
    first, second = sides(one, two, None)
    third = three.select(F.col("v").alias("tk"), (F.col("v") * 5).alias("tv"))
    return first.join(second, F.expr("lk = rk")).join(third, F.expr("tk = rk")).select("lk", "lv", "rv", "tv")


def outer_of_three(one: DataFrame, two: DataFrame, three: DataFrame) -> DataFrame:
    named = [
        df.select(F.timestamp_seconds("t").alias("ts"), F.col("k").alias(f"v{i}")).withWatermark("ts", "0 seconds")
        for i, df in enumerate((one, two, three))
    ]
    joined = named[0].join(named[1], ["ts"], "left").join(named[2], ["ts"], "left")
    return joined.selectExpr("cast(ts as long)", "v0", "v1", "v2")


def null_safe(how: str) -> Join:
    """Keys may be null, and null is equal to null; the second key is a window."""

    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        one = left.select(F.col("k").alias("lk"), F.col("t").alias("l"), F.timestamp_seconds("t").alias("lt"))
        other = right.select(F.col("k").alias("rk"), F.col("t").alias("r"), F.timestamp_seconds("t").alias("rt"))
        one = one.withWatermark("lt", "10 seconds").select("lk", "l", F.window("lt", "10 seconds").alias("lw"))
        other = other.withWatermark("rt", "10 seconds").select("rk", "r", F.window("rt", "10 seconds").alias("rw"))
        return one.join(other, F.expr("lk <=> rk and l = r and lw = rw"), how).select("lk", "l", "rk", "r")

    return join


def null_keys(left: DataFrame, right: DataFrame) -> DataFrame:
    return left.alias("l").join(right.alias("r"), F.expr("l.v <=> r.v")).select("l.v", "r.v")


def by_time(how: str) -> Join:
    """On a key and event time itself, without delay."""

    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        named = [
            df.select("k", F.timestamp_seconds("t").alias("ts")).withWatermark("ts", "0 seconds")
            for df in (left, right)
        ]
        return named[0].join(named[1], ["k", "ts"], how).selectExpr("k", "cast(ts as long)")

    return join


def beside(plain: DataFrame, left: DataFrame, right: DataFrame) -> DataFrame:
    one, other = sides(left, right)
    joined = one.join(other, F.expr("lk = rk and lt = rt")).select("lk", "lv", "rv")
    return plain.select("v", "v", "v").union(joined)


EXCLUDED = (
    step([1, 2, 3], [3, 4, 5]),
    step([20], [21]),
    step([], [20], restart=True),
    step([50], [50]),
)
WINDOWS = (
    step([1, 2, 3, 4, 5], [3, 4, 5, 6, 7]),
    step([21], [22], restart=True),
    step([22], []),
    step([1], [], restart=True),
    step([], [5]),
    step([60], [60]),
)
VIOLATED = (
    step([1, 2, 3], [1, 2, 3]),
    step([20], [21]),
    step([], [20]),
    step([40, 41], [40, 41], restart=True),
    step([101, 102], [101, 102]),
    step([1000], [1001]),
)
RANGE = (
    step([(1, 5), (3, 5)], []),
    step([], [(1, 10), (2, 5)]),
    step([], [(1, 11)]),
    step([(1, 7), (1, 30)], [], restart=True),
    step([], [(0, 30)]),
    step([(1, 20), (1, 21)], [(1, 26), (1, 20)]),
    step([(9, 90)], [(9, 96)]),
    step([(9, 200)], [(9, 200)]),
)
LONG = tuple(Step(tuple([(k, t * 40) for k, t in rows] for rows in s.rows), s.restart) for s in RANGE)
SELF = (
    step([(k, k) for k in range(1, 6)]),
    step([(k, k) for k in range(6, 11)], restart=True),
    step([(k, k) for k in range(11, 16)]),
    step([(100, 100)]),
)
BOUNDS = "lt between rt - interval 5 seconds and rt + interval 5 seconds"
MINUTES = "lt between rt - interval '3:20' minute to second and rt + interval 3 minutes 20 seconds"
OPEN = (
    step([(1, 5)], []),
    step([], [(1, 11)]),
    step([], [(1, 10)]),
    step([(1, 3), (1, 30)], [], restart=True),
    step([], [(0, 30)]),
    step([], [(1, 20), (1, 21), (1, 28)]),
    step([(1, 20), (1, 21)], []),
)
BOTH = (
    step([(1, 20)], []),
    step([], [(1, 14), (1, 15), (1, 25), (1, 26), (1, 30), (1, 31)]),
    step([], [(1, 60)]),
    step([(1, 49), (1, 50), (1, 65), (1, 66)], []),
    step([(1, 30), (1, 31)], []),
    step([], [(1, 80)]),
    step([], [(1, 46), (1, 50)], restart=True),
)
HOW = ("left", "right", "full", "left_semi")
CASES: list[Case] = [
    *(
        Case(
            f"keys alone, {mode}",
            on_keys,
            (
                step([1], []),
                step([], [1, 10]),
                step([10], []),
                step([], [1]),
                step([1], [], restart=True),
                step([100], [100]),
            ),
            TWO,
            mode,
            3,
        )
        for mode in ("append", "update")
    ),
    Case(
        "windows without a watermark",
        windowed("inner", delay=None),
        (step([1], []), step([], [1]), step([25], [], restart=True), step([], [25]), step([1], []), step([5], [5])),
        TWO,
    ),
    Case(
        "windows, one watermark",
        one_watermark,
        (step([1], []), step([], [1]), step([25], [], restart=True), step([], [25]), step([], [1]), step([5], [])),
        TWO,
    ),
    Case("a range with one bound", ranged("inner", "lt < rt - interval 5 seconds"), OPEN, KEYED),
    Case(
        "a range with one bound, left",
        ranged("left", "lt < rt - interval 5 seconds and lt > rt - interval 1 hour"),
        OPEN,
        KEYED,
    ),
    Case(
        "a range with two bounds",
        ranged(
            "inner", "lt between rt - interval 10 seconds and rt + interval 5 seconds", ("20 seconds", "30 seconds")
        ),
        BOTH,
        KEYED,
    ),
    Case("with itself", with_itself("inner"), SELF, KEYED[:1]),
    *(Case(f"with itself, {how}", with_itself(how), SELF, KEYED[:1]) for how in HOW),
    Case(
        "three streams",
        of_three,
        (step([1, 5], [1, 5, 10], [5, 10]), step([10], [], [1], restart=True)),
        ("v int",) * 3,
    ),
    Case(
        "three streams, left",
        outer_of_three,
        (
            step([(1, 20)], [(1, 20)], [(1, 20)]),
            step([(2, 21)], [(2, 21)], []),
            step([(3, 22)], [], [(3, 22)]),
            step([(4, 23)], [], [], restart=True),
            step([(5, 24)], [(5, 24)], [(5, 24)]),
            step([(6, 100)], [(6, 100)], [(6, 100)]),
        ),
        ("k int, t int",) * 3,
    ),
    Case("keys that are null", null_keys, (step([1, 5, None], [1, None]), step([None], [5], restart=True)), TWO),
    Case("keys that are null match nothing", on_keys, (step([1, None], [None, 1]), step([None], [None])), TWO),
    *(
        Case(
            f"keys that are null, {how}",
            null_safe(how),
            (
                step([(1, 1), (None, 2), (1, 3), (None, 4)], [(1, 3), (None, 4), (1, 6)]),
                step([(1, 21)], [(1, 22)], restart=True),
                step([(None, 60)], [(None, 60)]),
            ),
            KEYED,
        )
        for how in ("left", "full")
    ),
    *(Case(f"windows, {how}", windowed(how), WINDOWS, TWO) for how in ("inner", *HOW)),
    Case("windows, left_semi, update", windowed("left_semi"), WINDOWS, TWO, "update", 3),
    *(Case(f"a condition on the left, {how}", windowed(how, "lv > 4"), EXCLUDED, TWO) for how in HOW),
    *(Case(f"a condition on the right, {how}", windowed(how, "rv > 9"), EXCLUDED, TWO) for how in HOW),
    *(
        Case(f"a condition that fails, {how}", windowed(how, "lv > 10 and (rv < 300 or rv > 1000)"), VIOLATED, TWO)
        for how in ("left", "full")
    ),
    *(Case(f"a range, {how}", ranged(how, BOUNDS), RANGE, KEYED) for how in ("inner", *HOW)),
    *(Case(f"a range of minutes, {how}", ranged(how, MINUTES, ("400 seconds",) * 2), LONG, KEYED) for how in HOW[:2]),
    *(
        Case(
            f"event time is the key, {how}",
            by_time(how),
            (
                step([(1, 1), (2, 2)], [(2, 2), (3, 1)]),
                step([(4, 3)], []),
                step([], [(4, 3), (5, 4)]),
                step([(6, 9)], [(6, 9)]),
            ),
            KEYED,
        )
        for how in ("left", "full")
    ),
    Case(
        "rows end and rows match at once, left",
        ranged("left", "lt between rt - interval 30 seconds and rt + interval 30 seconds", ("0 seconds",) * 2),
        (step([(1, 10)], [(1, 60)]), step([(1, 3600)], [(1, 3660)]), step([(1, 5400)], []), step([], [(1, 5410)])),
        KEYED,
    ),
    Case(
        "unmatched before, matched after, left",
        ranged("left", "lt between rt - interval 30 seconds and rt + interval 30 seconds", ("2 minutes", "4 minutes")),
        (
            step([(1, 10), (1, 86_400), (1, 90_000)], [(1, 86_410), (1, 89_999), (1, 93_600)]),
            step([(2, 200_000)], [(2, 200_000)]),
        ),
        KEYED,
    ),
    Case(
        "beside a stream without state",
        beside,
        (step([11, 12], [11, 12, 13], [13, 14]), step([21], [14], [12, 13], restart=True)),
        ("v int",) * 3,
    ),
]
