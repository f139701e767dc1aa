"""The `socket` source: lines of text from a TCP server; not replayable, for tutorials and debugging, as in Spark.

The planner's connection reads lines into a buffer; what was not handed out yet becomes one task, lines and all.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from headway.connectors.api import Planner, Position
from headway.connectors.sources.options import boolean, integer, poll_interval, refuse_unknown
from headway.dataflow.graph import Source
from headway.dataflow.types import arrow_schema
from headway.errors import HeadwayError, InvalidOption

POLL_SECONDS = 0.005
CONNECT_SECONDS = 10.0
MOST_BUFFERED_LINES = 1_000_000
"""Beyond this the connection is read no further, so that the sender slows down, not the memory."""


class SocketSource:
    """Lines of `host`:`port` as (value) or (value, timestamp)."""

    replayable = False

    def __init__(self, host: str, port: int, schema: pa.Schema, poll: float) -> None:
        self._host = host
        self._port = port
        self._schema = schema
        self.poll_interval = poll

    def planner(self) -> Planner:
        return SocketPlanner(self._host, self._port)

    def shown(self, position: Position) -> Any:
        """Spark counts lines from 0 and tells of the last one."""
        return position - 1

    def read(self, task: bytes) -> Iterator[pa.RecordBatch]:
        lines, times = pickle.loads(task)
        columns = [lines, times][: len(self._schema)]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)


class SocketPlanner:
    """Holds the connection. A position is the number of lines since it was made."""

    def __init__(self, host: str, port: int) -> None:
        self._name = f"{host}:{port}"
        self._lines: list[str] = []
        self._times: list[int] = []
        self._taken = 0
        self._room = threading.Condition()
        self._connection = self._connect(host, port)
        self._closed = False
        threading.Thread(target=self._receive, name=f"headway-socket-{self._name}", daemon=True).start()

    def start(self, position: Position | None) -> Position:
        """A socket cannot go back: a restarted query gets what is sent from now on."""
        with self._room:
            self._taken = position or 0
        return self._taken

    def latest(self) -> Position:
        with self._room:
            return self._taken + len(self._lines)

    def tasks(self, start: Position, end: Position) -> Sequence[tuple[int, bytes]]:
        with self._room:
            count = end - self._taken
            lines, times = self._lines[:count], self._times[:count]
            del self._lines[:count], self._times[:count]
            self._taken = end
            self._room.notify_all()
        return [(0, pickle.dumps((lines, times)))] if lines else []

    def commit(self, end: Position) -> None:
        """Nothing to forget: lines are forgotten as they are handed out."""

    def close(self) -> None:
        with self._room:
            self._closed = True
            self._room.notify_all()
        # Shutting down, unlike closing, wakes the thread that waits for the next line.
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _connect(self, host: str, port: int) -> socket.socket:
        try:
            connection = socket.create_connection((host, port), timeout=CONNECT_SECONDS)
        except OSError as error:
            raise HeadwayError(
                f"source socket cannot connect to {self._name} ({error}): start the server that sends the lines first "
                f"(for example: nc -lk {port}), or correct the options host and port"
            ) from error
        connection.settimeout(None)
        return connection

    def _receive(self) -> None:
        try:
            with self._connection.makefile("r", encoding="utf-8", errors="replace", newline=None) as lines:
                for line in lines:
                    self._keep(line.removesuffix("\n"))
        except (OSError, ValueError):
            # Closed, by us or by the sender: there are no more lines, which in Spark is no error either.
            return

    def _keep(self, line: str) -> None:
        now_us = int(time.time() * 1000) * 1000
        with self._room:
            self._room.wait_for(lambda: self._closed or len(self._lines) < MOST_BUFFERED_LINES)
            self._lines.append(line)
            self._times.append(now_us)


def open_socket(source: Source) -> SocketSource:
    """Check the options; the connection is made where the planner runs."""
    refuse_unknown(source, ("host", "port", "includeTimestamp", "numPartitions"))
    for name in ("host", "port"):
        if source.option(name) is None:
            raise InvalidOption(f"source socket needs the option {name}")
    boolean(source, "includeTimestamp", False)
    host: Any = source.option("host")
    schema = arrow_schema(source.schema)
    return SocketSource(host, integer(source, "port", 0), schema, poll_interval(source, POLL_SECONDS))
