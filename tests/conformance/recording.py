"""Plays cases on Structured Streaming for its answers, of those that have none yet: python recording.py [suites]."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from suites import SUITES

from conformance import ANSWERS, Answer, Case, play, read_answers

_names = itertools.count()
_AT_ONCE = 10
_CHECKPOINTING = "org.apache.spark.sql.execution.streaming.checkpointing"
_SETTINGS = {
    "spark.sql.streaming.pollingDelay": "200ms",
    "spark.sql.shuffle.partitions": "1",
    # A batch has a few rows: to compile its plan takes longer than to run it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The one that Spark takes for local files starts a process for every file.
    "spark.sql.streaming.checkpointFileManagerClass": f"{_CHECKPOINTING}.FileSystemBasedCheckpointFileManager",
}


class FileStream:
    """Rows as lines of JSON, a file for each time that some are added."""

    def __init__(self, spark: SparkSession, schema: str) -> None:
        self._spark = spark
        self._schema = T.StructType.fromDDL(schema)
        self._directory = Path(tempfile.mkdtemp(prefix="recording-"))
        self._files = 0

    def toDF(self) -> DataFrame:
        return self._spark.readStream.schema(self._schema).json(f"{self._directory}/*.json")

    def addData(self, *rows: Any) -> None:
        named = [dict(zip(self._schema.names, row if isinstance(row, tuple) else (row,), strict=True)) for row in rows]
        hidden = self._directory / f"{self._files}.new"
        hidden.write_text("\n".join(map(json.dumps, named)))
        hidden.rename(self._directory / f"{self._files}.json")
        self._files += 1


class OnSpark:
    """Its memory sink cannot go on from a checkpoint, so batches are collected."""

    keeps_rows = False

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._rows: dict[str, list[Any]] = {}
        for key, value in _SETTINGS.items():
            spark.conf.set(key, value)

    def stream(self, schema: str) -> FileStream:
        return FileStream(self.spark, schema)

    def start(self, case: Case, df: DataFrame, checkpoint: str, number: int) -> Any:
        name = f"recorded_{next(_names)}"
        rows = self._rows[name] = []

        def take(batch: DataFrame, id: int) -> None:
            if case.mode == "complete":
                rows.clear()
            rows.extend(tuple(row) for row in batch.collect())

        writer = df.writeStream.foreachBatch(take).queryName(name).outputMode(case.mode)
        return writer.option("checkpointLocation", checkpoint).start()

    @contextmanager
    def held(self, query: Any) -> Iterator[None]:
        """No batch is put together meanwhile."""
        lock = query._jsq.streamingQuery().awaitProgressLock()
        lock.lock()
        try:
            yield
        finally:
            lock.unlock()

    def rows(self, query: Any) -> list[Any]:
        return list(self._rows[query.name])


def record(spark: SparkSession, suite: str, cases: Sequence[Case]) -> None:
    """Play the cases whose answers are not known, a few at a time, and write all answers down."""
    known = read_answers(suite)
    missing = [case for case in cases if case.name not in known]
    for at in range(0, len(missing), _AT_ONCE):
        known |= play(OnSpark(spark), missing[at : at + _AT_ONCE], restarts=False)
        _write(suite, {case.name: known[case.name] for case in cases if case.name in known})


def _write(suite: str, answers: Mapping[str, Sequence[Answer]]) -> None:
    """One line per step, so that a change of an answer is seen as one."""
    cases = [
        f"{json.dumps(name)}: [\n" + ",\n".join("  " + json.dumps(answer) for answer in steps) + "\n]"
        for name, steps in answers.items()
    ]
    (ANSWERS / f"{suite}.json").write_text("{\n" + ",\n".join(cases) + "\n}\n")


def main(chosen: Sequence[str]) -> None:
    session = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    for suite in chosen or SUITES:
        record(session, suite, SUITES[suite])


if __name__ == "__main__":
    main(sys.argv[1:])
