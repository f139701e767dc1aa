"""Plans that have failed once give Spark's answers."""

import pytest
from plan_cases import kept_cases
from plan_check import check
from pyspark.sql import SparkSession

from headway import Headway

CASES = kept_cases()


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_sparks(spark: SparkSession, hw: Headway, name: str) -> None:
    check(spark, hw, CASES[name])
