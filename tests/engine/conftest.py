"""Every query of these tests runs in three ways: on one node, on two, and compiled."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headway import Headway

pytest.register_assert_rewrite("engine_cases")
from engine_cases import Runner  # noqa: E402

MODES = {
    "one-node": {"headway.nodes": "1", "headway.compile": "never"},
    "two-nodes": {"headway.nodes": "2", "headway.compile": "never"},
    "compiled": {"headway.nodes": "2", "headway.compile": "first"},
}


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest, hw: Headway) -> dict[str, str]:
    """The options that say how a query is run, with no more nodes than there are."""
    options: dict[str, str] = dict(MODES[request.param])
    options["headway.nodes"] = str(min(int(options["headway.nodes"]), hw.nodes))
    if request.param != "one-node" and options == MODES["one-node"]:
        pytest.skip("there is only one node")
    return options


@pytest.fixture
def run(spark: SparkSession, hw: Headway, mode: dict[str, str]) -> Iterator[Runner]:
    """Runs a query in each of the three ways."""
    runner = Runner(spark, hw, mode)
    yield runner
    runner.stop()


@pytest.fixture
def once(spark: SparkSession, hw: Headway) -> Iterator[Runner]:
    """Runs a query once, on all nodes."""
    runner = Runner(spark, hw, {})
    yield runner
    runner.stop()
