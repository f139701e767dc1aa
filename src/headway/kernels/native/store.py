"""Where the source of kernels and their machine code lie on disk, and how they are loaded.

1. A kernel is named by its shape's key and never changes: `k<key>.py` is its source, `k<key>.o` its machine code. Each
   is whole as soon as it is there.
2. All that machine code depends on is in the folder's name: versions, the processor, the text of what translates.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm

from headway.kernels.native.assemble import Function, assembled, loaded
from headway.kernels.native.translate import LIBRARY

VARIANTS = ("with_nulls", "without_nulls")
_TRANSLATION = (*LIBRARY, "operations.py", "scalars.py", "translate.py", "assemble.py")
_LOADED: dict[Path, dict[str, Function]] = {}


def directory() -> Path:
    """The folder of this version on this processor; made if it is not there."""
    base = os.environ.get("HEADWAY_CACHE_DIR")
    root = Path(base) if base else Path.home() / ".cache" / "headway" / "kernels"
    found = root / _version()
    found.mkdir(parents=True, exist_ok=True, mode=0o700)
    return found


@cache
def _version() -> str:
    text = b"".join(Path(__file__).with_name(name).read_bytes() for name in _TRANSLATION)
    features = llvm.get_host_cpu_features().flatten()
    salt = hashlib.sha256(text + features.encode()).hexdigest()[:12]
    return f"{version('headway')}-llvmlite{version('llvmlite')}-{llvm.get_host_cpu_name()}-{salt}"


def source_path(key: str, source: str) -> Path:
    """The file with the kernel's source, written if it is not there."""
    path = directory() / f"k{key}.py"
    if not path.exists():
        _write(path, source.encode())
    return path


def code_path(path: Path) -> Path:
    return path.with_suffix(".o")


def log_path(path: Path) -> Path:
    """Where it is written why there is no machine code."""
    return path.with_suffix(".log")


def compile_source(path: Path) -> None:
    """Make the machine code of the source at `path`."""
    _write(code_path(path), assembled(path.read_text(), path.stem))


def load(path: Path) -> dict[str, Function]:
    """The functions of the source at `path`, by variant; compiled here and now if nobody has done so."""
    found = _LOADED.get(path)
    if found is None:
        if not code_path(path).exists():
            compile_source(path)
        found = _LOADED[path] = loaded(code_path(path).read_bytes(), path.stem, VARIANTS)
    return found


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(name, path)
