"""Projections, filters, unions and static joins through the whole engine give Spark's batch answer."""

from __future__ import annotations

import pytest
from engine_cases import EVENTS, Build, Runner, events, same, scatter
from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def _sql(df: DataFrame) -> DataFrame:
    df.createOrReplaceTempView("engine_events")
    return df.sparkSession.sql(
        "SELECT upper(s) AS name, k * 10 + coalesce(i, -1) AS total, "
        "CASE WHEN b THEN 'yes' WHEN NOT b THEN 'no' END AS said "
        "FROM engine_events WHERE k IN (1, 2, 3) AND (s IS NULL OR length(s) < 7)"
    )


def _names(df: DataFrame) -> DataFrame:
    """A static table with a key twice, a null key and a key that no row has."""
    rows = [(0, "zero"), (1, "one"), (1, "uno"), (None, "null"), (9, "nine")]
    return df.sparkSession.createDataFrame(rows, "id long, word string")


STATELESS: dict[str, Build] = {
    "every type": lambda df: df,
    "projections": lambda df: df.select(
        (F.col("k") + F.col("i")).alias("sum"),
        (F.col("f") * F.col("d")).alias("product"),
        (F.col("m") / 3).alias("third"),
        F.concat("s", F.lit("-"), F.col("k").cast("string")).alias("text"),
        F.year("day").alias("year"),
        F.date_trunc("hour", "ts").alias("hour"),
        F.hash("k", "s").alias("hash"),
        F.col("m").cast("double").alias("double"),
    ),
    "numbers only": lambda df: df.select((F.col("k") * 2).alias("k"), (F.col("i") % 7).alias("i"), F.sqrt(F.abs("d"))),
    "filters": lambda df: df.where("d > 0 OR k < 3").where("NOT isnan(f)").select("k", "d", "f"),
    "sql": _sql,
    "windows without grouping": lambda df: df.select("k", F.window("ts", "10 seconds", "5 seconds").alias("w")),
    "inner join": lambda df: df.join(_names(df), F.col("k") == F.col("id")).select("k", "word", "d"),
    "left join": lambda df: df.join(_names(df), (F.col("k") == F.col("id")) & (F.col("d") > 0), "left").select(
        "k", "word", "i"
    ),
    "stream on the right": lambda df: (
        _names(df).join(df, F.col("k") == F.col("id"), "right").select("k", "word", "i", F.lit("x").alias("x"))
    ),
    "nothing": lambda df: df.where("k > 1 AND 1 = 2").select("k"),
    "nothing, by a null": lambda df: df.where("cast(null AS boolean)"),
    "none of nothing": lambda df: df.where(F.col("k").isin([])),
    "nothing at all": lambda df: df.limit(0),
    "a union with nothing": lambda df: df.where("false").select("k", "d").union(df.select("i", "d")),
    "a union with no rows": lambda df: df.select("i", "d").union(df.limit(0).select("k", "d")),
    "a union of nothing": lambda df: df.where("false").union(df.limit(0)),
    "a join of nothing": lambda df: df.limit(0).join(_names(df), F.col("k") == F.col("id"), "left"),
    "a join with nothing": lambda df: df.join(_names(df).where("false"), F.col("k") == F.col("id"), "left").select(
        "k", "word"
    ),
    "only what has no match": lambda df: df.join(_names(df).limit(0), F.col("k") == F.col("id"), "anti").select("k"),
    "subqueries": lambda df: df.where(F.col("k") < _names(df).select(F.max("id") - 6).scalar()).select("k", "s"),
    "in and exists": lambda df: df.where(F.col("k").isin(_names(df).select("id")) | (F.col("d") > 1)).select(
        "k", "i", _names(df).where((F.col("id") == F.col("k").outer()) & (F.col("word") > "p")).exists().alias("known")
    ),
    "as many rows as a table": lambda df: df.crossJoin(_names(df)).select("k", "i"),
    "unpivot": lambda df: df.unpivot(["k", "ts"], ["h", "i"], "name", "value"),
    "union": lambda df: df.select("k", "d").where("k > 1").union(df.select("i", "d").where("k <= 1")),
}


@pytest.mark.parametrize("case", STATELESS)
def test_the_answer_is_sparks(run: Runner, case: str) -> None:
    run.check(f"stateless {case}", STATELESS[case], events())


def test_a_stream_used_twice_is_read_once(run: Runner) -> None:
    stream = run.stream()
    df = stream.toDF()
    query = run.start(df.select("k").union(df.select((F.col("k") + 100).alias("k"))))
    rows = events()
    scatter(stream, rows)
    query.processAllAvailable()
    keys = [row[0] for row in rows]
    doubled = keys + [None if key is None else key + 100 for key in keys]
    assert same(run.table(query)) == same([(key,) for key in doubled])
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == len(rows)


def test_two_streams_meet_in_a_union(run: Runner) -> None:
    one, other = run.stream("k long"), run.stream("k long", partitions=1)
    query = run.start(one.toDF().union(other.toDF()))
    scatter(one, [(n,) for n in range(50)])
    scatter(other, [(n,) for n in range(50, 70)])
    query.processAllAvailable()
    assert sorted(run.table(query)) == [(n,) for n in range(70)]
    scatter(other, [(n,) for n in range(70, 75)])
    query.processAllAvailable()
    assert sorted(run.table(query)) == [(n,) for n in range(75)]


def test_rows_that_come_later_are_seen_later(run: Runner) -> None:
    stream = run.stream()
    query = run.start(stream.toDF().where("k = 1"))
    expected = same([row for row in events() if row[0] == 1])
    for piece in range(4):
        scatter(stream, events()[piece * 20 : piece * 20 + 20])
        query.processAllAvailable()
    assert same(run.table(query)) == expected


def test_nothing_comes_of_nothing(run: Runner) -> None:
    stream = run.stream(EVENTS)
    query = run.start(stream.toDF().select("k"))
    query.processAllAvailable()
    stream.addData()
    query.processAllAvailable()
    assert run.table(query) == []
