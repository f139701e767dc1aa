"""What cannot be lowered is named: plan nodes, expressions, types, functions that read the clock."""

from collections.abc import Callable

import pytest
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

from headway.dataflow.graph import Source
from headway.errors import UnsupportedPlan
from headway.frontend import explain, lower

CASES: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "sorting": (lambda df: df.orderBy("value"), "plan node Sort"),
    "partitions": (lambda df: df.select(F.spark_partition_id()), "expression SparkPartitionID"),
    "two watermarks": (
        lambda df: (
            df.withWatermark("timestamp", "1 second")
            .select("value", F.col("timestamp").alias("t"))
            .withWatermark("t", "1 second")
        ),
        "plan node EventTimeWatermark",
    ),
}


@pytest.fixture
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


@pytest.mark.parametrize("name", CASES)
def test_it_is_named(rate: DataFrame, name: str) -> None:
    make, named = CASES[name]
    with pytest.raises(UnsupportedPlan) as raised:
        lower(make(rate))
    assert raised.value.what == named


def test_the_reason_is_told(rate: DataFrame) -> None:
    with pytest.raises(UnsupportedPlan, match="FlatMapGroupsInPandas: it is called for the groups of a micro-batch"):
        lower(rate.groupBy("value").applyInPandas(lambda rows: rows, rate.schema))
    with pytest.raises(UnsupportedPlan, match="aesEncrypt: it needs a library of ciphers"):
        lower(rate.selectExpr("aes_encrypt(cast(value as string), '0000111122223333')"))


def test_a_column_called_as_a_clock_is_no_clock(rate: DataFrame) -> None:
    assert lower(rate.select(F.col("value").alias("now()"))).schema[0].name == "now()"


def test_types(spark: SparkSession, tmp_path) -> None:  # type: ignore[no-untyped-def]
    files = spark.readStream.schema("a variant").json(str(tmp_path))
    with pytest.raises(UnsupportedPlan, match="variant"):
        lower(files)


@pytest.mark.parametrize("sql", ["k = 'a'", "max(k)", "upper(k)", "array_contains(array(k), 'a')"])
def test_collations(spark: SparkSession, tmp_path, sql: str) -> None:  # type: ignore[no-untyped-def]
    """Compared as bytes their rows would be others."""
    files = spark.readStream.schema("k string collate utf8_lcase").json(str(tmp_path))
    with pytest.raises(UnsupportedPlan, match="type string collate UTF8_LCASE: collations are not supported"):
        lower(files.selectExpr(sql))


def test_a_subquery_of_several_rows_is_sparks_error(spark: SparkSession, rate: DataFrame) -> None:
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        lower(rate.where(F.col("value") > spark.range(3).select("id").scalar()))


def test_a_stream_and_a_table_in_a_union(spark: SparkSession, rate: DataFrame) -> None:
    table = spark.range(3).selectExpr("timestamp_seconds(id) AS timestamp", "id AS value")
    with pytest.raises(UnsupportedPlan, match="union of a stream and a static table"):
        lower(rate.union(table))


def test_a_python_data_source_comes_with_its_class(spark: SparkSession) -> None:
    class Ticks(DataSource):
        """Inside a function, so that it is pickled whole: no worker can import a test."""

        @classmethod
        def name(cls) -> str:
            return "ticks"

        def schema(self) -> str:
            return "n int, word string"

        def simpleStreamReader(self, schema: object) -> SimpleDataSourceStreamReader:
            return SimpleDataSourceStreamReader()

    spark.dataSource.register(Ticks)
    source = lower(spark.readStream.format("ticks").option("Rate", 3).load()).plan
    assert isinstance(source, Source)
    assert (source.format, source.options) == ("ticks", (("rate", "3"),))
    loaded = CloudPickleSerializer().loads(source.payload)
    assert loaded.name() == "ticks"
    assert [f.type.simpleString() for f in source.schema] == ["int", "string"]


def test_explain_says_why_a_query_falls_back(rate: DataFrame) -> None:
    text = explain(rate.select(F.spark_partition_id()))
    assert text.startswith("Falls back to Structured Streaming because of expression SparkPartitionID: ")


def test_explain_says_that_a_source_falls_back(spark: SparkSession, tmp_path) -> None:  # type: ignore[no-untyped-def]
    schema = "path string, modificationTime timestamp, length long, content binary"
    files = spark.readStream.format("binaryFile").schema(schema).load(str(tmp_path)).select("path")
    assert explain(files).startswith("Falls back to Structured Streaming because of source binaryfile: ")


def test_explain_says_which_tier_runs_each_part(rate: DataFrame) -> None:
    first, *_, last = explain(rate.where("value > 3").select((F.col("value") * 2).alias("v"))).splitlines()
    assert first.endswith("<- compiled") or "<- interpreted: " in first
    assert last.strip() == "+- Source rate [value: bigint]"
