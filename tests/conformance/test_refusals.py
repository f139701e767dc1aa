"""What Spark refuses to stream is refused, at `start`, and by its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from watermark_cases import timed

from headway import Headway, UnsupportedPlan
from headway.testing import MemoryStream

NEAR = "lv = v and lt between ts - interval 5 seconds and ts"
Build = Callable[[DataFrame, DataFrame], DataFrame]


def joined(how: str, condition: str = NEAR, left_delay: str | None = "10 seconds") -> Build:
    def join(left: DataFrame, right: DataFrame) -> DataFrame:
        one = left.select(F.col("v").alias("lv"), F.timestamp_seconds("v").alias("lt"))
        one = one.withWatermark("lt", left_delay) if left_delay else one
        other = timed(right) if left_delay else right.withColumn("ts", F.timestamp_seconds("v"))
        return one.join(other, F.expr(condition), how)

    return join


def sessions(left: DataFrame, right: DataFrame) -> DataFrame:
    return timed(left).groupBy(F.session_window("ts", "5 seconds"), "v").count()


def watermarked_twice(left: DataFrame, right: DataFrame) -> DataFrame:
    again = timed(left).withColumn("t", F.timestamp_seconds("v")).select("*").withWatermark("t", "2 minutes")
    return again.groupBy(F.window("t", "1 minute")).count()


REFUSED: dict[str, tuple[Build, str, type[Exception], str]] = {
    "append without a watermark": (
        lambda a, b: a.groupBy("v").count(), "append", AnalysisException, "without watermark"),
    "left join, update": (joined("left"), "update", AnalysisException, "not supported in Update"),
    "right join, update": (joined("right"), "update", AnalysisException, "not supported in Update"),
    "full join, update": (joined("full"), "update", AnalysisException, "not supported in Update"),
    "left join without a watermark": (
        joined("left", left_delay=None), "append", AnalysisException, "without a watermark"),
    "semi join without a watermark": (
        joined("left_semi", left_delay=None), "append", AnalysisException, "without a watermark"),
    "anti join": (joined("left_anti"), "append", AnalysisException, "LeftAnti"),
    "a join without an equality": (joined("inner", "lv < v"), "append", UnsupportedPlan, "without an equality"),
    "sessions, update": (sessions, "update", AnalysisException, "session window"),
    "within the watermark that is not there": (
        lambda a, b: a.dropDuplicatesWithinWatermark(), "append", AnalysisException, "without watermark"),
    "windows of sessions, update": (
        lambda a, b: sessions(a, b).groupBy(F.window("session_window", "1 minute")).count(),
        "update", AnalysisException, "global watermark"),
    "sorted rows": (lambda a, b: a.orderBy("v"), "append", AnalysisException, "Sorting is not supported"),
    "complete without an aggregate": (lambda a, b: a, "complete", AnalysisException, "no streaming aggregations"),
    "two watermarks of a stream": (watermarked_twice, "append", UnsupportedPlan, "a second withWatermark"),
    "two event times before state": (
        lambda a, b: joined("inner")(a, b).dropDuplicates(), "append", UnsupportedPlan, "several such columns"),
}  # fmt: skip
"""A query over two streams, its output mode, what it raises, and what that says."""


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(spark: SparkSession, hw: Headway, name: str) -> None:
    build, mode, error, said = REFUSED[name]
    df = build(MemoryStream(spark, "v int").toDF(), MemoryStream(spark, "v int").toDF())
    with pytest.raises(error, match=said):
        hw.writeStream(df).format("noop").outputMode(mode).start(fallback=False)
