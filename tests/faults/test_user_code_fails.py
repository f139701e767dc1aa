"""User code that ends or blocks its process: other queries' results are right, and its own query says what happened."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway import Headway, StreamingQueryFailed
from headway.query import StreamingQuery
from headway.testing import MemoryStream

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def ends(x: int) -> int:
    if x == 3:
        os._exit(9)
    return x


def hangs(x: int) -> int:
    while x == 3:
        time.sleep(0.01)
    return x


def start(hw: Headway, stream: MemoryStream, name: str, code: Callable[[int], int], **options: str) -> StreamingQuery:
    df = stream.toDF().select(F.udf(code, "long")("v").alias("v"))
    writer = hw.writeStream(df).format("memory").queryName(name).option("headway.checkpointInterval", "200 ms")
    return writer.options(**options).start(fallback=False)


# The first takes its node down; then it has a process of its own, where it is told from the other.
CASES: dict[str, tuple[Callable[[int], int], dict[str, str], str]] = {
    "ends, inline": (ends, {}, "query bad_0: 3 times in a row, .* ended its process, with exit code 9"),
    "hangs, inline": (hangs, {"headway.udf.timeout": "3 seconds"}, r"(?s)headway.udf.timeout, 3 s.*in hangs"),
    "hangs, isolated": (
        hangs,
        {"headway.udf.timeout": "3 seconds", "headway.udf.isolation": "process"},
        r"(?s)headway.udf.timeout, 3 s.*in hangs",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_others_go_on(spark: SparkSession, hw: Headway, case: str) -> None:
    code, options, said = CASES[case]
    number = list(CASES).index(case)
    stream = MemoryStream(spark, "v long", partitions=2)
    bad = start(hw, stream, f"bad_{number}", code, **options)
    good = start(hw, stream, f"good_{number}", lambda x: x)
    try:
        for value in range(6):
            stream.addData((value,))
        with pytest.raises(StreamingQueryFailed, match=said):
            bad.awaitTermination()
        stream.addData((6,))
        good.processAllAvailable()
        assert good.exception() is None
        assert sorted(row.v for row in spark.table(f"good_{number}").collect()) == list(range(7))
    finally:
        for query in (bad, good):
            query.stop()
