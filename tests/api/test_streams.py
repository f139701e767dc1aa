"""`hw.streams` tells of queries on both engines, and listeners get PySpark's events."""

import queue
import uuid
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from headway import FallbackWarning, Headway
from headway.observe.metrics import QueryMetrics
from headway.observe.progress import ProgressContext, as_pyspark, build_progress
from headway.query import StreamingQuery
from headway.streams import StreamingQueryManager


class Recorder(StreamingQueryListener):  # type: ignore[misc]
    """Puts every event where a test can wait for it."""

    def __init__(self) -> None:
        self.events: queue.Queue[tuple[str, Any]] = queue.Queue()

    def onQueryStarted(self, event: Any) -> None:
        self.events.put(("started", event))

    def onQueryProgress(self, event: Any) -> None:
        self.events.put(("progress", event))

    def onQueryIdle(self, event: Any) -> None:
        self.events.put(("idle", event))

    def onQueryTerminated(self, event: Any) -> None:
        self.events.put(("terminated", event))

    def next(self, kind: str) -> Any:
        """The next event of this kind; others before it are passed over."""
        while True:
            got, event = self.events.get(timeout=30)
            if got == kind:
                return event


class WithoutIdle(StreamingQueryListener):  # type: ignore[misc]
    """As listeners were before Spark 3.5."""

    def onQueryStarted(self, event: Any) -> None: ...

    def onQueryProgress(self, event: Any) -> None: ...

    def onQueryTerminated(self, event: Any) -> None: ...


class Raising(Recorder):
    def onQueryStarted(self, event: Any) -> None:
        raise RuntimeError("a listener's own trouble")


def fail(df: DataFrame, epoch: int) -> None:
    raise RuntimeError("deliberate failure")


def start(hw: Headway, df: DataFrame, engine: str, name: str) -> StreamingQuery:
    writer = hw.writeStream(df).format("noop").queryName(name)
    if engine == "headway":
        return writer.start(fallback=False)
    with pytest.warns(FallbackWarning):
        return writer.start()


@pytest.fixture(params=["headway", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def df(engine: str, rate: DataFrame, unsupported: DataFrame) -> DataFrame:
    return rate if engine == "headway" else unsupported


def test_listeners_hear_a_query_from_start_to_end(hw: Headway, engine: str, df: DataFrame) -> None:
    raising, recorder = Raising(), Recorder()
    hw.streams.addListener(raising)
    hw.streams.addListener(recorder)
    query = start(hw, df, engine, "heard")
    assert query.engine == engine
    started = recorder.next("started")
    assert (str(started.id), str(started.runId), started.name) == (query.id, query.runId, "heard")
    progress = recorder.next("progress").progress
    assert (str(progress.id), progress.name) == (query.id, "heard")
    assert progress.sources[0].numInputRows >= 0
    query.stop()
    terminated = recorder.next("terminated")
    assert (str(terminated.runId), terminated.exception) == (query.runId, None)
    hw.streams.removeListener(recorder)
    hw.streams.removeListener(raising)
    start(hw, df, engine, "unheard").stop()
    assert ("started", "unheard") not in [(kind, getattr(e, "name", "")) for kind, e in recorder.events.queue]


def test_active_queries(hw: Headway, engine: str, df: DataFrame) -> None:
    first, second = start(hw, df, engine, "first"), start(hw, df, engine, "second")
    assert {query.name for query in hw.streams.active} == {"first", "second"}
    first.stop()
    assert [query.name for query in hw.streams.active] == ["second"]
    assert hw.streams.get(second.id) is second
    second.stop()
    assert hw.streams.active == []


def test_waiting_for_any_to_end(hw: Headway, engine: str, df: DataFrame) -> None:
    hw.streams.resetTerminated()
    query = start(hw, df, engine, "ends")
    assert hw.streams.awaitAnyTermination(0) is False
    query.stop()
    assert hw.streams.awaitAnyTermination(10) is True
    hw.streams.resetTerminated()
    assert hw.streams.awaitAnyTermination(0) is False


def test_waiting_for_any_raises_the_error_of_the_one_that_failed(hw: Headway, engine: str, df: DataFrame) -> None:
    hw.streams.resetTerminated()
    writer = hw.writeStream(df).foreachBatch(fail)
    if engine == "headway":
        query = writer.start(fallback=False)
    else:
        with pytest.warns(FallbackWarning):
            query = writer.start()
    with pytest.raises(StreamingQueryException, match="deliberate failure"):
        hw.streams.awaitAnyTermination(60)
    with pytest.raises(StreamingQueryException, match="deliberate failure"):
        query.awaitTermination()
    assert not query.isActive
    hw.streams.resetTerminated()


def test_listeners_hear_that_a_query_is_idle(spark: SparkSession) -> None:
    manager, recorder, old = StreamingQueryManager(spark), Recorder(), WithoutIdle()
    manager.addListener(old)
    manager.addListener(recorder)
    id, run_id = str(uuid.uuid4()), str(uuid.uuid4())
    context = ProgressContext(id, run_id, "resting", time=1.25, epoch=3, seconds=10.0, sink="noop")
    manager.progressed(as_pyspark(build_progress(context, QueryMetrics())), idle=True)
    manager.close()
    ((kind, event),) = recorder.events.queue
    assert (kind, str(event.id), str(event.runId)) == ("idle", id, run_id)
    assert event.timestamp == "1970-01-01T00:00:01.250Z"


def test_of_several_that_failed_the_last_is_told(hw: Headway, rate: DataFrame) -> None:
    hw.streams.resetTerminated()
    for name in ("fails_first", "fails_last"):
        query = hw.writeStream(rate).foreachBatch(fail).queryName(name).start(fallback=False)
        with pytest.raises(StreamingQueryException, match=name):
            query.awaitTermination(60)
    start(hw, rate, "headway", "ends_well").stop()
    with pytest.raises(StreamingQueryException, match="fails_last"):
        hw.streams.awaitAnyTermination(60)
    hw.streams.resetTerminated()
