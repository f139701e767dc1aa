"""Where generated modules and their machine code lie on disk, and how they are loaded.

1. A module is named by its shape's key and never changes; its file is written once, by whoever comes first.
2. All that machine code depends on is in the folder's name: versions, the processor, the text of what kernels call.
3. A file `<key>.ready` says that both functions are in numba's cache beside the module.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

_LOADED: dict[str, Any] = {}


def warm() -> None:
    """Do what the first load would: importing numba and filling its tables takes a second, once per process."""
    from numba.core.registry import cpu_target

    import headway.kernels.compiled.calendar
    import headway.kernels.compiled.runtime  # noqa: F401  their names are typed by the refresh

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def directory() -> Path:
    """The folder of this version on this processor; made if it is not there."""
    base = os.environ.get("HEADWAY_CACHE_DIR")
    root = Path(base) if base else Path.home() / ".cache" / "headway" / "kernels"
    found = root / _version()
    found.mkdir(parents=True, exist_ok=True, mode=0o700)
    return found


@cache
def _version() -> str:
    import llvmlite.binding as llvm

    runtime = b"".join(
        Path(__file__).with_name(name).read_bytes() for name in ("machine.py", "runtime.py", "calendar.py")
    )
    features = llvm.get_host_cpu_features().flatten()
    salt = hashlib.sha256(runtime + features.encode()).hexdigest()[:12]
    python = platform.python_version()
    return f"{version('headway')}-numba{version('numba')}-py{python}-{llvm.get_host_cpu_name()}-{salt}"


def module_path(key: str, source: str) -> Path:
    """The module's file, written if it is not there; never replaced, since numba's cache goes by its time."""
    path = directory() / f"k{key}.py"
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            file.write(source)
        try:
            os.link(name, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(name)
    return path


def ready_path(path: Path) -> Path:
    return path.with_suffix(".ready")


def load(path: Path) -> Any:
    """The module at `path`, from numba's cache if it is there, else compiled here and now."""
    found = _LOADED.get(str(path))
    if found is None:
        name = f"headway_kernel_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        found = importlib.util.module_from_spec(spec)
        sys.modules[name] = found
        spec.loader.exec_module(found)
        ready_path(path).touch()
        _LOADED[str(path)] = found
    return found
