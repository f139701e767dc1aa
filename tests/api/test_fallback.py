"""What Headway cannot run natively runs on Structured Streaming, the user is told why, and the handle is the same."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headway import FallbackWarning, Headway, InvalidOption, UnsupportedPlan
from headway.query import StreamingQuery


def test_one_warning_names_the_node_and_points_at_the_users_line(hw: Headway, unsupported: DataFrame) -> None:
    with pytest.warns(FallbackWarning, match="expression SparkPartitionID") as told:
        query = hw.writeStream(unsupported).format("noop").start()
    query.stop()
    assert len(told) == 1
    assert told[0].filename == __file__


def test_without_fallback_it_is_an_error(hw: Headway, unsupported: DataFrame) -> None:
    with pytest.raises(UnsupportedPlan, match="expression SparkPartitionID"):
        hw.writeStream(unsupported).format("noop").start(fallback=False)
    assert hw.streams.active == []


def test_the_query_runs_with_all_its_settings(hw: Headway, unsupported: DataFrame, spark: SparkSession) -> None:
    writer = hw.writeStream(unsupported).format("memory").latency("750 ms").trigger(processingTime="100 milliseconds")
    with pytest.warns(FallbackWarning):
        query = writer.start(queryName="fallen")
    try:
        query.processAllAvailable()
        assert (query.engine, query.name, query.isActive) == ("spark", "fallen", True)
        assert hw.streams.get(query.id) is query
        assert spark.table("fallen").count() == 20
        assert query.lastProgress is not None
        assert query.lastProgress["headway"] == {"engine": "spark", "targetMs": 750.0}
        assert query.recentProgress[-1].name == "fallen"
        assert query.awaitTermination(0) is False
        assert "isDataAvailable" in query.status
    finally:
        query.stop()
    assert not query.isActive
    assert query.exception() is None
    assert query.awaitTermination(10) is True
    assert hw.streams.get(query.id) is None


def test_explain_prints_sparks_plan(hw: Headway, unsupported: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.warns(FallbackWarning):
        query = hw.writeStream(unsupported).format("noop").start()
    query.processAllAvailable()
    query.explain()
    query.stop()
    assert "Physical Plan" in capsys.readouterr().out


def test_foreach_batch_and_its_error(hw: Headway, unsupported: DataFrame) -> None:
    def fail(df: DataFrame, epoch: int) -> None:
        raise RuntimeError("deliberate failure")

    with pytest.warns(FallbackWarning):
        query = hw.writeStream(unsupported).foreachBatch(fail).start()
    with pytest.raises(Exception, match="deliberate failure"):
        query.awaitTermination(60)
    assert "deliberate failure" in str(query.exception())


def test_a_table(hw: Headway, unsupported: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    writer = hw.writeStream(unsupported).option("path", str(tmp_path / "table"))
    with pytest.warns(FallbackWarning):
        query = writer.toTable("fallen_table", checkpointLocation=str(tmp_path / "checkpoint"))
    try:
        query.processAllAvailable()
        assert spark.table("fallen_table").count() == 20
    finally:
        query.stop()
        spark.sql("DROP TABLE fallen_table")


def test_a_name_can_be_used_once(hw: Headway, unsupported: DataFrame, rate: DataFrame) -> None:
    with pytest.warns(FallbackWarning):
        query = hw.writeStream(unsupported).format("noop").queryName("once").start()
    with pytest.raises(InvalidOption, match="'once' is active"):
        hw.writeStream(rate).format("noop").queryName("once").start()
    query.stop()
    with pytest.warns(FallbackWarning):
        hw.writeStream(unsupported).format("noop").queryName("once").start().stop()


def start(hw: Headway, df: DataFrame, checkpoint: Path, **options: Any) -> StreamingQuery:
    with pytest.warns(FallbackWarning):
        return hw.writeStream(df).format("noop").option("checkpointLocation", str(checkpoint)).start(**options)


def test_a_restart_keeps_the_id(hw: Headway, unsupported: DataFrame, tmp_path: Path) -> None:
    first = start(hw, unsupported, tmp_path)
    first.stop()
    second = start(hw, unsupported, tmp_path)
    second.stop()
    assert first.id == second.id
    assert first.runId != second.runId


def test_a_second_run_on_a_checkpoint_takes_the_place_of_the_first(
    hw: Headway, unsupported: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    first = start(hw, unsupported, tmp_path)
    second = start(hw, unsupported, tmp_path)
    assert (first.isActive, second.isActive) == (False, True)
    spark.conf.set("spark.sql.streaming.stopActiveRunOnRestart", "false")
    try:
        writer = hw.writeStream(unsupported).format("noop").option("checkpointLocation", str(tmp_path))
        with pytest.raises(InvalidOption, match="checkpointLocation"):
            writer.start()
    finally:
        spark.conf.unset("spark.sql.streaming.stopActiveRunOnRestart")
        second.stop()


def test_a_checkpoint_of_headway_is_not_given_to_spark(hw: Headway, unsupported: DataFrame, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text(json.dumps({"id": "6a3ff8ac-6bf7-4f23-b0e8-cc47f4ef2c2c", "engine": "headway"}))
    writer = hw.writeStream(unsupported).format("noop").option("checkpointLocation", str(tmp_path))
    with pytest.raises(InvalidOption, match="new checkpointLocation"):
        writer.start()


def test_a_checkpoint_of_spark_goes_on_in_spark(hw: Headway, rate: DataFrame, tmp_path: Path) -> None:
    spark_query = rate.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    spark_query.stop()
    with pytest.warns(FallbackWarning, match="Structured Streaming wrote it"):
        query = hw.writeStream(rate).format("noop").option("checkpointLocation", str(tmp_path)).start()
    query.stop()
    assert (query.engine, query.id) == ("spark", spark_query.id)
