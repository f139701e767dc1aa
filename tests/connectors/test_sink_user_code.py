"""foreach, foreachBatch, console, noop and Python data sources: user code is called as Spark calls it."""

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import Row, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from sink_cases import EVERY_TYPE, EVERY_VALUE, PAIRS, frame, make, pairs, rows, run_epoch, sent

from headway.connectors.python_source import python_data_source
from headway.connectors.sinks import open_sink
from headway.connectors.sinks.data_source import EpochCancelled
from headway.connectors.sinks.foreach import partition_id
from headway.errors import InvalidOption, UnsupportedPlan

SEEN: list[Any] = []
"""What user code saw; a module of its own is not copied when a function of it is pickled."""


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


# foreachBatch


def test_foreach_batch_gets_an_epoch_when_it_commits(spark: SparkSession) -> None:
    sink = make(
        spark, "foreachBatch", payload=lambda df, epoch: SEEN.append((epoch, sorted(r.k for r in df.collect())))
    )
    committer = sink.committer()
    committer.rows(pairs(1), 0)
    committer.rows(pairs(2), 0)
    kept = committer.prepare(0)
    assert SEEN == []
    committer.commit(0, [kept])
    committer.commit(1, [committer.prepare(1)])
    assert SEEN == [(0, [1, 2])]
    again = make(spark, "foreachBatch", payload=lambda df, epoch: SEEN.append((epoch, df.count()))).committer()
    again.restore(0, [kept])
    again.commit(0, [kept])
    assert SEEN[1:] == [(0, 2)]


def test_foreach_batch_forgets_what_comes_again(spark: SparkSession) -> None:
    committer = make(spark, "foreachBatch", payload=lambda df, epoch: SEEN.append(df.count())).committer()
    committer.rows(pairs(1, 2, 3), 1)
    committer.restore(0, [])
    committer.rows(pairs(1), 1)
    committer.commit(1, [committer.prepare(1)])
    assert SEEN == [1]


def test_foreach_batch_in_complete_mode_gets_the_newest_result(spark: SparkSession) -> None:
    sink = make(spark, "foreachBatch", output_mode="complete", payload=lambda df, epoch: SEEN.append(df.count()))
    committer = sink.committer()
    committer.rows(pairs(1), 0)
    committer.rows(pairs(1, 2), 0)
    committer.commit(0, [committer.prepare(0)])
    assert SEEN == [2]


def test_foreach_batch_has_sparks_schema_and_the_users_error(spark: SparkSession) -> None:
    def fails(df: Any, epoch: int) -> None:
        SEEN.append(df.schema)
        raise KeyError("mine")

    batch = rows(EVERY_TYPE, EVERY_VALUE)
    committer = make(spark, "foreachBatch", EVERY_TYPE, payload=fails).committer()
    committer.rows(batch, 0)
    kept = committer.prepare(0)
    with pytest.raises(KeyError, match="mine"):
        committer.commit(0, [kept])
    assert SEEN[0] == frame(spark, EVERY_TYPE, batch).schema


def test_foreach_batch_needs_a_function(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="function"):
        make(spark, "foreachBatch")


# foreach


class Recorder:
    """Writes what happens to it to a file, because every writer works on a copy of it."""

    def __init__(self, path: Path, wanted: bool = True) -> None:
        self.path = path
        self.wanted = wanted

    def open(self, partition: int, epoch: int) -> bool:
        self._note(f"open {partition} {epoch}")
        return self.wanted

    def process(self, row: Row) -> None:
        if row.k < 0:
            raise ValueError("negative")
        self._note(f"row {row.k} {row.s}")

    def close(self, error: Exception | None) -> None:
        self._note(f"close {type(error).__name__}")

    def _note(self, line: str) -> None:
        with self.path.open("a") as file:
            file.write(line + "\n")


def test_foreach_opens_and_closes_by_epoch(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log"
    writer = sent(make(spark, "foreach", payload=Recorder(log))).writer("sink-3")
    writer.write(pairs(1, 2), 0)
    writer.write(pairs(3), 0)
    writer.prepare(0)
    writer.prepare(1)
    writer.write(pairs(4), 2)
    writer.close(failed=False)
    assert log.read_text().splitlines() == [
        *("open 3 0", "row 1 s1", "row 2 s2", "row 3 s3", "close NoneType"),
        *("open 3 2", "row 4 s4", "close HeadwayError"),
    ]


def test_foreach_closes_with_the_users_error(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log"
    writer = sent(make(spark, "foreach", payload=Recorder(log))).writer("sink-0")
    with pytest.raises(ValueError, match="negative"):
        writer.write(pairs(1, -1, 2), 0)
    writer.close(failed=True)
    assert log.read_text().splitlines() == ["open 0 0", "row 1 s1", "close ValueError"]


def test_foreach_skips_rows_that_open_does_not_want(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log"
    writer = sent(make(spark, "foreach", payload=Recorder(log, wanted=False))).writer("sink-0")
    writer.write(pairs(1), 5)
    writer.prepare(5)
    assert log.read_text().splitlines() == ["open 0 5", "close NoneType"]


def test_foreach_rows_are_as_pyspark_collects_them(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def note(row: Row) -> None:
        with log.open("ab") as file:
            pickle.dump(row, file)

    batch = rows(EVERY_TYPE, EVERY_VALUE)
    writer = sent(make(spark, "foreach", EVERY_TYPE, payload=note)).writer("sink-0")
    writer.write(batch, 0)
    with log.open("rb") as file:
        noted = [pickle.load(file) for _ in EVERY_VALUE]
    for ours, theirs in zip(noted, frame(spark, EVERY_TYPE, batch).collect(), strict=True):
        assert ours.__fields__ == theirs.__fields__
        assert list(map(_comparable, ours)) == list(map(_comparable, theirs))


def _comparable(value: Any) -> tuple[type, Any]:
    return type(value), "NaN" if value != value else value


def test_foreach_checks_what_it_is_given(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="process"):
        make(spark, "foreach", payload=object())
    lock = threading.Lock()
    with pytest.raises(InvalidOption, match="cannot be sent"):
        make(spark, "foreach", payload=lambda row: lock.acquire())


def test_partition_ids_are_numbers() -> None:
    assert partition_id("sink-12") == 12
    assert partition_id("alone") == partition_id("alone") >= 0


# console and noop


def test_console_prints_as_spark_does(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    committer = make(spark, "console", options={"numRows": "1", "truncate": "false"}).committer()
    committer.rows(pairs(1), 0)
    kept = committer.prepare(0)
    committer.restore(0, [kept])
    committer.rows(pairs(2, 3), 1)
    frame(spark, PAIRS, pairs(1)).show(1, False)
    printed = capsys.readouterr().out
    rule = "-" * 43
    table = frame(spark, PAIRS, pairs(2, 3))._jdf.showString(1, 0, False)
    assert printed.startswith(f"{rule}\nBatch: 0\n{rule}\n+---+---+\n|k  |s  |\n+---+---+\n|1  |s1 |\n+---+---+\n\n")
    assert f"{rule}\nBatch: 1\n{rule}\n{table}\n" in printed
    assert "only showing top 1 row" in table


def test_console_checks_its_options(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="numRows is 'many'"):
        make(spark, "console", options={"numRows": "many"})


def test_noop_takes_rows(spark: SparkSession) -> None:
    sink = make(spark, "noop")
    assert sink.inline
    assert run_epoch(sink, 0, pairs(1)) == [None]


# Python data sources


class Counted(WriterCommitMessage):
    def __init__(self, rows: int) -> None:
        self.rows = rows


class ToFile(DataSource):
    """Appends what happens to the file of option `log`; option `kind` says what its writer is."""

    @classmethod
    def name(cls) -> str:
        return "to_file"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        kinds = {"rows": RowWriter, "arrow": ArrowWriter, "silent": SilentWriter, "none": lambda log, all: None}
        return kinds[self.options.get("kind", "rows")](Path(self.options["LOG"]), overwrite)


class Noted:
    def __init__(self, log: Path, overwrite: bool) -> None:
        self.log = log
        self.overwrite = overwrite

    def note(self, line: str) -> None:
        with self.log.open("a") as file:
            file.write(line + "\n")

    def commit(self, messages: list[Any], batchId: int) -> None:
        self.note(f"commit {batchId} {sorted(m.rows for m in messages)} {self.overwrite}")
        if batchId == 13:
            raise RuntimeError("thirteen")

    def abort(self, messages: list[Any], batchId: int) -> None:
        self.note(f"abort {batchId} {len(messages)}")


class RowWriter(Noted, DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        count = 0
        for row in iterator:
            if row.k < 0:
                raise ValueError("negative")
            self.note(f"row {row.k} {row.s}")
            count += 1
        return Counted(count)


class ArrowWriter(Noted, DataSourceStreamArrowWriter):
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return Counted(sum(batch.num_rows for batch in iterator))


class SilentWriter(Noted, DataSourceStreamWriter):
    def write(self, iterator: Iterator[Row]) -> Any:
        return len(list(iterator))


@pytest.fixture
def to_file(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    cloudpickle.register_pickle_by_value(__import__(__name__))
    spark.dataSource.register(ToFile)

    def open_it(kind: str, **changes: Any) -> Any:
        return make(spark, "to_file", options={"log": str(tmp_path / "log"), "kind": kind}, **changes)

    yield open_it
    cloudpickle.unregister_pickle_by_value(__import__(__name__))


def lines(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_a_data_source_writes_rows_and_commits(to_file: Any, tmp_path: Path) -> None:
    sink = to_file("rows")
    committer = sink.committer()
    writer = sent(sink).writer("sink-0")
    writer.write(pairs(1), 0)
    writer.write(pairs(2), 0)
    committer.commit(0, [writer.prepare(0), None])
    committer.commit(1, [writer.prepare(1)])
    writer.write(pairs(3), 2)
    committer.commit(2, [writer.prepare(2)])
    writer.close(failed=False)
    assert lines(tmp_path) == ["row 1 s1", "row 2 s2", "commit 0 [2] False", "row 3 s3", "commit 2 [1] False"]


def test_an_arrow_writer_gets_batches(to_file: Any, tmp_path: Path) -> None:
    run_epoch(to_file("arrow", output_mode="complete"), 4, pairs(1, 2), pairs(3))
    assert lines(tmp_path) == ["commit 4 [1, 2] True"]


def test_a_data_source_that_fails(to_file: Any, tmp_path: Path) -> None:
    sink = to_file("rows")
    with pytest.raises(ValueError, match="negative"):
        run_epoch(sink, 0, pairs(-1))
    committer = sink.committer()
    committer.restore(6, [])
    committer.close(failed=True)
    with pytest.raises(RuntimeError, match="thirteen"):
        committer.commit(13, [cloudpickle.dumps(Counted(1))])
    assert lines(tmp_path) == ["abort 7 0", "commit 13 [1] False", "abort 13 1"]


def test_a_writer_that_closes_early_ends_the_users_write(to_file: Any) -> None:
    writer = sent(to_file("rows")).writer("sink-0")
    writer.write(pairs(1), 0)
    epoch = writer._epoch
    writer.close(failed=True)
    epoch._thread.join(10)
    assert isinstance(epoch._error, EpochCancelled)


def test_what_a_data_source_must_give(to_file: Any) -> None:
    with pytest.raises(InvalidOption, match="NoneType"):
        to_file("none")
    with pytest.raises(InvalidOption, match="output mode update"):
        to_file("rows", output_mode="update")
    writer = sent(to_file("silent")).writer("sink-0")
    writer.write(pairs(1), 0)
    with pytest.raises(Exception, match="WriterCommitMessage"):
        writer.prepare(0)


def test_python_data_source_is_the_registered_class(spark: SparkSession, to_file: Any) -> None:
    command = python_data_source(spark, "TO_FILE")
    assert command is not None
    assert cloudpickle.loads(command).name() == "to_file"
    assert python_data_source(spark, "parquet") is None
    assert python_data_source(spark, "nobody") is None


# formats that are not ours


def test_unknown_formats(spark: SparkSession) -> None:
    with pytest.raises(InvalidOption, match="'rocket' is unknown"):
        make(spark, "rocket")
    with pytest.raises(InvalidOption, match="kafka"):
        make(spark, "kafka")
    with pytest.raises(UnsupportedPlan, match="sink jdbc"):
        make(spark, "jdbc")


def test_formats_are_compared_without_case(spark: SparkSession) -> None:
    assert open_sink("NoOp", make_context(spark)).inline


def make_context(spark: SparkSession) -> Any:
    from sink_cases import context

    return context(spark)
