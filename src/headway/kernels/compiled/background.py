"""Compiles in another process: compiling here would hold the interpreter lock and stall the node's worker loop.

1. One process per compiler, which takes one module after the other: to start takes it longer than most modules do. It
   is niced, and ends when it has had nothing to do for a while, or when its parent has ended and all is done.
2. A module is compiled once per host: whoever compiles holds a lock on `<key>.lock`, whoever waits for it finds the
   work done. The operating system frees the lock of a process that died.
3. Nothing here blocks or raises; what went wrong is in `Ticket.failed`.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from headway.kernels.api import Chain
from headway.kernels.compiled import store
from headway.kernels.compiled.kernel import CompiledChain, build
from headway.kernels.compiled.shape import Shape, shape_of
from headway.kernels.compiled.values import NotCompilable

_NICENESS = 10
_IDLE = 20.0
"""Seconds without work after which the process ends."""
_ALLOCATIONS = 50_000
"""After so many, cycles are looked for. With as few as by default a tenth of the time goes there."""
_MOST_ASKED = 64
"""So many paths at a time fit the pipe, so that nobody waits to write."""


class Ticket:
    """A chain that is being compiled. `failed` is None unless it never will be, then it says why."""

    def __init__(self, compiler: Compiler, chain: Chain) -> None:
        self._compiler = compiler
        self._chain = chain
        self._shape: Shape | None = None
        self._path: Path | None = None
        self._kernel: CompiledChain | None = None
        self.failed: str | None = None

    def poll(self) -> CompiledChain | None:
        """The kernel if it is ready; the same one each time. Never blocks."""
        if self._kernel is None and self.failed is None:
            try:
                self._advance()
            except Exception as error:
                self.failed = f"{type(error).__name__}: {error}"
        return self._kernel

    def begin(self) -> None:
        """Find the chain's shape and have it compiled unless it is there."""
        try:
            self._shape = shape_of(self._chain)
            self._path = store.module_path(self._shape.key, self._shape.source)
            if not store.ready_path(self._path).exists():
                self._compiler.enqueue(self._path)
        except NotCompilable as reason:
            self.failed = str(reason)
        except OSError as error:
            self.failed = f"{error}; set HEADWAY_CACHE_DIR to a folder that can be written"

    def _advance(self) -> None:
        assert self._path is not None
        assert self._shape is not None
        if store.ready_path(self._path).exists():
            self._kernel = build(self._shape)
        else:
            self.failed = self._compiler.advance(self._path)


class Compiler:
    """Has chains compiled. Belongs to one thread. Make it when the node starts: that takes a second, for all the rest.

    >>> ticket = Compiler().request(chain)  # doctest: +SKIP
    >>> ticket.poll()  # doctest: +SKIP
    """

    def __init__(self) -> None:
        store.warm()
        self._waiting: list[Path] = []
        self._asked: list[Path] = []
        """What the process was told of, and is not known to have done."""
        # Not None iff a process was started and has not been seen to end.
        self._process: subprocess.Popen[bytes] | None = None
        self._failed: dict[Path, str] = {}

    def request(self, chain: Chain) -> Ticket:
        """Start compiling `chain`; ask the ticket for the kernel from time to time."""
        ticket = Ticket(self, chain)
        ticket.begin()
        return ticket

    def enqueue(self, path: Path) -> None:
        """Have a module compiled."""
        if path not in self._waiting and path not in self._asked:
            self._waiting.append(path)
            self._failed.pop(path, None)
            _log(path).unlink(missing_ok=True)
        self._ask()

    def advance(self, path: Path) -> str | None:
        """See how the process is doing; why `path` failed, if it did."""
        ended = self._process is not None and self._process.poll() is not None
        for asked in list(self._asked):
            if store.ready_path(asked).exists():
                self._asked.remove(asked)
            elif _log(asked).exists():
                self._asked.remove(asked)
                self._failed[asked] = _log(asked).read_text().strip()
        if ended:
            self._ended()
        self._ask()
        return self._failed.get(path)

    def _ended(self) -> None:
        assert self._process is not None
        code, self._process = self._process.returncode, None
        if code:
            self._failed |= dict.fromkeys(self._asked, f"the compiler process ended with code {code}")
        else:  # it had nothing to do for long, and ended just before it was told of these
            self._waiting = self._asked + self._waiting
        self._asked = []

    @property
    def pid(self) -> int | None:
        """The process at work, if there is one."""
        return self._process.pid if self._process else None

    def wait(self) -> None:
        """Wait until all that was requested is done; for tests and tools, a node has better things to do."""
        while self._asked or self._waiting:
            time.sleep(0.02)
            self.advance((self._asked or self._waiting)[0])

    def _ask(self) -> None:
        while self._waiting and len(self._asked) < _MOST_ASKED:
            if self._process is None:
                self._process = _start()
            path = self._waiting.pop(0)
            self._asked.append(path)
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):  # it has ended, and `advance` will see that
                self._process.stdin.write(f"{path}\n".encode())


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        bufsize=0,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _log(path: Path) -> Path:
    return path.with_suffix(".log")


def _compile(path: Path) -> None:
    """Compile one module, unless somebody has done so by the time the lock is free."""
    with open(path.with_suffix(".lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if store.ready_path(path).exists():
            return
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        try:
            store.load(path)
            _log(path).unlink(missing_ok=True)
        except Exception as error:
            _log(path).write_text(f"{type(error).__name__}: {error}")


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
    """Compile the modules that this process is told of."""
    os.nice(_NICENESS)
    store.warm()
    # What numba has imported stays, and what it allocates while it compiles is mostly garbage of no cycle.
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)
    for path in _told():
        _compile(path)


if __name__ == "__main__":
    main()
