"""`hw.streams`: the queries that run, on either engine, and the listeners to them; PySpark's `StreamingQueryManager`.

1. A listener is an ordinary PySpark `StreamingQueryListener` and gets PySpark's own event objects. What it raises is
   logged and goes no further. As in Spark, it hears of a start before `start()` returns, and of the rest from a
   thread of its own, so that a slow listener holds up no query. While nothing happens it hears that the query is
   idle instead of progress.
2. A query is active from `started` until its engine says that it has ended; then its clean-up runs, once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from headway.errors import StreamingQueryFailed
from headway.observe.progress import now_iso
from headway.query import SPARK, StreamingQuery, check_timeout

_log = logging.getLogger("headway.streams")
_CLOSE_TIMEOUT = 10.0


class _SparkEvents(StreamingQueryListener):  # type: ignore[misc]
    """Hears Spark's own queries and passes on what concerns those that fell back to it."""

    def __init__(self, manager: StreamingQueryManager) -> None:
        self._manager = manager

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """The manager tells this itself, when it knows the query."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._manager._spark_event("onQueryProgress", str(event.progress.id), event)

    def onQueryIdle(self, event: Any) -> None:
        self._manager._spark_event("onQueryIdle", str(event.id), event)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """The manager tells this itself, for both engines alike."""


class StreamingQueryManager:
    """The queries of one Headway."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._active: dict[str, StreamingQuery] = {}
        self._changed = threading.Condition()
        # Of the queries that have ended since the last reset: whether there is one, and the error of the last that
        # failed, as in Spark.
        self._any_ended = False
        self._last_error: StreamingQueryException | None = None
        self._listeners: list[StreamingQueryListener] = []
        self._spark_events: _SparkEvents | None = None
        self._teller = ThreadPoolExecutor(1, "headway-listeners")

    @property
    def active(self) -> list[StreamingQuery]:
        with self._changed:
            known = list(self._active.values())
        return [query for query in known if query.isActive]

    def get(self, id: str) -> StreamingQuery | None:
        """The active query of this id, None if there is none."""
        return next((query for query in self.active if query.id == id), None)

    def named(self, name: str) -> StreamingQuery | None:
        """The active query of this name, None if there is none."""
        with self._changed:
            known = [query for query in self._active.values() if query.name == name]
        return next((query for query in known if query.isActive), None)

    def awaitAnyTermination(self, timeout: float | None = None) -> bool | None:
        """Wait until any query has ended since the start or `resetTerminated`; raise its error if it failed."""
        check_timeout(timeout)
        with self._changed:
            ended = self._changed.wait_for(lambda: self._any_ended, timeout)
            error = self._last_error
        if error is not None:
            raise error
        return ended if timeout is not None else None

    def resetTerminated(self) -> None:
        """Forget the queries that have ended."""
        with self._changed:
            self._any_ended, self._last_error = False, None

    def addListener(self, listener: StreamingQueryListener) -> None:
        listener._set_spark_session(self._spark)
        with self._changed:
            self._listeners.append(listener)
        self._hear_spark()

    def removeListener(self, listener: StreamingQueryListener) -> None:
        with self._changed:
            self._listeners = [known for known in self._listeners if known is not listener]

    def started(self, query: StreamingQuery, cleanup: Callable[[], None]) -> None:
        """A query has started; `cleanup` is called when it has ended."""
        with self._changed:
            self._active[query.id] = query
        if query.engine == SPARK:
            self._hear_spark()
        self._tell("onQueryStarted", QueryStartedEvent(UUID(query.id), UUID(query.runId), query.name, now_iso(), set()))
        query._run.on_end(lambda: self._ended_now(query, cleanup))

    def progressed(self, progress: StreamingQueryProgress, idle: bool) -> None:
        if idle:
            event = QueryIdleEvent(progress.id, progress.runId, progress.timestamp)
            self._tell_later("onQueryIdle", event)
        else:
            self._tell_later("onQueryProgress", QueryProgressEvent(progress))

    def _ended_now(self, query: StreamingQuery, cleanup: Callable[[], None]) -> None:
        error = query.exception()
        try:
            cleanup()
        except Exception:
            _log.exception("cleaning up after %r", query)
        with self._changed:
            if self._active.get(query.id) is query:
                del self._active[query.id]
            self._any_ended, self._last_error = True, error or self._last_error
            self._changed.notify_all()
        query._settled.set()
        told = str(error) if error is not None else None
        condition = error.condition if isinstance(error, StreamingQueryFailed) else None
        self._tell_later("onQueryTerminated", QueryTerminatedEvent(UUID(query.id), UUID(query.runId), told, condition))

    def _tell(self, method: str, event: Any) -> None:
        with self._changed:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                getattr(listener, method)(event)
            except Exception:
                _log.exception("%s.%s", type(listener).__name__, method)

    def _tell_later(self, method: str, event: Any) -> None:
        if self._listeners:
            self._teller.submit(self._tell, method, event)

    def _spark_event(self, method: str, query_id: str, event: Any) -> None:
        query = self.get(query_id)
        if query is not None and query.engine == SPARK:
            self._tell_later(method, event)

    def _hear_spark(self) -> None:
        """Listen to Spark once there is somebody to tell and something to hear."""
        with self._changed:
            needed = self._listeners and any(query.engine == SPARK for query in self._active.values())
            if not needed or self._spark_events is not None:
                return
            self._spark_events = _SparkEvents(self)
        self._spark.streams.addListener(self._spark_events)

    def close(self) -> None:
        """Stop every query and stop listening to Spark."""
        active = self.active
        for query in active:
            query._run.ask_to_stop()
        for query in active:
            query.stop()
        if self._spark_events is not None:
            self._spark.streams.removeListener(self._spark_events)
            self._spark_events = None
        with self._changed:
            self._changed.wait_for(lambda: not self._active, _CLOSE_TIMEOUT)
        self._teller.shutdown(wait=True)
