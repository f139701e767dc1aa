"""The two engines behind `StreamingQuery`: Headway's own runtime, and Structured Streaming."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryProgress
from pyspark.sql.streaming.query import StreamingQuery as SparkQuery

from headway.dataflow.query import QuerySpec
from headway.errors import StreamingQueryFailed
from headway.observe.progress import HEADWAY_KEY, as_pyspark
from headway.query import HEADWAY, SPARK


class RunningQuery(Protocol):
    """What the runtime gives for a query it has taken."""

    @property
    def active(self) -> bool: ...

    @property
    def error(self) -> StreamingQueryFailed | None: ...

    def stop(self) -> None: ...

    def ask_to_stop(self) -> None: ...

    def on_end(self, callback: Callable[[], None]) -> None: ...

    def wait(self, timeout: float | None) -> bool: ...

    def process_all_available(self) -> None: ...

    def progress(self) -> list[dict[str, Any]]: ...

    def add_progress_callback(self, callback: Callable[[dict[str, Any], bool], None]) -> None:
        """Have `callback` called with every progress, and whether it only says that nothing happens."""

    def engine_facts(self) -> dict[str, Any]: ...

    def explain_misses(self) -> str: ...


class NativeRun:
    """A query in Headway's nodes."""

    engine = HEADWAY

    def __init__(self, spec: QuerySpec, running: RunningQuery, explain: Callable[[], str]) -> None:
        self.id, self.run_id, self.name = spec.id, spec.run_id, spec.name
        self._running = running
        self._explain = explain

    @property
    def active(self) -> bool:
        return self._running.active

    def status(self) -> dict[str, Any]:
        if not self.active:
            error = self._running.error
            message = f"Terminated with exception: {error.what}" if error else "Stopped"
            return {"message": message, "isDataAvailable": False, "isTriggerActive": False}
        last = self._running.progress()[-1:]
        busy = bool(last) and last[0]["numInputRows"] > 0
        message = "Processing new data" if busy else "Waiting for data to arrive"
        return {"message": message, "isDataAvailable": busy, "isTriggerActive": True}

    def progress(self) -> list[StreamingQueryProgress]:
        return [as_pyspark(progress) for progress in self._running.progress()]

    def last_progress(self) -> StreamingQueryProgress | None:
        last = self._running.progress()[-1:]
        return as_pyspark(last[0]) if last else None

    def wait(self, timeout: float | None) -> bool:
        return self._running.wait(timeout)

    def process_all_available(self) -> None:
        self._running.process_all_available()
        self._raise_error()

    def stop(self) -> None:
        self._running.stop()

    def ask_to_stop(self) -> None:
        self._running.ask_to_stop()

    def on_end(self, callback: Callable[[], None]) -> None:
        self._running.on_end(callback)

    def explain(self, extended: bool) -> str:
        facts = "\n".join(f"{name}: {value}" for name, value in self._running.engine_facts().items())
        return f"{self._explain()}\n{facts}"

    def explain_misses(self) -> str:
        return self._running.explain_misses()

    def error(self) -> StreamingQueryException | None:
        return self._running.error

    def _raise_error(self) -> None:
        error = self.error()
        if error is not None:
            raise error


class SparkRun:
    """A query that fell back to Structured Streaming. `latency` is kept, to be seen in its progress."""

    engine = SPARK

    def __init__(self, query: SparkQuery, latency: float | None) -> None:
        self.id, self.run_id, self.name = query.id, query.runId, query.name
        self._query = query
        self._latency = latency

    @property
    def active(self) -> bool:
        return bool(self._query.isActive)

    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._query.status
        return status

    def progress(self) -> list[StreamingQueryProgress]:
        return [self._with_target(progress) for progress in self._query.recentProgress]

    def last_progress(self) -> StreamingQueryProgress | None:
        progress = self._query.lastProgress
        return self._with_target(progress) if progress is not None else None

    def _with_target(self, progress: StreamingQueryProgress) -> StreamingQueryProgress:
        target = None if self._latency is None else self._latency * 1000
        progress[HEADWAY_KEY] = {"engine": SPARK, "targetMs": target}
        return progress

    def wait(self, timeout: float | None) -> bool:
        if timeout == 0:  # which PySpark refuses
            return not self.active
        try:
            ended = self._query.awaitTermination(timeout)
        except StreamingQueryException:
            return True
        return True if ended is None else bool(ended)

    def process_all_available(self) -> None:
        self._query.processAllAvailable()

    def stop(self) -> None:
        self._query.stop()

    def ask_to_stop(self) -> None:
        """Spark stops a query only while one waits."""

    def on_end(self, callback: Callable[[], None]) -> None:
        def watch() -> None:
            self.wait(None)
            callback()

        threading.Thread(target=watch, name=f"headway-watch-{self.name or self.id}", daemon=True).start()

    def explain(self, extended: bool) -> str:
        return str(self._query._jsq.explainInternal(extended))

    def explain_misses(self) -> str:
        return "The query runs on Structured Streaming, which does not say when results were out."

    def error(self) -> StreamingQueryException | None:
        return self._query.exception()
