"""Compiles kernels, for a process that must not stand still: their paths come by standard input, a line each.

1. It is niced, and ends when it has had nothing to do for a while, or when its parent has ended and all is done.
2. A kernel is compiled once per host: whoever compiles holds a lock on `<key>.lock`, whoever waits for it finds the
   work done. The operating system frees the lock of a process that died.
3. What went wrong is in `<key>.log`.
"""

from __future__ import annotations

import fcntl
import os
import select
from collections.abc import Iterator
from pathlib import Path

from headway.kernels.native import store

_NICENESS = 10
_IDLE = 20.0
"""Seconds without work after which the process ends."""


def _compile(path: Path) -> None:
    """Compile one kernel, unless somebody has done so by the time the lock is free."""
    with open(path.with_suffix(".lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if store.code_path(path).exists():
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        try:
            store.compile_source(path)
            store.log_path(path).unlink(missing_ok=True)
        except Exception as error:
            store.log_path(path).write_text(f"{type(error).__name__}: {error}")


def _told() -> Iterator[Path]:
    """The paths that come by standard input, until it ends or nothing has come for a while."""
    rest = b""
    while select.select([0], [], [], _IDLE)[0]:
        read = os.read(0, 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        yield from (Path(line.decode()) for line in lines)


def main() -> None:
    os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)  # the node that started it may go before others
    for path in _told():
        _compile(path)


if __name__ == "__main__":
    main()
