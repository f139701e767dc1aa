"""Nodes are Spark jobs that a person finds in Spark's web UI, in processes that start warm."""

from pathlib import Path

from pyspark.sql import SparkSession

from headway import Headway
from headway.session import NODE_DAEMON


def test_every_node_is_a_running_job_with_a_name(spark: SparkSession, hw: Headway) -> None:
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    running = {
        jobs.apply(i).description().get()
        for i in range(jobs.size())
        if jobs.apply(i).status().toString() == "RUNNING" and jobs.apply(i).description().isDefined()
    }
    nodes = len(hw._runtime.coordinator.hellos())
    assert running >= {f"Headway node {index}" for index in range(nodes)}


def test_nodes_are_forked_by_a_process_that_has_imported_all_and_has_no_other_thread(hw: Headway) -> None:
    for hello in hw._runtime.coordinator.hellos():
        daemon = Path(f"/proc/{_parent(hello.pid)}")
        assert NODE_DAEMON in (daemon / "cmdline").read_text()
        assert len(list((daemon / "task").iterdir())) == 1


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
