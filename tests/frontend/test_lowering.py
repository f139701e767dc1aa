"""Plans without state, as printed trees, from DataFrames and from SQL alike."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.dataflow.graph import Source, Union
from headway.dataflow.printing import tree
from headway.dataflow.types import Field
from headway.errors import InvalidOption
from headway.frontend import lower

RATE = "Source rate [timestamp: timestamp, value: bigint] {rowspersecond=5}"


@pytest.fixture
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").option("rowsPerSecond", 5).load()


def printed(df: DataFrame) -> list[str]:
    return tree(lower(df).plan).splitlines()


def test_source(rate: DataFrame) -> None:
    assert printed(rate) == [RATE]


def test_projection_and_filter(rate: DataFrame) -> None:
    assert printed(rate.where("value % 3 = 0").select((F.col("value") + 1).alias("next"), "timestamp")) == [
        "Project [Add(value, 1) AS next, timestamp]",
        "+- Filter And(IsNotNull(value), EqualTo(Remainder(value, 3), 0))",
        f"   +- {RATE}",
    ]


def test_sql_gives_the_same_dataflow(spark: SparkSession, rate: DataFrame) -> None:
    rate.createOrReplaceTempView("ticks")
    sql = spark.sql("SELECT value + 1 AS next, timestamp FROM ticks WHERE value % 3 = 0")
    built = rate.where("value % 3 = 0").select((F.col("value") + 1).alias("next"), "timestamp")
    assert lower(sql).plan == lower(built).plan


def test_a_projection_that_changes_nothing_is_dropped(rate: DataFrame) -> None:
    assert printed(rate.select("timestamp", "value")) == [RATE]


def test_a_renaming_is_kept(rate: DataFrame) -> None:
    assert printed(rate.withColumnRenamed("value", "Value")) == ["Project [timestamp, value AS Value]", f"+- {RATE}"]


def test_repartition_only_says_where_rows_are(rate: DataFrame) -> None:
    assert printed(rate.repartition(3, "value")) == [RATE]


def test_watermark(rate: DataFrame) -> None:
    lowered = lower(
        rate.withWatermark("timestamp", "1500 milliseconds").select("value", F.col("timestamp").alias("at"))
    )
    assert tree(lowered.plan).splitlines() == [
        "Project [value, timestamp AS at]",
        "+- Watermark timestamp, 1500 ms behind",
        f"   +- {RATE}",
    ]
    assert [(f.name, f.event_time) for f in lowered.schema] == [("value", False), ("at", True)]


def test_a_month_of_delay_is_as_long_as_spark_says(rate: DataFrame) -> None:
    assert printed(rate.withWatermark("timestamp", "1 month"))[0] == "Watermark timestamp, 744 h behind"


def test_event_time_does_not_survive_a_function(rate: DataFrame) -> None:
    marked = rate.withWatermark("timestamp", "1 second")
    assert not lower(marked.selectExpr("greatest(timestamp, timestamp'2020-01-01') AS later")).schema[0].event_time


def test_union_by_position(rate: DataFrame) -> None:
    other = rate.select(F.col("timestamp").alias("at"), (F.col("value") * 2).alias("double"))
    assert printed(rate.union(other)) == [
        "Union",
        f":- [1] {RATE}",
        "+- Project [timestamp AS at, Multiply(value, 2) AS double]",
        "   +- [1] as above",
    ]


def test_columns_after_a_union_are_those_of_its_first_branch(rate: DataFrame) -> None:
    other = rate.select("timestamp", (F.col("value") * 2).alias("value"))
    assert printed(rate.union(other).where("value > 7"))[0].startswith("Union")
    union = lower(rate.union(other).select((F.col("value") + 1).alias("v"))).plan
    assert [f.name for f in union.schema] == ["v"]


def test_a_stream_used_twice_is_one_object(rate: DataFrame) -> None:
    even = rate.where("value % 2 = 0")
    union = lower(even.union(even)).plan
    assert isinstance(union, Union)
    assert union.branches[0] is union.branches[1]


def test_equal_streams_loaded_apart_are_one_source(spark: SparkSession) -> None:
    first, second = (spark.readStream.format("rate").option("rowsPerSecond", 5).load() for _ in range(2))
    assert len(lower(first.union(second)).sources) == 1


def test_streams_with_other_options_are_other_sources(spark: SparkSession, rate: DataFrame) -> None:
    other = spark.readStream.format("rate").option("rowsPerSecond", 6).load()
    assert len(lower(rate.union(other)).sources) == 2


def test_names_may_repeat(rate: DataFrame) -> None:
    twice = lower(rate.select("value", (F.col("value") + 1).alias("value")))
    assert [f.name for f in twice.schema] == ["value", "value"]
    assert printed(rate.select("value", "value")) == ["Project [value, value]", f"+- {RATE}"]


def test_schema_is_the_data_frames(rate: DataFrame) -> None:
    df = rate.selectExpr("value", "CAST(value AS decimal(20, 3)) AS d", "'x' AS s")
    assert lower(df).schema == tuple(Field(f.name, f.dataType, f.nullable) for f in df.schema.fields)


def test_a_batch_data_frame_is_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="is not a streaming DataFrame"):
        lower(spark.range(3))


def test_file_source(spark: SparkSession, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "day=1").mkdir()
    (tmp_path / "day=1" / "a.csv").write_text("1,x\n")
    df = spark.readStream.schema("a int, b string, day int").option("maxFilesPerTrigger", 3).csv(str(tmp_path))
    source = lower(df).plan
    assert isinstance(source, Source)
    assert (source.format, source.option("path")) == ("csv", str(tmp_path))
    assert source.option("maxFilesPerTrigger") == "3"
    assert [f.name for f in source.schema] == ["a", "b", "day"]
