"""Tells when a call of the user's code takes longer than it may, from a thread beside it.

Code that holds the interpreter's lock stops this thread too. So a timer of the C library, which needs no lock, is set
anew as long as the thread lives; when it is not, the timer ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import NamedTuple

import zmq

from headway.node.wire import Endpoint, Keys

LOOK_EVERY = 0.25
LINGER_MS = 10_000
GRACE = 5.0
"""Seconds after the limit at which a process ends whose threads do not run."""


class _Call(NamedTuple):
    number: int
    thread: int
    limit: float
    until: float


class Watchdog:
    """`hung` is told the number of the call and where the code is."""

    def __init__(self, hung: Callable[[int, str], None]) -> None:
        self._hung = hung
        self._call: _Call | None = None
        self._thread: threading.Thread | None = None

    def watch(self, number: int, limit: float | None) -> Watchdog:
        """For a `with` block: a call in this thread that may take `limit` seconds; None: as long as it likes."""
        if limit is not None:
            self._call = _Call(number, threading.get_ident(), limit, time.monotonic() + limit)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()
        return self

    def __enter__(self) -> None:
        """The call has begun."""

    def __exit__(self, *_: object) -> None:
        self._call = None

    def _watch(self) -> None:
        while True:
            call = self._call
            if call is not None:
                faulthandler.dump_traceback_later(call.limit + GRACE, exit=True, file=sys.__stderr__ or 2)
                if time.monotonic() > call.until:
                    self._hung(call.number, _story(call))
                    return
            else:
                faulthandler.cancel_dump_traceback_later()
            time.sleep(LOOK_EVERY)


def tell_and_exit(keys: Keys, coordinator: str, message: object) -> None:
    """End this process, whose loop is stuck: the coordinator is told by a connection of its own."""
    endpoint = Endpoint(keys)
    control = endpoint.connect(zmq.DEALER, coordinator)
    control.send_multipart([b"", pickle.dumps(message)])
    control.close(linger=LINGER_MS)
    endpoint.close()
    os._exit(1)


def _story(call: _Call) -> str:
    frame = sys._current_frames().get(call.thread)
    where = "".join(traceback.format_stack(frame)) if frame is not None else ""
    return (
        f"code of the query took longer than headway.udf.timeout, {call.limit:g} s: give it more time, or smaller "
        f"batches (spark.sql.execution.arrow.maxRecordsPerBatch). It was here:\n{where}"
    )
