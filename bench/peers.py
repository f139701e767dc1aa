"""Peers' virtual environments: each of its own, in the user's cache directory, made when it is first needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def environment(peer: str, version: str, requirements: Sequence[str], *, dependencies: bool = True) -> Path:
    """The folder of a peer's environment, which has these packages, and what they need in turn if `dependencies`."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "headway" / "peers" / f"{peer}-{version}"
    if not (folder / "ready").exists():
        print(f"installing {peer} {version} in {folder}", flush=True)
        _install(folder, [*requirements] if dependencies else ["--no-deps", *requirements])
    return folder


def python(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def _install(folder: Path, wanted: list[str]) -> None:
    """What an interrupted installation left behind is thrown away first."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python(folder), "-m", "pip", "install", "--disable-pip-version-check", *wanted], check=True)
    (folder / "ready").touch()
