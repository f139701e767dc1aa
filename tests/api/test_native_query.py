"""A query on Headway's nodes, through the same handle as Spark's."""

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headway import Headway, InvalidOption, StreamingQueryFailed
from headway.query import StreamingQuery
from headway.testing import MemoryStream


@pytest.fixture
def stream(spark: SparkSession) -> MemoryStream:
    made = MemoryStream(spark, "id long, word string")
    made.addData((1, "one"), (2, "two"), (3, "three"))
    return made


def start(hw: Headway, df: DataFrame, name: str, checkpoint: Path | None = None) -> StreamingQuery:
    writer = hw.writeStream(df).format("memory").latency("500 ms").queryName(name)
    if checkpoint is not None:
        writer.option("checkpointLocation", str(checkpoint))
    return writer.start(fallback=False)


def test_results_can_be_read_and_progress_tells_of_them(hw: Headway, stream: MemoryStream, spark: SparkSession) -> None:
    query = start(hw, stream.toDF().where("id > 1").select("word"), "words")
    assert query.status["isTriggerActive"]
    query.processAllAvailable()
    assert sorted(row.word for row in spark.table("words").collect()) == ["three", "two"]
    assert (query.engine, query.name, query.isActive) == ("headway", "words", True)
    query.stop()
    assert sum(progress.numInputRows for progress in query.recentProgress) == 3
    assert sum(progress.sink.numOutputRows for progress in query.recentProgress) == 2
    own = [progress["headway"] for progress in query.recentProgress]
    assert sum(one["met"] + one["missed"] for one in own) == 2
    assert own[-1]["targetMs"] == 500.0
    assert query.status == {"message": "Stopped", "isDataAvailable": False, "isTriggerActive": False}
    assert query.exception() is None


def test_a_restart_keeps_the_id_and_goes_on(
    hw: Headway, stream: MemoryStream, spark: SparkSession, tmp_path: Path
) -> None:
    first = start(hw, stream.toDF(), "again", tmp_path)
    first.processAllAvailable()
    first.stop()
    stream.addData((4, "four"))
    second = start(hw, stream.toDF(), "again", tmp_path)
    second.processAllAvailable()
    second.stop()
    assert (first.id, first.runId != second.runId) == (second.id, True)
    assert sorted(row.id for row in spark.table("again").collect()) == [1, 2, 3, 4]


def test_a_temporary_checkpoint_goes_with_the_query(
    hw: Headway, stream: MemoryStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    df = stream.toDF()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    query = start(hw, df, "temporary")
    (made,) = tmp_path.glob("headway-checkpoint-*")
    assert (made / "metadata").exists()
    query.stop()
    assert not made.exists()


def test_the_users_own_error_ends_the_query_and_no_other(hw: Headway, stream: MemoryStream) -> None:
    def divide(df: DataFrame, epoch: int) -> None:
        raise ZeroDivisionError("the user's own mistake")

    healthy = start(hw, stream.toDF(), "healthy")
    failing = hw.writeStream(stream.toDF()).foreachBatch(divide).start(fallback=False)
    with pytest.raises(StreamingQueryFailed, match="the user's own mistake"):
        failing.awaitTermination(60)
    assert "mistake" in failing.status["message"]
    assert healthy.isActive
    healthy.processAllAvailable()
    healthy.stop()


def test_available_now_ends_by_itself(hw: Headway, stream: MemoryStream, spark: SparkSession) -> None:
    writer = hw.writeStream(stream.toDF()).format("memory").queryName("now").trigger(availableNow=True)
    query = writer.start(fallback=False)
    assert query.awaitTermination(60) is True
    assert spark.table("now").count() == 3


def test_a_table(hw: Headway, stream: MemoryStream, spark: SparkSession, tmp_path: Path) -> None:
    writer = hw.writeStream(stream.toDF()).option("path", str(tmp_path / "rows"))
    query = writer.toTable("native_rows", checkpointLocation=str(tmp_path / "checkpoint"), fallback=False)
    try:
        query.processAllAvailable()
        query.stop()
        assert spark.table("native_rows").count() == 3
    finally:
        spark.sql("DROP TABLE native_rows")


def test_its_checkpoint_is_not_given_to_spark(
    hw: Headway, stream: MemoryStream, unsupported: DataFrame, tmp_path: Path
) -> None:
    start(hw, stream.toDF(), "owner", tmp_path).stop()
    writer = hw.writeStream(unsupported).format("noop").option("checkpointLocation", str(tmp_path))
    with pytest.raises(InvalidOption, match="was written by Headway"):
        writer.start()


def test_explain_shows_the_dataflow(hw: Headway, stream: MemoryStream, capsys: pytest.CaptureFixture[str]) -> None:
    df = stream.toDF().where("id > 1")
    hw.explain(df)
    assert "Filter" in capsys.readouterr().out
    query = start(hw, df, "explained")
    query.explain()
    query.stop()
    assert "Filter" in capsys.readouterr().out
