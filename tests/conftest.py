"""One Spark for the whole run of tests."""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headway.java import ensure_java


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = (
        SparkSession.builder.master("local[4]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "America/New_York")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
