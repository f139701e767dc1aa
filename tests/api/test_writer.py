"""What the writer refuses, and that the refusal names the thing and the way out."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway, HeadwayError, InvalidOption
from headway.dataflow.query import Trigger
from headway.writer import DataStreamWriter


def test_a_static_dataframe_is_refused_as_spark_does(hw: Headway, spark: SparkSession) -> None:
    with pytest.raises(AnalysisException, match="WRITE_STREAM_NOT_ALLOWED"):
        hw.writeStream(spark.range(3))


@pytest.mark.parametrize("target", ["soon", "", "-1 second", "0 ms", 0, -2, "1 month"])
def test_a_bad_latency(hw: Headway, rate: DataFrame, target: Any) -> None:
    with pytest.raises(InvalidOption, match="800 ms"):
        hw.writeStream(rate).latency(target)


def test_a_bad_output_mode(hw: Headway, rate: DataFrame) -> None:
    with pytest.raises(IllegalArgumentException, match="backwards"):
        hw.writeStream(rate).outputMode("backwards")


@pytest.mark.parametrize(
    "arguments",
    [{}, {"once": True, "availableNow": True}, {"processingTime": ""}, {"once": False}, {"processingTime": "soon"}],
)
def test_bad_triggers(hw: Headway, rate: DataFrame, arguments: Any) -> None:
    with pytest.raises((PySparkException, InvalidOption)):
        hw.writeStream(rate).trigger(**arguments)


@pytest.mark.parametrize(
    ("arguments", "trigger"),
    [
        ({"processingTime": "2 seconds"}, Trigger("processingTime", 2.0)),
        ({"processingTime": "0 seconds"}, Trigger()),
        ({"continuous": "1 second"}, Trigger("continuous", 1.0)),
        ({"realTime": "5 minutes"}, Trigger("continuous", 300.0)),
        ({"once": True}, Trigger("once")),
        ({"availableNow": True}, Trigger("availableNow")),
    ],
)
def test_good_triggers(hw: Headway, rate: DataFrame, arguments: Any, trigger: Trigger) -> None:
    assert hw.writeStream(rate).trigger(**arguments)._settings.trigger == trigger


def test_options_keep_the_last_value_whatever_the_case(hw: Headway, rate: DataFrame) -> None:
    writer = hw.writeStream(rate).option("Header", True).options(header=False, sep=None, maxRows=3)
    assert writer._settings.options == {"header": "false", "maxRows": "3"}


def test_every_method_gives_the_writer_back(hw: Headway, rate: DataFrame) -> None:
    writer = hw.writeStream(rate)
    steps = [
        writer.format("noop"),
        writer.partitionBy("value"),
        writer.partitionBy(["value"]),
        writer.queryName("chained"),
        writer.latency("1 second"),
        writer.ordered(),
        writer.foreach(print),
        writer.foreachBatch(lambda df, epoch: None),
    ]
    assert all(step is writer for step in steps)


@pytest.mark.parametrize("function", [None, 3, object()])
def test_foreach_wants_a_function_or_an_object_with_process(hw: Headway, rate: DataFrame, function: Any) -> None:
    with pytest.raises(PySparkException, match="process"):
        hw.writeStream(rate).foreach(function)


def test_foreach_batch_wants_a_function(hw: Headway, rate: DataFrame) -> None:
    with pytest.raises(InvalidOption, match="foreachBatch takes a function"):
        hw.writeStream(rate).foreachBatch("print")  # type: ignore[arg-type]


def refused(writer: DataStreamWriter, *arguments: str) -> str:
    with pytest.raises((HeadwayError, AnalysisException)) as caught:
        writer.start(*arguments)
    return str(caught.value)


def test_append_needs_a_watermark_as_in_spark(hw: Headway, rate: DataFrame) -> None:
    counts = rate.groupBy((F.col("value") % 3).alias("k")).count()
    assert "watermark" in refused(hw.writeStream(counts).format("noop").outputMode("append"))


def test_complete_needs_an_aggregation_as_in_spark(hw: Headway, rate: DataFrame) -> None:
    assert "omplete" in refused(hw.writeStream(rate).format("noop").outputMode("complete"))


def test_a_file_sink_needs_a_checkpoint(hw: Headway, rate: DataFrame, tmp_path: Path) -> None:
    assert "checkpointLocation" in refused(hw.writeStream(rate).format("parquet"), str(tmp_path / "out"))


def test_a_file_sink_needs_a_path(hw: Headway, rate: DataFrame, tmp_path: Path) -> None:
    assert "path" in refused(hw.writeStream(rate).format("parquet").option("checkpointLocation", str(tmp_path)))


def test_the_memory_sink_needs_a_name(hw: Headway, rate: DataFrame) -> None:
    assert "queryName" in refused(hw.writeStream(rate).format("memory"))


def test_an_unknown_format(hw: Headway, rate: DataFrame, tmp_path: Path) -> None:
    writer = hw.writeStream(rate).format("parkett").option("checkpointLocation", str(tmp_path))
    assert "'parkett'" in refused(writer)


def test_an_unknown_option(hw: Headway, rate: DataFrame) -> None:
    assert "'numRow'" in refused(hw.writeStream(rate).format("console").option("numRow", 3))


def test_a_checkpoint_that_cannot_be_written(hw: Headway, rate: DataFrame, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    location = str(tmp_path / "file" / "below")
    assert location in refused(hw.writeStream(rate).format("noop").option("checkpointLocation", location))


def test_foreach_batch_with_a_continuous_trigger(hw: Headway, rate: DataFrame) -> None:
    writer = hw.writeStream(rate).foreachBatch(lambda df, epoch: None).trigger(continuous="1 second")
    assert "continuous" in refused(writer)


def test_a_bad_option_of_a_source_is_known_at_start(hw: Headway, spark: SparkSession, tmp_path: Path) -> None:
    df = spark.readStream.schema("a int").option("maxFilesPerTrigger", "many").parquet(str(tmp_path))
    assert "maxFilesPerTrigger" in refused(hw.writeStream(df).format("noop"))
