"""Compiles in another process: compiling here would hold the interpreter lock and stall the node's worker loop.

1. One process per compiler (`native/__main__.py`), which takes one kernel after the other: its start takes longer than
   most kernels do.
2. Nothing here blocks or raises; what went wrong is in `Ticket.failed`.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from headway.kernels.api import Chain
from headway.kernels.compiled.kernel import CompiledChain, build
from headway.kernels.compiled.shape import Shape, shape_of
from headway.kernels.compiled.values import NotCompilable
from headway.kernels.native import store

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
            self._path = store.source_path(self._shape.key, self._shape.source)
            if not store.code_path(self._path).exists():
                self._compiler.enqueue(self._path)
        except NotCompilable as reason:
            self.failed = str(reason)
        except OSError as error:
            self.failed = f"{error}; set HEADWAY_CACHE_DIR to a folder that can be written"

    def _advance(self) -> None:
        assert self._path is not None
        assert self._shape is not None
        if store.code_path(self._path).exists():
            self._kernel = build(self._shape)
        else:
            self.failed = self._compiler.advance(self._path)


class Compiler:
    """Has chains compiled. Belongs to one thread.

    >>> ticket = Compiler().request(chain)  # doctest: +SKIP
    >>> ticket.poll()  # doctest: +SKIP
    """

    def __init__(self) -> None:
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
        """Have a kernel compiled."""
        if path not in self._waiting and path not in self._asked:
            self._waiting.append(path)
            self._failed.pop(path, None)
            store.log_path(path).unlink(missing_ok=True)
        self._ask()

    def advance(self, path: Path) -> str | None:
        """See how the process is doing; why `path` failed, if it did."""
        ended = self._process is not None and self._process.poll() is not None
        for asked in list(self._asked):
            if store.code_path(asked).exists():
                self._asked.remove(asked)
            elif store.log_path(asked).exists():
                self._asked.remove(asked)
                self._failed[asked] = store.log_path(asked).read_text().strip()
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
        [sys.executable, "-m", "headway.kernels.native"],
        bufsize=0,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
