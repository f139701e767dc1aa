"""Flink's Java libraries, from PyPI, in a virtual environment of their own in the user's cache directory.

`apache-flink-libraries` is what `apache-flink` runs: the whole distribution. Flink's Python is left out: all it would
add is Python between the rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "2.3.0"


def flink_home() -> Path:
    """The folder with Flink's `lib`, installed when it is not there yet."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    environment = cache / "headway" / "peers" / f"flink-{VERSION}"
    if not (environment / "ready").exists():
        _install(environment)
    return next(environment.glob("lib/python*/site-packages/pyflink"))


def _install(environment: Path) -> None:
    print(f"installing Flink {VERSION} in {environment}", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    command = [str(environment / "bin" / "pip"), "install", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*command, f"apache-flink-libraries=={VERSION}"], check=True)
    (environment / "ready").touch()
