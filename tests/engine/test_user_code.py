"""Functions of the user's inside the nodes: Spark's batch answer, and errors that are the query's own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from engine_cases import Build, Runner, events
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway import StreamingQueryFailed

# What is pickled must not need this file where it is unpickled.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def _plus(x: int | None) -> int | None:
    return None if x is None else x + 1


def _halves(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for batch in batches:
        yield batch / 2


def _known(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame[frame["s"].notna()][["k", "s", "ts"]]


def _in_projections(df: DataFrame) -> DataFrame:
    plain, arrow = F.udf(_plus, "long", useArrow=False), F.udf(_plus, "long", useArrow=True)
    half = F.pandas_udf(_halves, "double")
    return df.where(plain("k") > 1).select(arrow(plain("k")), half("i"), F.when(arrow("k") > 2, half("h")))


def _in_windows(df: DataFrame) -> DataFrame:
    mapped = df.mapInPandas(_known, "k long, s string, ts timestamp").withWatermark("ts", "0 seconds")
    counts = mapped.groupBy(F.window("ts", "10 seconds"), F.udf(_plus, "long")("k").alias("k")).count()
    return counts.select("window.start", "k", F.udf(_plus, "long")("count").alias("n"))


CASES: dict[str, tuple[Build, str]] = {
    "projections and filters": (_in_projections, "append"),
    "around a window": (_in_windows, "complete"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_sparks(run: Runner, case: str) -> None:
    build, output = CASES[case]
    run.check(f"user code {case}", build, events(), output=output)


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_an_iterator_udf_sets_up_once(once: Runner, tmp_path: Path, isolation: str) -> None:
    folder = str(tmp_path)

    def shifted(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        tempfile.mkstemp(dir=folder)
        for batch in batches:
            yield batch + 100

    stream = once.stream("k long", partitions=1)
    df = stream.toDF().select(F.pandas_udf(shifted, "long")("k"))
    query = once.start(df, **{"headway.nodes": "1", "headway.udf.isolation": isolation})
    for k in range(4):
        stream.addData((k,))
        query.processAllAvailable()
    assert sorted(once.table(query)) == [(100,), (101,), (102,), (103,)]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_function_raises_fails_its_own_query(once: Runner) -> None:
    stream = once.stream("k long")

    def reciprocal(x: int) -> float:
        return 1 / x

    failing = once.start(stream.toDF().select(F.udf(reciprocal, "double")("k")))
    other = once.start(stream.toDF())
    stream.addData((1,), (0,))
    with pytest.raises(StreamingQueryFailed, match=r"(?s)in reciprocal.*ZeroDivisionError: division by zero"):
        failing.awaitTermination()
    assert isinstance(failing.exception().__cause__, ZeroDivisionError)
    other.processAllAvailable()
    assert sorted(once.table(other)) == [(0,), (1,)]
