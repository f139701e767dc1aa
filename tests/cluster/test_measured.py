"""Progress is made often while something happens, seldom while nothing does, and never loses a count."""

import pytest
from pyspark.sql import types as T

from headway.cluster.measured import EVERY, EVERY_IDLE, Measured
from headway.cluster.target import Target
from headway.connectors.api import SinkContext
from headway.connectors.sinks.noop import NoopSink
from headway.dataflow.graph import Source
from headway.dataflow.query import QuerySpec
from headway.dataflow.types import Field
from headway.observe.metrics import QueryMetrics
from headway.observe.misses import Result, Spent

SCHEMA = (Field("v", T.LongType()),)


@pytest.fixture
def measured() -> Measured:
    sink = NoopSink("noop", SinkContext(None, None, "id", SCHEMA, "append", {}, (), None))
    spec = QuerySpec("id", "run", None, Source(SCHEMA, "rate", ()), sink, "append", 0.1, None)
    return Measured(spec, Target(spec.latency), now=100.0)


def told(rows: int, at: int) -> QueryMetrics:
    made = QueryMetrics(0.1)
    source = made.source("rate-0")
    source.rows, source.end = rows, {"0": at}
    return made


def settle(measured: Measured) -> float:
    """Make progress as it is due until the query counts as idle; when that was."""
    for _ in range(3):
        now = measured.due()
        measured.make(now, 0, "Running")
    assert measured.due() == now + EVERY_IDLE
    return now


def test_once_a_second_while_rows_come(measured: Measured) -> None:
    for second in range(5):
        assert measured.report(0, told(10, second), {})
        assert measured.due() == 100.0 + (second + 1) * EVERY
        measured.make(measured.due(), second, "Running")
    assert [made["numInputRows"] for made in measured.progress()] == [10] * 5


def test_the_last_progress_tells_that_it_is_over_and_then_it_is_seldom(measured: Measured) -> None:
    measured.report(0, told(10, 1), {})
    settle(measured)
    assert [made["numInputRows"] for made in measured.progress()] == [10, 0, 0]


def test_progress_while_nothing_happens_says_so(measured: Measured) -> None:
    told_idle: list[bool] = []
    measured.add_callback(lambda progress, idle: told_idle.append(idle))
    measured.report(0, told(10, 1), {})
    measured.make(settle(measured) + EVERY_IDLE, 0, "Running")
    assert told_idle == [False, False, True, True]
    measured.report(0, told(10, 2), {})
    measured.make(measured.due(), 0, "Running")
    assert told_idle[4:] == [False]


def test_a_report_without_anything_new_changes_nothing(measured: Measured) -> None:
    measured.report(0, told(10, 1), {"compiled": True})
    idle_since = settle(measured)
    assert not measured.report(0, told(0, 1), {"compiled": True})
    assert measured.due() == idle_since + EVERY_IDLE


@pytest.mark.parametrize("news", ["rows", "position", "fact", "state", "result"])
def test_news_ends_the_rest(measured: Measured, news: str) -> None:
    measured.report(0, told(0, 1), {"compiled": False})
    idle_since = settle(measured)
    if news == "result":
        measured.show(Result(99.9, 99.9, 99.9, 1, 100.0, Spent()), 100.0)
    elif news == "state":
        measured.changed()
    else:
        moved = measured.report(0, told(news == "rows", 1 + (news == "position")), {"compiled": news == "fact"})
        assert moved == (news != "fact")
    assert measured.due() == idle_since + EVERY


def test_a_node_that_does_not_report_stands_where_it_stood(measured: Measured) -> None:
    measured.report(0, told(5, 7), {})
    settle(measured)
    (source,) = measured.progress()[-1]["sources"]
    assert (source["numInputRows"], source["endOffset"]) == (0, '{"0": 7}')


def test_totals_are_what_all_progress_told(measured: Measured) -> None:
    measured.report(0, told(5, 7), {})
    measured.report(1, told(6, 7), {})
    settle(measured)
    assert (measured.totals().input_rows, measured.totals().input_rows) == (11, 0)
