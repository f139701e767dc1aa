"""Runs a case on Headway and its plan, over the same rows, as batches of Spark; says where they differ."""

from __future__ import annotations

import atexit
import itertools
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from plan_cases import Case, Row, Step, last_rows, must_keep, row_of
from plan_language import SCHEMA, STATIC_SCHEMA, Sources, below, build
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headway import Headway, UnsupportedPlan
from headway.query import StreamingQuery
from headway.testing import MemoryStream
from same_rows import same

Answer = Counter[tuple[Any, ...]]
_STATEFUL = {"window", "session", "group", "dedup", "join_windows"}
_names = itertools.count()


class Mismatch(AssertionError):
    """Headway's answer is not Spark's."""


class Undecided(Exception):
    """The case says nothing of Headway: its plan falls back, Spark refuses it, or has no answer itself."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


def check(spark: SparkSession, hw: Headway, case: Case) -> None:
    """Raise `Mismatch` or what Headway raises if it fails, `Undecided` if nothing can be said."""
    with _ansi(spark, case.ansi):
        least = _batch(spark, case, _rows_of(must_keep(case.steps, _delay(case)) if case.late else case.steps))
        given = _answer_or_error(spark, hw, case)
        # Another job of Spark's only if it is needed: most plans hold the last rows back.
        most = least if given == least else _batch(spark, case, _rows_of(case.steps) + _ends(case))
    if least - most:
        raise Undecided("undecided", "the last rows change the answer of those before them")
    missing, extra = least - given, given - most
    if missing or extra:
        raise Mismatch(f"missing of Spark's answer: {dict(missing)}; not in Spark's answer: {dict(extra)}")


def _answer_or_error(spark: SparkSession, hw: Headway, case: Case) -> Answer:
    try:
        return _answer(spark, hw, case)
    except Exception:
        _batch(spark, case, _rows_of(case.steps) + _ends(case))  # Spark may fail as well, on the last rows
        raise


def _rows_of(steps: Sequence[Step]) -> list[tuple[int, Row]]:
    return [(step.stream, row_of(cells)) for step in steps for cells in step.rows]


def _delay(case: Case) -> int:
    return min(plan["delay"] for plan in below(case.plan) if plan["op"] == "watermark")


def _ends(case: Case) -> list[tuple[int, Row]]:
    return [(stream, row) for stream, _, row in last_rows(case)] if _waits(case) else []


def _waits(case: Case) -> bool:
    """Whether rows wait in state until the streams have come to their ends."""
    return case.output == "append" and any(plan["op"] in _STATEFUL or plan["op"] == "join" for plan in below(case.plan))


def _batch(spark: SparkSession, case: Case, rows: Sequence[tuple[int, Row]]) -> Answer:
    frames = [_frame(spark, [row for stream, row in rows if stream == n], SCHEMA) for n in range(case.streams)]
    try:
        df = build(case.plan, Sources(frames, _static(spark, case)))
        return _told(case, df.collect())
    except AnalysisException as error:
        raise Undecided("refused", str(error).splitlines()[0]) from None
    except (PySparkException, Py4JJavaError) as error:
        raise Undecided("undecided", str(error).splitlines()[0]) from None


def _static(spark: SparkSession, case: Case) -> DataFrame:
    return _frame(spark, [tuple(row) for row in case.static], STATIC_SCHEMA)


def _answer(spark: SparkSession, hw: Headway, case: Case) -> Answer:
    directory = tempfile.mkdtemp(prefix="headway-case-")
    running = _Running(spark, hw, case, directory)
    try:
        running.feed()
        rows = [tuple(row) for row in spark.table(running.name).collect()]
    finally:
        running.close()
        shutil.rmtree(directory, ignore_errors=True)
    return _told(case, _newest(case, rows) if case.output == "update" else rows)


class _Running:
    """The streams of a case, and its query over them, which may be started again on its way."""

    def __init__(self, spark: SparkSession, hw: Headway, case: Case, directory: str) -> None:
        self.name = f"case_{next(_names)}"
        self._hw = hw
        self._case = case
        self._checkpoint = f"{directory}/checkpoint"
        self._places = [_place(spark, number, case.partitions) for number in range(case.streams)]
        self._streams = [MemoryStream(spark, _struct(SCHEMA), None, case.partitions, path) for path, _ in self._places]
        self._df = build(case.plan, Sources([df for _, df in self._places], _static(spark, case)))
        self._query: StreamingQuery | None = None

    def feed(self) -> None:
        """Give the query all rows, in their steps."""
        nodes = int(self._case.options["headway.nodes"])
        query = self._start(nodes)
        for at, step in enumerate(self._case.steps):
            self._streams[step.stream].addData(_table([row_of(c) for c in step.rows]), partition=step.partition)
            if step.wait:
                query.processAllAvailable()
            if at == self._case.restart:
                query.stop()
                query = self._start(3 - nodes)
        query.processAllAvailable()
        if _waits(self._case):
            for stream, partition, row in last_rows(self._case):
                self._streams[stream].addData(_table([row]), partition=partition)
            query.processAllAvailable()

    def _start(self, nodes: int) -> StreamingQuery:
        options = self._case.options | {"headway.nodes": str(min(self._hw.nodes, nodes))}
        if self._case.restart is not None:
            options["checkpointLocation"] = self._checkpoint
        writer = self._hw.writeStream(self._df).format("memory").queryName(self.name).outputMode(self._case.output)
        try:
            self._query = writer.options(**options).start(fallback=False)
        except UnsupportedPlan as reason:
            raise Undecided("fallback", str(reason).splitlines()[0]) from None
        except (AnalysisException, Py4JJavaError) as error:
            raise Undecided("refused", str(error).splitlines()[0]) from None
        return self._query

    def close(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._hw.spark.catalog.dropTempView(self.name)
        for path, _ in self._places:
            for file in Path(path).iterdir():
                file.unlink()


@cache
def _place(spark: SparkSession, number: int, partitions: int) -> tuple[str, DataFrame]:
    """Where a stream's rows are, and the stream: one for all cases, for to make it Spark starts Python anew."""
    path = tempfile.mkdtemp(prefix="headway-case-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path, MemoryStream(spark, _struct(SCHEMA), None, partitions, path).toDF()


def _newest(case: Case, rows: Sequence[Row]) -> list[Row]:
    """The last row of each group: its key is before its aggregates."""
    width = next(len(plan["aggregates"]) for plan in below(case.plan) if "aggregates" in plan)
    keys = [next(iter(same([row[: len(row) - width]]))) for row in rows]
    return list(dict(zip(keys, rows, strict=True)).values())


def _told(case: Case, rows: Sequence[Sequence[Any]]) -> Answer:
    """Which sign a zero has depends on what came first, where one row stands for several."""
    if any(plan["op"] in _STATEFUL for plan in below(case.plan)):
        rows = [tuple(_unsigned(value) for value in row) for row in rows]
    return same(rows)


def _unsigned(value: Any) -> Any:
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-9 else value
    return [_unsigned(part) for part in value] if isinstance(value, list) else value


@cache
def _struct(ddl: str) -> StructType:
    return StructType.fromDDL(ddl)


def _frame(spark: SparkSession, rows: Sequence[Row], ddl: str) -> DataFrame:
    return spark.createDataFrame(_table(rows, ddl), _struct(ddl))


def _table(rows: Sequence[Row], ddl: str = SCHEMA) -> pa.Table:
    schema = to_arrow_schema(_struct(ddl), timezone="UTC")
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


@contextmanager
def _ansi(spark: SparkSession, on: bool) -> Iterator[None]:
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", before)
