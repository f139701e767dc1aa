"""What Spark's streaming suites pin down, case by case and step by step, in every way that Headway runs a query."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from suites import SUITES

from conformance import OnHeadway, play, read_answers, same
from headway import Headway

pytestmark = pytest.mark.long

ONE = {"headway.nodes": "1", "headway.compile": "never"}
TWO = {"headway.nodes": "2", "headway.compile": "never"}
COMPILED = {"headway.nodes": "2", "headway.compile": "first"}
WAYS = {"one-node": [ONE], "compiled": [COMPILED], "restarted": [TWO, ONE]}
COMPILED_SUITES = ("aggregation", "watermarks")
"""Of the others, what keeps state has one tier, and to compile what is before it takes long; chains of state have tests
of their own."""
PLAYED = [(suite, way) for suite in SUITES for way in WAYS if way != "compiled" or suite in COMPILED_SUITES]


@pytest.mark.parametrize(("suite", "way"), PLAYED, ids=[f"{suite}, {way}" for suite, way in PLAYED])
def test_every_answer_is_sparks(spark: SparkSession, hw: Headway, suite: str, way: str) -> None:
    options = [{**given, "headway.nodes": str(min(int(given["headway.nodes"]), hw.nodes))} for given in WAYS[way]]
    given = play(OnHeadway(spark, hw, options), SUITES[suite], restarts=way == "restarted")
    recorded = read_answers(suite)
    wrong = []
    for case in SUITES[suite]:
        for number, (got, wanted) in enumerate(zip(given[case.name], case.expected(recorded[case.name]), strict=True)):
            if not same(case, got, wanted):
                wrong.append(f"{case.name}, step {number}:\n  gives {got}\n  not   {wanted}")
    assert not wrong, "\n".join(wrong)
