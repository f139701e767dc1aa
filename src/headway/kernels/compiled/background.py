"""Compiles in another process: compiling here would hold the interpreter lock and stall the node's worker loop.

1. One process at a time per compiler, which takes every module that waits; it is niced, and outlives its parent if it
   must.
2. A module is compiled once per host: whoever compiles holds a lock on `<key>.lock`, whoever waits for it finds the
   work done. The operating system frees the lock of a process that died.
3. Nothing here blocks or raises; what went wrong is in `Ticket.failed`.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.kernels.api import Chain
from headway.kernels.compiled import store
from headway.kernels.compiled.kernel import CompiledChain, build
from headway.kernels.compiled.shape import Shape, shape_of
from headway.kernels.compiled.values import NotCompilable

_NICENESS = 10


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
        self._working: list[Path] = []
        # Not None iff a process was started and has not been seen to end.
        self._process: subprocess.Popen[bytes] | None = None
        self._failed: dict[Path, str] = {}

    def request(self, chain: Chain) -> Ticket:
        """Start compiling `chain`; ask the ticket for the kernel from time to time."""
        ticket = Ticket(self, chain)
        ticket.begin()
        return ticket

    def enqueue(self, path: Path) -> None:
        """Have a module compiled by the next process."""
        if path not in self._waiting and path not in self._working:
            self._waiting.append(path)
            self._failed.pop(path, None)
        self._start()

    def advance(self, path: Path) -> str | None:
        """See how the process is doing; why `path` failed, if it did."""
        if self._process is not None and self._process.poll() is not None:
            for done in self._working:
                if not store.ready_path(done).exists():
                    self._failed[done] = _complaint(done, self._process.returncode)
            self._process, self._working = None, []
        self._start()
        return self._failed.get(path)

    @property
    def pid(self) -> int | None:
        """The process at work, if there is one."""
        return self._process.pid if self._process else None

    def wait(self) -> None:
        """Wait until all that was requested is done; for tests and tools, a node has better things to do."""
        while self._process is not None:
            self._process.wait()
            self.advance(self._working[0])

    def _start(self) -> None:
        if self._process is not None or not self._waiting:
            return
        self._working, self._waiting = self._waiting, []
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        command = [sys.executable, "-m", __name__, *map(str, self._working)]
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def _log(path: Path) -> Path:
    return path.with_suffix(".log")


def _complaint(path: Path, code: int) -> str:
    log = _log(path)
    said = log.read_text().strip() if log.exists() else ""
    return said or f"the compiler process ended with code {code}"


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


def main(arguments: Sequence[str]) -> None:
    """Compile the modules at the paths `arguments`."""
    os.nice(_NICENESS)
    for path in arguments:
        _compile(Path(path))


if __name__ == "__main__":
    main(sys.argv[1:])
