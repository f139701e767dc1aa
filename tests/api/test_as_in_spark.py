"""A program that was written for Spark sees the same of a query: its errors, its progress, and what is refused."""

import queue
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    PySparkException,
    PySparkValueError,
    StreamingQueryException,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQueryListener

from headway import Headway

Writer = Callable[[DataFrame], Any]


class Ends(StreamingQueryListener):  # type: ignore[misc]
    def __init__(self) -> None:
        self.events: queue.Queue[Any] = queue.Queue()

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None:
        self.events.put(event)


@pytest.fixture(params=["spark", "headway"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write(engine: str, hw: Headway) -> Writer:
    return hw.writeStream if engine == "headway" else lambda df: df.writeStream


@pytest.fixture
def streams(engine: str, hw: Headway, spark: SparkSession) -> Any:
    return hw.streams if engine == "headway" else spark.streams


@pytest.fixture(scope="module")
def rows(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Two rows, the second of which can be neither divided by nor cast."""
    files = str(tmp_path_factory.mktemp("rows") / "rows")
    spark.createDataFrame([(1, "1"), (0, "b")], "id int, s string").coalesce(1).write.parquet(files)
    return spark.readStream.schema("id int, s string").parquet(files)


def fail(*arguments: Any) -> Any:
    raise RuntimeError("the user's own mistake")


class FailingWriter:
    process = staticmethod(fail)


FAILURES: dict[str, Callable[[Writer, DataFrame], Any]] = {
    "PYTHON_EXCEPTION in a UDF": lambda write, df: write(df.select(F.udf(fail, "int")("id"))).format("noop"),
    "PYTHON_EXCEPTION in foreach": lambda write, df: write(df).foreach(FailingWriter()),
    "FOREACH_BATCH_USER_FUNCTION_ERROR": lambda write, df: write(df).foreachBatch(fail),
    "DIVIDE_BY_ZERO": lambda write, df: write(df.select(1 / F.col("id"))).format("noop"),
    "CAST_INVALID_INPUT": lambda write, df: write(df.select(F.col("s").cast("int"))).format("noop"),
    "USER_RAISED_EXCEPTION": lambda write, df: write(df.select(F.raise_error("s"))).format("noop"),
}


def test_why_a_query_failed(write: Writer, streams: Any, rows: DataFrame) -> None:
    listener = Ends()
    streams.addListener(listener)
    started = {why.split()[0] + f"_{n}": make(write, rows).start() for n, (why, make) in enumerate(FAILURES.items())}
    try:
        told = [listener.events.get(timeout=60) for _ in started]
    finally:
        streams.removeListener(listener)
    conditions = {str(event.id): event.errorClassOnException for event in told}
    assert conditions == {query.id: why.rpartition("_")[0] for why, query in started.items()}
    for query in started.values():
        with pytest.raises(StreamingQueryException) as raised:
            query.awaitTermination(60)
        check_error(raised.value, query)
        assert not query.isActive
        assert isinstance(query.exception(), StreamingQueryException)
        assert query.status["message"].startswith("Terminated with exception: ")
        with pytest.raises(StreamingQueryException):
            query.processAllAvailable()
        query.stop()


def check_error(error: PySparkException, query: Any) -> None:
    assert (error.getCondition(), error.getSqlState()) == ("STREAM_FAILED", "XXKST")
    parameters = error.getMessageParameters()
    assert parameters is not None
    assert set(parameters) == {"id", "runId", "message"}
    assert (parameters["id"], parameters["runId"]) == (query.id, query.runId)
    assert query.runId in str(error)
    assert parameters["message"].splitlines()[0] in str(error)


def test_the_last_progress_tells_of_the_last_rows(write: Writer, rows: DataFrame) -> None:
    taken: list[tuple[int, int]] = []
    query = write(rows).foreachBatch(lambda df, id: taken.append((id, len(df.collect())))).start()
    query.processAllAvailable()
    query.stop()
    assert taken == [(0, 2)]
    assert (query.lastProgress.batchId, query.lastProgress.numInputRows) == (0, 2)


@pytest.mark.parametrize("trigger", ["once", "availableNow"])
def test_a_query_that_ends_by_itself(write: Writer, rows: DataFrame, trigger: str) -> None:
    query = write(rows).format("noop").trigger(**{trigger: True}).start()
    assert query.awaitTermination(60) is True
    (progress,) = query.recentProgress
    assert (progress.batchId, progress.numInputRows, progress.sink.numOutputRows) == (0, 2, 2)
    assert (query.isActive, query.exception(), query.status["message"]) == (False, None, "Stopped")


@pytest.mark.parametrize("timeout", ["soon", -1, [1]])
def test_a_timeout_that_is_none(write: Writer, streams: Any, rows: DataFrame, timeout: Any) -> None:
    query = write(rows).format("noop").start()
    for wait in (query.awaitTermination, streams.awaitAnyTermination):
        with pytest.raises(PySparkValueError) as raised:
            wait(timeout)
        assert raised.value.getCondition() == "VALUE_NOT_POSITIVE"
    query.stop()


def test_a_name_that_is_taken(write: Writer, rows: DataFrame) -> None:
    name = f"taken_{uuid.uuid4().hex}"
    query = write(rows).format("noop").queryName(name).start()
    with pytest.raises(IllegalArgumentException, match=name):
        write(rows).format("noop").queryName(name).start()
    query.stop()


REFUSED: dict[str, Callable[[Any, str], Any]] = {
    "path": lambda writer, to: writer.format("parquet").option("path", f"{to}/a").start(f"{to}/b"),
    "checkpointLocation": lambda writer, to: writer.format("parquet").start(f"{to}/rows"),
    "queryName": lambda writer, to: writer.format("memory").start(),
    "nowhere": lambda writer, to: writer.format("parquet").partitionBy("nowhere").start(f"{to}/rows"),
    "update": lambda writer, to: writer.format("parquet").outputMode("update").start(f"{to}/rows"),
    "continuous": lambda writer, to: writer.foreachBatch(fail).trigger(continuous="1 second").start(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(write: Writer, rows: DataFrame, what: str, tmp_path: Path) -> None:
    writer = write(rows)
    if what != "checkpointLocation":
        writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(AnalysisException, match=what):
        REFUSED[what](writer, str(tmp_path))


def test_the_last_path_counts_where_the_setting_says_so(
    write: Writer, spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    spark.conf.set("spark.sql.legacy.pathOptionBehavior.enabled", "true")
    try:
        writer = write(rows).format("parquet").option("path", str(tmp_path / "first"))
        query = writer.start(str(tmp_path / "last"), checkpointLocation=str(tmp_path / "checkpoint"))
    finally:
        spark.conf.unset("spark.sql.legacy.pathOptionBehavior.enabled")
    query.processAllAvailable()
    query.stop()
    assert spark.read.parquet(str(tmp_path / "last")).count() == 2
    assert not (tmp_path / "first").exists()
