"""Joins of a stream with a static table, which Spark computes when the query is lowered."""

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.dataflow.graph import Relation, StaticJoin, Union
from headway.dataflow.printing import describe
from headway.dataflow.types import arrow_schema
from headway.errors import UnsupportedPlan
from headway.frontend import lower


@pytest.fixture
def rate(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load()


@pytest.fixture
def names(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "one"), (2, "two"), (None, "none")], "id long, name string")


def join_of(relation: Relation) -> StaticJoin:
    while not isinstance(relation, StaticJoin):
        relation = relation.inputs[0]
    return relation


def test_inner(rate: DataFrame, names: DataFrame) -> None:
    root = lower(rate.join(names, rate.value == names.id)).plan
    assert isinstance(root, StaticJoin)
    assert describe(root) == "StaticJoin inner on value = id, 2 rows"
    assert root.table.table.to_pylist() == [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]
    assert [f.name for f in root.schema] == ["timestamp", "value", "id", "name"]


def test_left(rate: DataFrame, names: DataFrame) -> None:
    root = lower(rate.join(names, rate.value == names.id, "left")).plan
    assert describe(root) == "StaticJoin left on value = id, 2 rows"


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_the_table_only_decides(rate: DataFrame, names: DataFrame, how: str) -> None:
    root = lower(rate.join(names, rate.value == names.id, how)).plan
    assert describe(root) == "Project [timestamp, value]"
    assert describe(root.inputs[0]).startswith(f"StaticJoin {how} on value = id, ")


def test_the_table_first(rate: DataFrame, names: DataFrame) -> None:
    root = lower(names.join(rate, rate.value == names.id, "right")).plan
    assert describe(root) == "Project [id, name, timestamp, value]"
    assert describe(root.inputs[0]) == "StaticJoin left on value = id, 2 rows"


def test_using_a_column(rate: DataFrame, names: DataFrame) -> None:
    root = lower(rate.join(names.withColumnRenamed("id", "value"), "value")).plan
    assert [f.name for f in root.schema] == ["value", "timestamp", "name"]


def test_a_broadcast_hint_changes_nothing(rate: DataFrame, names: DataFrame) -> None:
    plain = lower(rate.join(names, rate.value == names.id)).plan
    assert lower(rate.join(F.broadcast(names), rate.value == names.id)).plan == plain


def test_several_keys_and_a_condition(rate: DataFrame, names: DataFrame) -> None:
    on = (rate.value == names.id) & (F.length("name") == rate.value % 7) & (rate.value + names.id > 3)
    join = join_of(lower(rate.join(names, on, "left")).plan)
    assert len(join.stream_keys) == len(join.table_keys) == 2
    assert join.condition is not None
    assert "GreaterThan(Add(value, id), 3)" in describe(join)


def test_null_safe_equality(rate: DataFrame, names: DataFrame) -> None:
    join = join_of(lower(rate.join(names, rate.value.eqNullSafe(names.id), "left")).plan)
    assert (
        describe(join) == "StaticJoin left on Coalesce(value, 0) = Coalesce(id, 0), IsNull(value) = IsNull(id), 3 rows"
    )


def test_an_empty_table(spark: SparkSession, rate: DataFrame) -> None:
    empty = spark.createDataFrame([], "id long, name string")
    join = join_of(lower(rate.join(empty, rate.value == empty.id, "left")).plan)
    assert join.table.table.num_rows == 0


def test_a_table_has_the_arrow_types_of_its_schema(spark: SparkSession, rate: DataFrame) -> None:
    row = (1, datetime(2024, 1, 2, 3, 4, 5, 6), Decimal("1.50"), b"x", 2)
    table = spark.createDataFrame([row], "id long, t timestamp, d decimal(5, 2), b binary, y tinyint")
    root = join_of(lower(rate.join(table, rate.value == table.id)).plan)
    assert root.table.table.schema == arrow_schema(root.schema[2:])
    instant = table.select(F.unix_micros("t")).first()[0]
    assert root.table.table["t"].cast(pa.int64()).to_pylist() == [instant]
    assert root.table.table["t"].type == pa.timestamp("us", str(UTC))


def test_tables_are_equal_when_their_rows_are(spark: SparkSession, rate: DataFrame) -> None:
    def joined(rows: list[tuple[int, str]]) -> Relation:
        table = spark.createDataFrame(rows, "id long, name string")
        return lower(rate.join(table, rate.value == table.id)).plan

    assert joined([(1, "a")]) == joined([(1, "a")])
    assert joined([(1, "a")]) != joined([(1, "b")])


def test_the_same_join_twice_is_one_object(rate: DataFrame, names: DataFrame) -> None:
    joined = rate.join(names, rate.value == names.id)
    union = lower(joined.union(joined)).plan
    assert isinstance(union, Union)
    assert union.branches[0] is union.branches[1]


def test_a_table_may_use_what_streams_may_not(spark: SparkSession, rate: DataFrame) -> None:
    table = (
        spark.range(3).selectExpr("id", "try_divide(id, 0) AS q", "current_date() AS today", "rand() AS r").distinct()
    )
    join = join_of(lower(rate.join(table, rate.value == table.id)).plan)
    assert join.table.table["q"].to_pylist() == [None] * 3


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("full", "FullOuter with the stream on the left"),
        ("right", "RightOuter with the stream on the left"),
    ],
)
def test_other_joins_are_named(rate: DataFrame, names: DataFrame, how: str, why: str) -> None:
    with pytest.raises(UnsupportedPlan, match=f"plan node Join: {why}"):
        lower(rate.join(names, rate.value == names.id, how))


def test_a_join_of_streams_ends_by_nothing_without_a_watermark(rate: DataFrame) -> None:
    joined = lower(rate.join(rate.withColumnRenamed("timestamp", "t"), "value")).plan.inputs[0]
    assert describe(joined) == "StreamJoin inner on value = value"
