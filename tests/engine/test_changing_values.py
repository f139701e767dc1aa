"""Functions whose value changes while a query runs: clocks and random numbers."""

from __future__ import annotations

import time
import uuid

from engine_cases import Runner
from pyspark.sql import functions as F


def _millis() -> int:
    return time.time_ns() // 1_000_000


def test_clocks_show_when_rows_are_processed(run: Runner) -> None:
    stream = run.stream("v long")
    clocks = {
        "ts": "current_timestamp()",
        "again": "now()",
        "day": "current_date()",
        "local": "localtimestamp()",
        "seconds": "unix_timestamp()",
        "before": "current_timestamp() - interval 1 hour",
    }
    query = run.start(stream.toDF().selectExpr("v", *(f"{text} AS {name}" for name, text in clocks.items())))
    spans = []
    for step in range(2):
        began = _millis()
        stream.addData((step,), (step,))
        query.processAllAvailable()
        spans.append((began, _millis()))
    said = ["again = ts", "day = to_date(ts)", "local = cast(ts AS timestamp_ntz)", "seconds = unix_seconds(ts)"]
    shown = run.spark.table(str(query.name)).selectExpr(
        "v", "unix_millis(ts)", *said, "ts - before = interval '1' hour"
    )
    rows = [tuple(row) for row in shown.collect()]
    assert len(rows) == 4
    for step, at, *agree in rows:
        assert spans[step][0] <= at <= spans[step][1]
        assert all(agree)


def test_rows_are_chosen_by_the_clock(run: Runner) -> None:
    stream = run.stream("v long, late int")
    due = F.timestamp_seconds(F.col("v"))
    df = stream.toDF().where(due > F.current_timestamp()).select("late")
    query = run.start(df)
    now = _millis() // 1000
    stream.addData((now - 3600, 1), (now + 3600, 0))
    query.processAllAvailable()
    assert run.table(query) == [(0,)]


def test_windows_of_processing_time(run: Runner) -> None:
    stream = run.stream("v long")
    timed = stream.toDF().withColumn("at", F.current_timestamp())
    query = run.start(timed.groupBy(F.window("at", "30 days")).agg(F.sum("v").alias("s")), "complete")
    began = _millis()
    for step in range(3):
        stream.addData((step,), (10,))
        query.processAllAvailable()
    rows = run.spark.table(str(query.name)).selectExpr("unix_millis(window.start)", "unix_millis(window.end)", "s")
    found = [tuple(row) for row in rows.collect()]
    assert sum(row[2] for row in found) == 33
    assert min(row[0] for row in found) <= began
    assert max(row[1] for row in found) > _millis()


def test_event_time_may_be_the_clock(run: Runner) -> None:
    stream = run.stream("v long")
    timed = stream.toDF().withColumn("at", F.current_timestamp()).withWatermark("at", "1 hour")
    query = run.start(timed.dropDuplicates(["v"]).select("v"))
    stream.addData((1,), (2,), (1,))
    query.processAllAvailable()
    stream.addData((2,), (3,))
    query.processAllAvailable()
    assert sorted(run.table(query)) == [(1,), (2,), (3,)]


def test_random_values(run: Runner) -> None:
    stream = run.stream("v long")
    drawn = [F.rand(), F.rand(), F.rand(7), F.randn(), F.uuid(), F.expr("uniform(10, 20)")]
    query = run.start(stream.toDF().select(*(column.alias(f"c{i}") for i, column in enumerate(drawn))))
    stream.addData(*[(n,) for n in range(500)])
    query.processAllAvailable()
    one, other, seeded, normal, ids, between = zip(*run.table(query), strict=True)
    for uniform in (one, other, seeded):
        assert all(0 <= value < 1 for value in uniform)
        assert len(set(uniform)) == 500
        assert 0.4 < sum(uniform) / 500 < 0.6
    assert one != other
    assert -0.3 < sum(normal) / 500 < 0.3
    assert any(value < -1 for value in normal)
    assert any(value > 1 for value in normal)
    assert {uuid.UUID(text).version for text in ids} == {4}
    assert len(set(ids)) == 500
    assert set(between) <= set(range(10, 21))
    assert len(set(between)) > 5


def test_random_texts_and_orders(once: Runner) -> None:
    stream = once.stream("a array<int>")
    query = once.start(stream.toDF().select("a", F.shuffle("a").alias("x"), F.expr("randstr(6)"), F.expr("randstr(0)")))
    arrays = [None, [], [1], [None, 2], *([*range(n % 7)] for n in range(200))]
    stream.addData(*[(array,) for array in arrays])
    query.processAllAvailable()
    rows = once.table(query)
    assert len(rows) == len(arrays)
    for array, shuffled, text, nothing in rows:
        assert (array is None) == (shuffled is None)
        assert sorted(array or [], key=repr) == sorted(shuffled or [], key=repr)
        assert len(text) == 6
        assert text.isascii()
        assert text.isalnum()
        assert nothing == ""
    assert any(array != shuffled for array, shuffled, *_ in rows)
    assert len({text for _, _, text, _ in rows}) > 200
