"""`StreamingQuery`: a handle to a query, with PySpark's members, whichever engine runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from pyspark.errors import PySparkValueError, StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryProgress

HEADWAY = "headway"
SPARK = "spark"
_SETTLE_TIMEOUT = 10.0


class Run(Protocol):
    """What the handle needs of an engine's query; see `headway.runs`."""

    engine: str
    id: str
    run_id: str
    name: str | None

    @property
    def active(self) -> bool: ...

    def status(self) -> dict[str, Any]: ...

    def progress(self) -> list[StreamingQueryProgress]: ...

    def last_progress(self) -> StreamingQueryProgress | None: ...

    def wait(self, timeout: float | None) -> bool:
        """Whether the query has ended; True at once where it has. Never raises the query's own error."""

    def process_all_available(self) -> None: ...

    def stop(self) -> None: ...

    def ask_to_stop(self) -> None:
        """Begin to stop, if the engine can do that without waiting; `stop` then takes less long."""

    def on_end(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once the query has ended, in a thread where it may block."""

    def explain(self, extended: bool) -> str: ...

    def explain_misses(self) -> str: ...

    def error(self) -> StreamingQueryException | None: ...


def check_timeout(timeout: Any) -> None:
    """Seconds to wait, None: as long as it takes."""
    if timeout is not None and (not isinstance(timeout, int | float) or timeout < 0):
        wrong = {"arg_name": "timeout", "arg_value": repr(timeout)}
        raise PySparkValueError(errorClass="VALUE_NOT_POSITIVE", messageParameters=wrong)


class StreamingQuery:
    """A query that runs in the background. All methods may be called from any thread.

    `engine` says who runs it: "headway", or "spark" where it fell back to Structured Streaming.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._settled = threading.Event()
        """Set when the query has ended and nothing is left of it in `hw.streams`."""

    @property
    def engine(self) -> str:
        return self._run.engine

    @property
    def id(self) -> str:
        """The same over restarts from the same checkpoint."""
        return self._run.id

    @property
    def runId(self) -> str:
        """Another one in every start."""
        return self._run.run_id

    @property
    def name(self) -> str | None:
        return self._run.name

    @property
    def isActive(self) -> bool:
        return self._run.active

    @property
    def status(self) -> dict[str, Any]:
        return self._run.status()

    @property
    def recentProgress(self) -> list[StreamingQueryProgress]:
        return self._run.progress()

    @property
    def lastProgress(self) -> StreamingQueryProgress | None:
        """PySpark's progress; what is Headway's own is under the key "headway"."""
        return self._run.last_progress()

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait until the query has ended, or for `timeout` seconds; raise its error if it failed.

        With a timeout: whether it has ended. Without one: None.
        """
        check_timeout(timeout)
        ended = self._run.wait(timeout)
        if ended:
            self._settled.wait(_SETTLE_TIMEOUT)
        error = self._run.error() if ended else None
        if error is not None:
            raise error
        return ended if timeout is not None else None

    def processAllAvailable(self) -> None:
        """Wait until all that is in the sources now is in the sink; for tests."""
        self._run.process_all_available()

    def stop(self) -> None:
        self._run.stop()
        self._settled.wait(_SETTLE_TIMEOUT)

    def explain(self, extended: bool = False) -> None:
        """Print how the query runs."""
        print(self._run.explain(extended))

    def explainMisses(self) -> None:
        """Print how many results missed the latency target since the query started, and where their time went."""
        print(self._run.explain_misses())

    def exception(self) -> StreamingQueryException | None:
        """Why the query ended, if it failed."""
        return self._run.error()

    def __repr__(self) -> str:
        state = "active" if self.isActive else "ended"
        return f"<StreamingQuery {self.name or self.id} on {self.engine}, {state}>"
