"""The memory sink shows rows at once, and after a failure shows each of them once."""

import pytest
from pyspark.sql import SparkSession
from sink_cases import EVERY_TYPE, EVERY_VALUE, frame, make, pairs, rows, sent

from headway.errors import InvalidOption


def keys(spark: SparkSession, view: str) -> list[int]:
    return sorted(row.k for row in spark.table(view).collect())


def test_rows_are_visible_before_their_epoch_commits(spark: SparkSession) -> None:
    sink = make(spark, "memory", query_name="m_visible")
    assert keys(spark, "m_visible") == []
    committer = sink.committer()
    committer.rows(pairs(1, 2), 0)
    committer.rows(pairs(3), 0)
    assert keys(spark, "m_visible") == [1, 2, 3]


def test_going_back_forgets_later_epochs(spark: SparkSession) -> None:
    committer = make(spark, "memory", query_name="m_back").committer()
    kept = []
    for epoch in range(3):
        committer.rows(pairs(epoch), epoch)
        kept.append(committer.prepare(epoch))
        committer.commit(epoch, [kept[-1]])
    committer.rows(pairs(99), 3)
    committer.restore(1, kept[:2])
    assert keys(spark, "m_back") == [0, 1]
    committer.rows(pairs(7), 2)
    assert keys(spark, "m_back") == [0, 1, 7]


def test_a_restarted_driver_shows_the_same_table(spark: SparkSession) -> None:
    first = make(spark, "memory", query_name="m_restart").committer()
    first.rows(pairs(1), 0)
    kept = [first.prepare(0), first.prepare(1)]
    second = make(spark, "memory", query_name="m_restart").committer()
    assert keys(spark, "m_restart") == []
    second.restore(1, kept)
    assert keys(spark, "m_restart") == [1]


def test_complete_mode_replaces_the_contents(spark: SparkSession) -> None:
    committer = make(spark, "memory", query_name="m_complete", output_mode="complete").committer()
    committer.rows(pairs(1, 2), 0)
    committer.rows(pairs(1, 2, 3), 0)
    assert keys(spark, "m_complete") == [1, 2, 3]
    kept = [committer.prepare(0)]
    committer.rows(pairs(5), 1)
    assert keys(spark, "m_complete") == [5]
    kept.append(committer.prepare(1))
    committer.restore(1, [*kept, None])
    assert keys(spark, "m_complete") == [5]


def test_every_type_reads_as_spark_has_it(spark: SparkSession) -> None:
    batch = rows(EVERY_TYPE, EVERY_VALUE)
    make(spark, "memory", EVERY_TYPE, query_name="m_types").committer().rows(batch, 0)
    expected = frame(spark, EVERY_TYPE, batch)
    assert spark.table("m_types").schema == expected.schema
    assert [str(r) for r in spark.table("m_types").collect()] == [str(r) for r in expected.collect()]


def test_adding_rows_starts_no_spark_job(spark: SparkSession) -> None:
    committer = make(spark, "memory", query_name="m_jobs").committer()
    spark.sparkContext.setJobGroup("memory sink", "adds rows")
    try:
        committer.rows(pairs(*range(1000)), 0)
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("memory sink")
    finally:
        spark.sparkContext._jsc.clearJobGroup()
    assert list(jobs) == []
    assert spark.table("m_jobs").count() == 1000


def test_it_needs_a_query_name(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="queryName"):
        make(spark, "memory", query_name=None)


def test_it_refuses_partitions_and_unknown_options(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="partitionBy"):
        make(spark, "memory", partition_by=("k",))
    with pytest.raises(InvalidOption, match="'rows'"):
        make(spark, "memory", options={"rows": "3"})


def test_it_can_be_pickled(spark: SparkSession) -> None:
    assert sent(make(spark, "memory")).to_driver
