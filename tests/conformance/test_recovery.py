"""What a checkpoint is good for after a failure, and for what query: as Spark's suites have it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway, InvalidOption, StreamingQueryFailed
from headway.query import StreamingQuery
from headway.testing import MemoryStream

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def start(hw: Headway, df: DataFrame, name: str, checkpoint: Path, mode: str = "update") -> StreamingQuery:
    writer = hw.writeStream(df).format("memory").queryName(name).outputMode(mode)
    return writer.option("checkpointLocation", str(checkpoint)).start(fallback=False)


def rows(spark: SparkSession, query: StreamingQuery) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in spark.table(str(query.name)).collect()}


def test_after_a_failure_in_the_middle_every_row_counts_once(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.touch()

    def checked(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            if 4 in set(frame["v"]) and broken.exists():
                raise ValueError("not now")
            yield frame

    stream = MemoryStream(spark, "v int")
    df = stream.toDF().mapInPandas(checked, "v int").groupBy("v").count()
    query = start(hw, df, "fails_once", tmp_path / "checkpoint")
    stream.addData(1, 2)
    query.processAllAvailable()
    stream.addData(1, 2, 3, 4)
    with pytest.raises(StreamingQueryFailed, match="not now"):
        query.processAllAvailable()
    broken.unlink()
    query = start(hw, df, "fails_no_more", tmp_path / "checkpoint")
    query.processAllAvailable()
    assert rows(spark, query) >= {(1, 2), (2, 2), (3, 1), (4, 1)}
    assert max(count for _, count in rows(spark, query)) == 2
    query.stop()


def changed(df: DataFrame, last: str) -> DataFrame:
    return df.groupBy((F.col("v") % 10).alias("k")).agg(F.sum("v"), F.avg("v"), F.expr(last))


def test_state_of_another_query_is_refused(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "v int")
    query = start(hw, changed(stream.toDF(), "max(v)"), "changes", tmp_path)
    stream.addData(1, 11)
    query.processAllAvailable()
    query.stop()
    with pytest.raises(InvalidOption, match="the query changed since the checkpoint"):
        start(hw, changed(stream.toDF(), "collect_list(v)"), "changed", tmp_path)
    query = start(hw, changed(stream.toDF(), "max(v)"), "changed_back", tmp_path)
    stream.addData(21)
    query.processAllAvailable()
    assert (1, 33, 11.0, 21) in rows(spark, query)
    query.stop()
