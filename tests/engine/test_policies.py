"""Scheduling policies on real nodes: by name, of one's own, changed while rows flow, and failing."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_cases import Runner, same, scatter
from pyspark.sql import functions as F

from headway import Headway
from headway.errors import InvalidOption
from headway.scheduling import POLICIES, Converter, Llf, Policy, PriorityContext, Queue, Tokens
from headway.scheduling.queue import PriorityQueue

SCHEMA = "k long, v long"
NUMBERS = [(n % 7, n) for n in range(200)]
SUMS = [(key, sum(range(key, 200, 7))) for key in range(7)]


@pytest.fixture(autouse=True)
def as_it_was(hw: Headway) -> Iterator[None]:
    before = hw.policy
    yield
    hw.policy = before


def newest_first() -> Policy:
    """A user's own. (Classes that nodes cannot import travel whole if they are made in a function.)"""

    class NewestFirst(Policy):
        name = "newest"

        def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
            return PriorityContext(t, -t, None, t, converter.latency, converter.query)

        def queue(self, workers: int = 1) -> Queue:
            return PriorityQueue(patience=0.1, floods=False)

    return NewestFirst()


def failing(where: str) -> Policy:
    """Fails in its queue, or in a handler."""

    class BadQueue(PriorityQueue):
        def pop(self, now: float, worker: int = 0) -> Any:
            if self._number > 2:
                raise RuntimeError("no idea whose turn it is")
            return super().pop(now, worker)

    class Bad(Llf):
        def at_operator(self, *arguments: Any) -> PriorityContext:
            if where == "handler":
                raise RuntimeError("cannot say how urgent this is")
            return super().at_operator(*arguments)

        def queue(self, workers: int = 1) -> Queue:
            return BadQueue() if where == "queue" else super().queue(workers)

    return Bad()


class NotThere(Llf):
    """Nodes cannot import the module of this one."""


def sums(runner: Runner) -> Counter[tuple[Any, ...]]:
    stream = runner.stream(SCHEMA)
    query = runner.start(stream.toDF().groupBy("k").agg(F.sum("v").alias("s")), "complete")
    scatter(stream, NUMBERS)
    query.processAllAvailable()
    return same(runner.table(query))


@pytest.mark.parametrize(
    "policy", [*POLICIES, newest_first(), Tokens({"somebody": 5})], ids=[*POLICIES, "own", "tokens of one"]
)
def test_every_policy_gives_the_same_results(policy: str | Policy, once: Runner, hw: Headway) -> None:
    hw.policy = policy
    assert sums(once) == same(SUMS)


def test_a_change_while_rows_flow_loses_nothing(once: Runner, hw: Headway) -> None:
    stream = once.stream(SCHEMA)
    query = once.start(stream.toDF().groupBy("k").agg(F.count("*"), F.sum("v")), "complete")
    added = 0
    for policy in [*POLICIES, *POLICIES]:
        hw.policy = policy
        for _ in range(3):
            stream.addData(*[(n % 5, n) for n in range(added, added + 1000)])
            added += 1000
    query.processAllAvailable()
    expected = [(key, added // 5, sum(range(key, added, 5))) for key in range(5)]
    assert same(once.table(query)) == same(expected)


@pytest.mark.parametrize("where", ["handler", "queue"])
def test_a_policy_that_fails_is_reported_and_the_node_goes_on(
    where: str, once: Runner, hw: Headway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "headway"):
        hw.policy = failing(where)
        assert sums(once) == same(SUMS)
    said = "\n".join(caplog.messages)
    assert "goes on with Arrival" in said
    assert "RuntimeError: " in said


def test_a_policy_that_nodes_cannot_load_changes_nothing(
    once: Runner, hw: Headway, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "headway"):
        hw.policy = NotThere()
        assert sums(once) == same(SUMS)
    said = "\n".join(caplog.messages)
    assert "goes on with Llf" in said
    assert "ModuleNotFoundError" in said


def test_a_policy_that_does_not_exist_is_refused(hw: Headway) -> None:
    with pytest.raises(InvalidOption, match="no scheduling policy 'lifo'; there are arrival, edf, enjima"):
        hw.policy = "lifo"


def test_a_trace_tells_what_ran(once: Runner, hw: Headway, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with hw.recordTrace(path):
        stream = once.stream(SCHEMA)
        query = once.start(stream.toDF().groupBy("k").agg(F.sum("v")), "update")
        scatter(stream, NUMBERS)
        query.processAllAvailable()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    (header,) = [line for line in lines if line.get("query") == query.name]
    runs = [line for line in lines if line.get("number") == header["number"] and "start" in line]
    kinds = {stage["id"]: stage["kind"] for stage in header["stages"]}
    assert sorted(kinds.values()) == ["chain", "merge", "plan", "read", "sink"]
    chain = next(stage for stage, kind in kinds.items() if kind == "chain")
    assert sum(run["rows"] for run in runs if run["stage"] == chain) == 200
    assert all(run["seconds"] > 0 for run in runs)


def test_auto_finds_a_target(once: Runner, hw: Headway) -> None:
    rate = once.spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    query = once.keep(hw.writeStream(rate).format("noop").latency("auto").start(fallback=False))
    deadline = time.monotonic() + 60
    target = None
    while target is None and time.monotonic() < deadline:
        assert query.isActive
        target = query.lastProgress and query.lastProgress["headway"]["targetMs"]
    e2e = [p["headway"]["latency"]["e2eLatencyMs"] for p in query.recentProgress]
    measured = [p["P95"] for p in e2e if p]
    assert target is not None
    assert 1.9 * min(measured) <= target <= 2.1 * max(measured)
    assert all(p["headway"]["missed"] == 0 for p in query.recentProgress[:-1]), "nothing is judged before"


def test_misses_are_explained(once: Runner, hw: Headway, capsys: pytest.CaptureFixture[str]) -> None:
    def work_on(row: Any) -> None:
        until = time.perf_counter() + 0.002
        while time.perf_counter() < until:
            pass

    stream = once.stream(SCHEMA)
    writer = hw.writeStream(stream.toDF()).foreach(work_on).latency("5 ms")
    query = once.keep(writer.start(fallback=False))
    stream.addData(*NUMBERS)
    query.processAllAvailable()
    parts = [p["headway"]["missMs"] for p in query.recentProgress if p["headway"]["missed"]]
    assert parts
    assert max(part["service"] for part in parts) >= 200, "the sink took 2 ms for each of 200 rows"
    query.explainMisses()
    said = capsys.readouterr().out
    assert "results (100.0 %) missed the target of 5 ms" in said
    assert "Most of it is service: the query's own work takes that long" in said
