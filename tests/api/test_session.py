"""Starting and stopping: how many nodes, and what is refused."""

import logging
import os
import re
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headway
from headway import Headway, HeadwayError, InvalidOption
from headway.session import node_count, slots


def test_nodes_leave_a_slot_to_spark(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headway"):
        assert node_count(8, slots=4) == 3
    assert "8 nodes were asked for" in caplog.text


def test_by_default_a_node_per_core_as_far_as_the_slots_go() -> None:
    assert node_count(None, slots=1000) == os.cpu_count()
    assert node_count(None, slots=2) == 1


def test_one_slot_is_too_few() -> None:
    with pytest.raises(HeadwayError, match=r"local\[4\]"):
        node_count(None, slots=1)


def test_dynamic_allocation_brings_what_is_asked() -> None:
    assert node_count(8, slots=1, may_grow=True) == 8


def test_slots_of_the_session(spark: SparkSession) -> None:
    master = spark.sparkContext.master
    executors, cores = re.match(r"local(?:-cluster)?\[(?:(\d+),)?(\d+)", master).groups(default="1")  # type: ignore[union-attr]
    assert slots(spark) == int(executors) * int(cores)


@pytest.mark.parametrize("argument", [{"nodes": 0}, {"nodes": "two"}, {"threads": -1}, {"nodes": True}])
def test_bad_arguments(spark: SparkSession, argument: Any) -> None:
    with pytest.raises(InvalidOption, match="whole number"):
        headway.start(spark, **argument)


def test_one_headway_per_application(hw: Headway, spark: SparkSession) -> None:
    with pytest.raises(HeadwayError, match="already"):
        headway.start(spark)
