"""Plans as values that JSON can hold, and the DataFrames that they stand for.

A plan is a dict with its `op`, the name of a function of this module, what that takes, and the plans below it. Rows of
every stream have the columns of `SCHEMA`; `ts` is the event time, and negative ids are of the rows at a stream's end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# What is pickled must not need this file where it is unpickled.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

SCHEMA = "id long, k int, l long, d double, m decimal(10,2), s string, b boolean, ts timestamp"
STATIC_SCHEMA = "sk int, sn string, sw double"
Plan = dict[str, Any]


class Sources(NamedTuple):
    """Where the rows are, of streams or of a batch."""

    streams: Sequence[DataFrame]
    static: DataFrame


Op = Callable[[Plan, Sources], DataFrame]
_OPS: dict[str, Op] = {}


def build(plan: Plan, sources: Sources) -> DataFrame:
    return _OPS[plan["op"]](plan, sources)


def op(function: Op) -> Op:
    _OPS[function.__name__] = function
    return function


def below(plan: Plan) -> Iterator[Plan]:
    """The plan and all plans below it."""
    yield plan
    for part in ("of", "left", "right"):
        if part in plan:
            yield from below(plan[part])


def columns(named: Sequence[tuple[str, str]]) -> list[Column]:
    return [F.expr(sql).alias(name) for name, sql in named]


@op
def stream(plan: Plan, sources: Sources) -> DataFrame:
    return sources.streams[plan["n"]]


@op
def watermark(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).withWatermark("ts", f"{plan['delay']} milliseconds")


@op
def filter(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).where(plan["where"])


@op
def project(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).select(*columns(plan["columns"]))


@op
def union(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["left"], sources).unionByName(build(plan["right"], sources))


@op
def lookup(plan: Plan, sources: Sources) -> DataFrame:
    """A join with the static table."""
    return build(plan["of"], sources).join(sources.static, F.expr(plan["on"]), plan["how"])


@op
def asked(plan: Plan, sources: Sources) -> DataFrame:
    """A column that a subquery over the static table gives."""
    return build(plan["of"], sources).select("*", QUESTIONS[plan["question"]](sources.static).alias(plan["as"]))


@op
def unpivot(plan: Plan, sources: Sources) -> DataFrame:
    df = build(plan["of"], sources)
    kept = [name for name in df.columns if name not in plan["values"]]
    return df.unpivot(kept, plan["values"], *plan["as"])


@op
def explode(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).selectExpr("*", f"{plan['by']}({plan['sql']}) as {plan['as']}")


@op
def user(plan: Plan, sources: Sources) -> DataFrame:
    """A column that a function of the user's gives."""
    function = USER_FUNCTIONS[plan["function"]]()
    return build(plan["of"], sources).select("*", function(F.expr(plan["sql"])).alias(plan["as"]))


@op
def mapped(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).mapInPandas(_without_some, SCHEMA)


@op
def window(plan: Plan, sources: Sources) -> DataFrame:
    """An aggregation by windows of event time, which is the windows' from here on."""
    grouped = _windows(plan, sources)
    names = [name for name, _ in [*plan["by"], *plan["aggregates"]]]
    return grouped.select(F.window_time("window").alias("ts"), F.col("window.start").alias("start"), *names)


@op
def session(plan: Plan, sources: Sources) -> DataFrame:
    by = [F.expr(f"session_window(ts, {plan['gap']})").alias("w"), *columns(plan["by"])]
    grouped = build(plan["of"], sources).groupBy(*by).agg(*columns(plan["aggregates"]))
    names = [name for name, _ in [*plan["by"], *plan["aggregates"]]]
    return grouped.select(F.col("w.start").alias("start"), F.col("w.end").alias("end"), *names)


@op
def group(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).groupBy(*columns(plan["by"])).agg(*columns(plan["aggregates"]))


@op
def dedup(plan: Plan, sources: Sources) -> DataFrame:
    return build(plan["of"], sources).select(*plan["by"]).dropDuplicates()


@op
def join(plan: Plan, sources: Sources) -> DataFrame:
    """Of two streams, on keys and on times that are near; the time of the left goes on."""
    left, right = (build(plan[side], sources).where("ts is not null") for side in ("left", "right"))
    near = [
        f"l.ts >= r.ts - interval {plan['before']} milliseconds",
        f"l.ts <= r.ts + interval {plan['after']} milliseconds",
    ]
    on = " and ".join([f"l.{key} = r.{key}" for key in plan["keys"]] + near + plan["also"])
    both = left.alias("l").join(right.alias("r"), F.expr(on), plan["how"])
    if plan["how"] == "left_semi":
        return both
    theirs = [F.expr("unix_millis(r.ts)").alias("r_at")]
    theirs += [F.col(f"r.{name}").alias(f"r_{name}") for name in right.columns if name != "ts"]
    return both.select(*[F.col(f"l.{name}") for name in left.columns], *theirs)


@op
def join_windows(plan: Plan, sources: Sources) -> DataFrame:
    """Of two aggregations by the same windows and keys."""
    left, right = (_windows(plan[side], sources) for side in ("left", "right"))
    by = [name for name, _ in plan["left"]["by"]]
    taken = [F.col(name).alias(f"r_{name}") for name, _ in plan["right"]["aggregates"]]
    both = left.join(right.select("window", *by, *taken), ["window", *by], plan["how"])
    others = [name for name in both.columns if name != "window"]
    return both.select(F.col("window.start").alias("start"), *others)


@op
def top(plan: Plan, sources: Sources) -> DataFrame:
    df = build(plan["of"], sources)
    return df.orderBy(*df.columns).limit(plan["n"])


def _windows(plan: Plan, sources: Sources) -> DataFrame:
    sizes = [f"{plan[name]} milliseconds" for name in ("size", "slide", "start")]
    by = [F.window("ts", *sizes), *columns(plan["by"])]
    return build(plan["of"], sources).groupBy(*by).agg(*columns(plan["aggregates"]))


def _twice(x: int | None) -> int | None:
    return None if x is None else x * 2 % 1000


def _sign(x: int | None) -> str | None:
    return None if x is None else "-" if x < 0 else "+"


def _less_one(x: pd.Series) -> pd.Series:
    return x - 1


def _halves(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for batch in batches:
        yield batch / 2


def _without_some(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[(frame["id"] < 0) | (frame["id"] % 3 != 1)]


QUESTIONS: dict[str, Callable[[DataFrame], Column]] = {
    "highest": lambda static: static.select(F.max("sk")).scalar(),
    "none": lambda static: static.where("sk > 99").select("sk").scalar(),
    "all": lambda static: static.select(F.count("*")).scalar(),
    "in": lambda static: F.col("k").isin(static.select("sk")),
    "in, or else": lambda static: F.col("k").isin(static.select("sk")) | F.col("b"),
    "exists": lambda static: static.where(F.col("sk") == F.col("k").outer()).exists(),
    "exists, ordered": lambda static: static.where(F.col("sw") < F.col("id").outer()).exists(),
    "some": lambda static: static.where("sw > 1").exists(),
}
# Made where they are used: a pandas UDF looks at its annotations with the help of a running Spark.
USER_FUNCTIONS: dict[str, Callable[[], Any]] = {
    "twice": lambda: F.udf(_twice, "long", useArrow=False),
    "twice by Arrow": lambda: F.udf(_twice, "long", useArrow=True),
    "sign": lambda: F.udf(_sign, "string", useArrow=False),
    "less one": lambda: F.pandas_udf(_less_one, "double"),
    "halves": lambda: F.pandas_udf(_halves, "double"),
}
"""All of whole numbers, which come as doubles to pandas where one is null."""
