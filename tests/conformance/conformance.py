"""Cases of what Spark's streaming engine does step by step, as data, and the two engines that play them.

1. A case is a query over streams and steps: rows that are added to each stream, maybe after a restart from the
   checkpoint. After every step all that is due has been given.
2. The answers are Spark's: `recording.py` plays the cases on Structured Streaming and writes to `answers/`, per step,
   the rows it gave, the rows of state per operator and the late ones.
3. All cases of a suite run at once, step by step, so that waiting costs little.
4. What Headway gives otherwise is in the case: the step, its own answer, and why; `docs/semantics.md` explains it.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pyspark.sql import DataFrame, SparkSession

from headway import Headway
from headway.testing import MemoryStream

ANSWERS = Path(__file__).parent / "answers"
_names = itertools.count()


class Step(NamedTuple):
    """Rows to add, by stream; `restart`: the query is stopped and started again before."""

    rows: tuple[Sequence[Any], ...]
    restart: bool = False


class Answer(NamedTuple):
    """After a step: rows that are new (in complete mode all), and per operator, last first, rows kept and rows late."""

    rows: list[Any]
    kept: list[int]
    late: list[int]


@dataclass(frozen=True)
class Case:
    """See the module. `key`: in update mode, so many columns tell a group. `conf` is set when the query is started
    first. `own`: Headway's answers, by step."""

    name: str
    query: Callable[..., DataFrame]
    steps: tuple[Step, ...]
    streams: tuple[str, ...] = ("v int",)
    mode: str = "append"
    key: int = 0
    sorted: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    why: str = ""

    def expected(self, recorded: Sequence[Answer]) -> list[Answer]:
        """What Headway is to give, where Spark gave `recorded`."""
        return [answer._replace(**self.own.get(i, {})) for i, answer in enumerate(recorded)]


def step(*rows: Sequence[Any], restart: bool = False) -> Step:
    return Step(rows, restart)


def same(case: Case, got: Answer, wanted: Answer) -> bool:
    """Whether both are one answer. Where Spark ran no batch, it told nothing of its state."""
    told = (got.kept, got.late) == (wanted.kept, wanted.late) or not wanted.kept
    return told and _shown(case, got.rows) == _shown(case, wanted.rows)


def _shown(case: Case, rows: Sequence[Any]) -> Any:
    texts = [json.dumps(_plain(row)) for row in rows]
    if case.mode == "update":
        # Of the rows that a group gave in a step, the last one counts: there is no trigger to give it once.
        texts = list(
            {json.dumps(_plain(row)[: case.key]): text for row, text in zip(rows, texts, strict=True)}.values()
        )
    return texts if case.sorted else Counter(texts)


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value


class Engine(Protocol):
    """What plays cases: Headway, or Spark for its answers."""

    spark: SparkSession
    keeps_rows: bool
    """Whether rows that were given before a restart are there after it."""

    def stream(self, schema: str) -> Any:
        """A stream to which rows can be added."""

    def start(self, case: Case, df: DataFrame, checkpoint: str, number: int) -> Any:
        """Start or go on; `number` counts the starts of a case."""

    def held(self, query: Any) -> AbstractContextManager[Any]:
        """Rows that are added meanwhile are seen together."""

    def rows(self, query: Any) -> list[Any]:
        """All rows given so far."""


@contextmanager
def _set(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


class Played:
    """One case on one engine."""

    def __init__(self, engine: Engine, case: Case) -> None:
        self._engine = engine
        self.case = case
        self._streams = [engine.stream(schema) for schema in case.streams]
        self._df = case.query(*(stream.toDF() for stream in self._streams))
        plan = self._df._jdf.queryExecution().analyzed().treeString()
        self.forgets = len(self._streams) > 1 or plan.count("EventTimeWatermark") > 1
        """Whether a restart may make another answer right."""
        self._directory = tempfile.TemporaryDirectory(prefix="conformance-")
        self._starts = 0
        self._seen = 0
        self.answers: list[Answer] = []
        self._start()

    def _start(self) -> None:
        settings = self.case.conf if self._starts == 0 else {}
        with _set(self._engine.spark, settings):
            self._query = self._engine.start(self.case, self._df, self._directory.name, self._starts)
        self._starts += 1
        self._seen = self._seen if self._engine.keeps_rows else 0
        self._progress = 0

    def add(self, step: Step, restart: bool) -> None:
        if restart:
            self._query.stop()
            self._start()
        with self._engine.held(self._query):
            for stream, rows in zip(self._streams, step.rows, strict=True):
                if rows:
                    stream.addData(*rows)

    def settle(self) -> None:
        """Wait until all that was added has had its effect, and keep what came of it."""
        self._query.processAllAvailable()
        rows = self._engine.rows(self._query)
        new = rows if self.case.mode == "complete" else rows[self._seen :]
        self._seen = len(rows)
        progress = self._query.recentProgress[self._progress :]
        self._progress += len(progress)
        operators = [p["stateOperators"] for p in progress if p["stateOperators"]]
        kept = [int(state["numRowsTotal"]) for state in operators[-1]] if operators else []
        late = [sum(int(s["numRowsDroppedByWatermark"]) for s in states) for states in zip(*operators, strict=True)]
        self.answers.append(Answer([_plain(tuple(row)) for row in new], kept, late))

    def stop(self) -> None:
        self._query.stop()
        self._directory.cleanup()


def play(engine: Engine, cases: Sequence[Case], restarts: bool) -> dict[str, list[Answer]]:
    """What the cases give, step by step. `restarts`: every step but the first begins with one.

    Of several watermarks a restart forgets which was ahead of the others: their cases say when.
    """
    played = [Played(engine, case) for case in cases]
    try:
        for number in range(max(len(case.steps) for case in cases)):
            active = [p for p in played if number < len(p.case.steps)]
            for one in active:
                current = one.case.steps[number]
                one.add(current, current.restart or (restarts and number > 0 and not one.forgets))
            for one in active:
                one.settle()
    finally:
        for one in played:
            one.stop()
    return {p.case.name: p.answers for p in played}


class OnHeadway:
    """Headway, with `options` for the first start, the second, and so on in turns."""

    keeps_rows = True

    def __init__(self, spark: SparkSession, hw: Headway, options: Sequence[Mapping[str, str]]) -> None:
        self.spark = spark
        self._hw = hw
        self._options = options

    def stream(self, schema: str) -> Any:
        return MemoryStream(self.spark, schema)

    def held(self, query: Any) -> AbstractContextManager[Any]:
        return nullcontext()

    def start(self, case: Case, df: DataFrame, checkpoint: str, number: int) -> Any:
        writer = self._hw.writeStream(df).format("memory").queryName(f"conformance_{next(_names)}")
        options = {**self._options[number % len(self._options)], "checkpointLocation": checkpoint}
        return writer.outputMode(case.mode).options(**options).start(fallback=False)

    def rows(self, query: Any) -> list[Any]:
        return [tuple(row) for row in self.spark.table(query.name).collect()]


def read_answers(suite: str) -> dict[str, list[Answer]]:
    """Spark's, by case and step; none before they were recorded."""
    path = ANSWERS / f"{suite}.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    return {name: [Answer(*answer) for answer in answers] for name, answers in known.items()}
