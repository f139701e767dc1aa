"""Nodes are Spark jobs that a person finds in Spark's web UI."""

from pyspark.sql import SparkSession

from headway import Headway


def test_every_node_is_a_running_job_with_a_name(spark: SparkSession, hw: Headway) -> None:
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    running = {
        jobs.apply(i).description().get()
        for i in range(jobs.size())
        if jobs.apply(i).status().toString() == "RUNNING" and jobs.apply(i).description().isDefined()
    }
    nodes = len(hw._runtime.coordinator.hellos())
    assert running >= {f"Headway node {index}" for index in range(nodes)}
