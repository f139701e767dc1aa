"""Where functions of the user's run, and what their failures may touch.

1. `headway.udf.isolation` is `inline` by default: they run in the node's process, without any hop. What they raise
   fails their own query.
2. A call that takes longer than `headway.udf.timeout` (10 seconds) blocks the node's loop, and no Python can end it:
   the node's watchdog fails the query by name, and ends the node's process. Spark starts it again, and its other
   queries go on from their last epoch.
3. Code that ends the process (`os._exit`, a segmentation fault) does the same, but nobody is left to say whose it was.
   So the queries with user code that ran on that node go on with `process`: each operator has a process of its own for
   them, behind a pipe. What happens there is that query's alone: a process that ended is a try to run the query that
   failed; at the third without an epoch between, the query fails. A call there that takes too long is ended with its
   process, and the node waits for it, no longer than the limit.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from headway.errors import HeadwayError
from headway.kernels.api import KeyedKernel, Outcome
from headway.node.watchdog import GRACE, Watchdog

START_LIMIT = 120.0
_ENDED = 71
"""The exit code of a process that ended because of a call that took too long."""


class UserProcessEnded(HeadwayError):
    """The process of a query's user code ended by itself."""


class UserCodeHung(HeadwayError):
    """A call of user code took too long."""


class UserTraceback(Exception):
    """Where in the other process an error was raised."""


class UserProcess:
    """A process that makes an object by `make` and calls its methods; `limit` is how many seconds a call may take."""

    def __init__(self, make: Callable[[], object], limit: float) -> None:
        mine, theirs = socket.socketpair()
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno()), str(limit)],
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self._pipe: Connection[Any, Any] = Connection(mine.detach())
        self._limit = limit
        self._made = False
        self._pipe.send_bytes(cloudpickle.dumps(make))

    @property
    def pid(self) -> int:
        return self._process.pid

    def ready(self) -> bool:
        """Whether the object is made; raises what making it raised. Never blocks."""
        if not self._made and self._pipe.poll(0):
            self._take(0.0)
            self._made = True
        return self._made

    def call(self, method: str, *args: Any) -> Any:
        """What a method gives, or a property if it is one."""
        if not self._made:
            self._take(START_LIMIT)
            self._made = True
        try:
            self._pipe.send((method, args))
        except OSError:
            raise self._ended() from None
        return self._take(self._limit + GRACE)

    def _take(self, limit: float) -> Any:
        try:
            if not self._pipe.poll(limit):
                self.close()
                raise UserCodeHung(f"code of the query took longer than headway.udf.timeout, {self._limit:g} s")
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            raise self._ended() from None
        if kind == "raised":
            text, pickled = value
            error = UserCodeHung(text) if pickled is None else pickle.loads(pickled)
            raise error from UserTraceback(f"\n{text}")
        return value

    def _ended(self) -> UserProcessEnded:
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return UserProcessEnded(f"code of the query ended its process, with {how}")

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.kill()
        self._process.wait()


class IsolatedChain:
    """A chain of user code in a process of its own. See `api.ChainKernel`; it holds no groups."""

    def __init__(self, process: UserProcess) -> None:
        self._call = process.call

    def process(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch | None, int | None]:
        made: tuple[pa.RecordBatch | None, int | None] = self._call("process", batch)
        return made

    def flush(self, watermark: int | None) -> None:
        return None

    def flush_to(self, watermark: int | None, owners: int) -> None:
        return None

    def snapshot(self) -> None:
        return None

    def restore(self, state: pa.Table) -> None:
        """There is nothing to restore."""

    def observed(self) -> dict[str, pa.RecordBatch]:
        return {}

    def holds_more_than(self, most: int) -> bool:
        return False

    groups = 0
    bytes = 0


class IsolatedKeyed(KeyedKernel):
    """A keyed kernel of user code in a process of its own."""

    def __init__(self, process: UserProcess) -> None:
        self._call = process.call

    def process(self, input: int, batch: pa.RecordBatch, watermark: int | None) -> Outcome:
        return Outcome(*self._call("process", input, batch, watermark))

    def advance(self, watermark: int) -> Outcome:
        return Outcome(*self._call("advance", watermark))

    def output_watermark(self, watermark: int) -> int:
        return int(self._call("output_watermark", watermark))

    def snapshot(self) -> pa.Table:
        return self._call("snapshot")

    def restore(self, state: pa.Table) -> None:
        self._call("restore", state)

    def start(self, mine: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        self._call("start", mine)

    def close(self) -> None:
        with suppress(HeadwayError):
            self._call("close")

    @property
    def rows(self) -> int:
        return int(self._call("rows"))

    @property
    def bytes(self) -> int:
        return int(self._call("bytes"))

    def next_timer(self) -> float | None:
        due: float | None = self._call("next_timer")
        return due

    def on_time(self, now: float) -> Outcome:
        return Outcome(*self._call("on_time", now))


def main(descriptor: int, limit: float) -> None:
    """The other end of the pipe, until it is closed."""
    pipe: Connection[Any, Any] = Connection(descriptor)

    def hung(_: int, text: str) -> None:
        pipe.send(("raised", (text, None)))
        os._exit(_ENDED)

    watchdog = Watchdog(hung)
    target: list[Any] = []
    try:
        make = pipe.recv_bytes()
        pipe.send(_answer(lambda: target.append(cloudpickle.loads(make)())))
        while True:
            method, args = pipe.recv()
            with watchdog.watch(0, limit):
                answer = _answer(partial(_called, target[0], method, args))
            pipe.send(answer)
    except (EOFError, OSError):
        return


def _called(target: Any, method: str, args: tuple[Any, ...]) -> Any:
    found = getattr(target, method)
    return found(*args) if callable(found) else found


def _answer(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "gave", call()
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        try:
            pickled = cloudpickle.dumps(error)
            pickle.loads(pickled)
        except Exception:
            pickled = cloudpickle.dumps(HeadwayError(str(error)))
        return "raised", (text, pickled)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
