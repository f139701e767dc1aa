"""One Spark for the whole run of tests, and one Headway inside it.

HEADWAY_TEST_MASTER names another Spark to run on, such as local-cluster[2,1,1024].
"""

import gc
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headway
from headway.errors import HeadwayError
from headway.java import ensure_java
from headway.session import NODE_DAEMON, slots
from kafka_broker import Broker, Unavailable

ROOT = Path(__file__).parents[1]
NODES = 2
# Every plan is new to the JVM and runs once: code that the slower compiler makes better would never pay for itself.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Checkpoints are on disk when they are told of. Processes are killed here, machines are not: memory will do.
MEMORY = Path("/dev/shm")
ENOUGH = 4 << 30
LONG = 1000
"""More tests than any file has."""


def pytest_configure(config: pytest.Config) -> None:
    """By the environment, so that workers and programs that tests start have them too."""
    os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA_OPTIONS)
    if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH:
        folder = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="headway-tests-", dir=MEMORY)
        os.environ["JAVA_TOOL_OPTIONS"] += f" -Djava.io.tmpdir={folder}"
        tempfile.tempdir = None
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order in which workers should take them, each whole: no long one begins when others have ended."""
    weights: Counter[Path] = Counter()
    for item in items:
        weights[item.path] += 1
        weights[item.path] += LONG * bool(item.get_closest_marker("long"))
        weights[item.path] -= LONG * bool(item.get_closest_marker("alone"))
    items.sort(key=lambda item: -weights[item.path])


def pytest_collection_finish() -> None:
    """What is loaded by now stays: to look there for garbage again and again takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    ensure_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Python reads datetimes without a zone in the zone of the machine; the tests' answers are in this one.
    os.environ["TZ"] = "UTC"
    time.tzset()
    session = (
        SparkSession.builder.master(os.environ.get("HEADWAY_TEST_MASTER", "local[4]"))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        # Rows are few, and plans run once: to plan them again between their stages, to share them out among tasks, and
        # to generate, compile and load Java for each takes longer than it saves.
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.default.parallelism", "1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.python.daemon.module", NODE_DAEMON)
        # Nodes on a cluster need what tests share with the benchmarks.
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def hw(spark: SparkSession) -> Iterator[headway.Headway]:
    # Of hundreds of queries, each with rows for a moment, the kernels would take a third of all the time to compile,
    # and most would be ready too late: the tests that are about compiled queries ask for them.
    conf = {"headway.compile": "never"}
    with headway.start(spark, nodes=NODES if slots(spark) > NODES else None, conf=conf) as started:
        yield started


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A Kafka broker. Where it cannot be had, the tests that ask for it say so, loudly."""
    try:
        started = Broker(tmp_path_factory.mktemp("kafka"))
    except (Unavailable, HeadwayError) as reason:
        warnings.warn(f"NO KAFKA BROKER, ITS TESTS DO NOT RUN: {reason}", stacklevel=1)
        pytest.skip(f"no Kafka broker: {reason}")
    yield started
    started.stop()
