"""A directory that grows: which files are new, in what order, what is remembered, and what happens to them."""

from __future__ import annotations

import json
import os
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from source_helpers import Driver, arrow_rows, multiset, source_of, struct_of

from headway.connectors.sources.files.content import BadFile
from headway.errors import InvalidOption, UnsupportedPlan


def put(directory, name, text, mtime):
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (mtime, mtime))


def text_source(directory, **options):
    return source_of("text", "value string", path=directory, **options)


def values(driver):
    return [row[0] for row in driver.rows()]


def test_new_files_come_once_in_the_order_of_their_times(tmp_path):
    driver = Driver(text_source(tmp_path))
    assert values(driver) == []
    put(tmp_path, "b", "1", 100)
    put(tmp_path, "a", "2", 200)
    assert values(driver) == ["1", "2"]
    assert values(driver) == []
    put(tmp_path, "a", "changed", 300)
    put(tmp_path, "c", "3", 150)
    assert values(driver) == ["3"]


def test_a_position_is_json_and_enough_to_go_on(tmp_path):
    driver = Driver(text_source(tmp_path))
    for number in range(5):
        put(tmp_path, f"f{number}", str(number), 100 + number)
    start = driver.position
    assert values(driver) == list("01234")
    kept = json.loads(json.dumps(driver.position))
    put(tmp_path, "f5", "5", 99)
    again = Driver(text_source(tmp_path), kept)
    assert values(again) == ["5"]
    # The same range gives the same tasks in any planner: what a restart replays is what was read.
    assert again.planner.tasks(start, kept) == driver.planner.tasks(start, kept)


def test_progress_tells_rounds_not_files(tmp_path):
    driver = Driver(text_source(tmp_path, maxFilesPerTrigger=2))
    assert driver.source.shown(driver.position) is None
    for number in range(5):
        put(tmp_path, f"f{number}", str(number), 100 + number)
    for offset in range(3):
        values(driver)
        assert driver.source.shown(driver.position) == {"logOffset": offset}
    assert values(driver) == []
    assert driver.source.shown(driver.position) == {"logOffset": 2}
    again = Driver(text_source(tmp_path), json.loads(json.dumps(driver.position)))
    put(tmp_path, "f5", "5", 200)
    values(again)
    assert again.source.shown(again.position) == {"logOffset": 3}


def test_a_position_of_before_rounds_were_counted_serves(tmp_path):
    put(tmp_path, "old", "1", 100)
    put(tmp_path, "new", "2", 200)
    driver = Driver(text_source(tmp_path), {"seen": {str(tmp_path / "old"): 100 * 10**9}, "horizon": 0})
    assert values(driver) == ["2"]
    assert driver.source.shown(driver.position) == {"logOffset": 0}


def test_limits_of_a_round(tmp_path):
    for number in range(5):
        put(tmp_path, f"f{number}", str(number) * 10, 100 + number)
    by_files = Driver(text_source(tmp_path, maxFilesPerTrigger=2))
    assert [len(by_files.rows()) for _ in range(4)] == [2, 2, 1, 0]
    by_bytes = Driver(text_source(tmp_path, maxBytesPerTrigger=25))
    assert [len(by_bytes.rows()) for _ in range(4)] == [2, 2, 1, 0]
    one_at_least = Driver(text_source(tmp_path, maxBytesPerTrigger=1))
    assert [len(one_at_least.rows()) for _ in range(3)] == [1, 1, 1]


def test_latest_first(tmp_path):
    for number in range(4):
        put(tmp_path, f"f{number}", str(number), 100 + number)
    driver = Driver(text_source(tmp_path, latestFirst=True, maxFilesPerTrigger=3))
    assert values(driver) == ["3", "2", "1"]
    assert values(driver) == ["0"]


def test_old_files_are_forgotten_and_never_new(tmp_path):
    put(tmp_path, "ancient", "0", 100)
    put(tmp_path, "now", "1", 10_000)
    driver = Driver(text_source(tmp_path, maxFileAge="1h"))
    # The first look takes files of any age.
    assert values(driver) == ["0", "1"]
    put(tmp_path, "late", "2", 5_000)
    put(tmp_path, "next", "3", 10_001)
    assert values(driver) == ["3"]
    assert [os.path.basename(path) for path in driver.position["seen"]] == ["now", "next"]
    assert values(driver) == []


def test_file_name_only(tmp_path):
    put(tmp_path, "k=1/same", "1", 100)
    driver = Driver(text_source(tmp_path, fileNameOnly=True))
    assert values(driver) == ["1"]
    put(tmp_path, "k=2/same", "2", 200)
    put(tmp_path, "k=2/other", "3", 200)
    assert values(driver) == ["3"]


def test_which_files_count(tmp_path):
    for name in ("a.txt", "b.log", "_c.txt", ".d.txt", "e.txt._COPYING_", "sub/f.txt"):
        put(tmp_path, name, name, 100)
    assert values(Driver(text_source(tmp_path))) == ["a.txt", "b.log"]
    assert values(Driver(text_source(tmp_path, pathGlobFilter="*.{txt,csv}"))) == ["a.txt"]
    assert sorted(values(Driver(text_source(tmp_path, recursiveFileLookup=True)))) == ["a.txt", "b.log", "sub/f.txt"]
    assert values(Driver(text_source(f"file://{tmp_path}/[a-b].tx?"))) == ["a.txt"]
    assert values(Driver(text_source(f"{tmp_path}/s*"))) == ["sub/f.txt"]
    several = source_of("text", "value string", paths=json.dumps([f"{tmp_path}/a.txt", f"{tmp_path}/sub"]))
    assert values(Driver(several)) == ["a.txt", "sub/f.txt"]


def test_a_glob_grows(tmp_path):
    driver = Driver(text_source(tmp_path / "day-*"))
    put(tmp_path, "day-1/a", "1", 100)
    assert values(driver) == ["1"]
    put(tmp_path, "day-2/a", "2", 100)
    put(tmp_path, "night-2/a", "x", 100)
    assert values(driver) == ["2"]


def test_committed_files_are_deleted_or_archived(tmp_path):
    archive = tmp_path / "kept"
    for mode in ("delete", "archive"):
        source = tmp_path / mode
        put(source, "a", "1", 100)
        driver = Driver(text_source(source, cleanSource=mode, sourceArchiveDir=archive))
        values(driver)
        put(source, "b", "2", 200)
        committed = driver.position
        values(driver)
        driver.planner.commit(committed)
        assert [path.name for path in source.iterdir()] == ["b"]
    assert [path.read_text() for path in archive.rglob("*") if path.is_file()] == ["1"]


def test_a_directory_of_a_file_sink_is_read_through_its_log(spark, tmp_path):
    incoming, out = tmp_path / "in", tmp_path / "out"
    for number in range(4):
        put(incoming, f"f{number}", str(number), 100 + number)
    spark.conf.set("spark.sql.streaming.fileSink.log.compactInterval", 3)
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(incoming))
    query = (
        stream.writeStream.format("text")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(out))
    )
    query.awaitTermination(60)
    spark.conf.unset("spark.sql.streaming.fileSink.log.compactInterval")
    assert {path.name for path in (out / "_spark_metadata").iterdir()} >= {"2.compact", "3"}
    put(out, "stray.txt", "not committed", 100)
    assert sorted(values(Driver(text_source(out))), key=int) == list("0123")
    with pytest.raises(InvalidOption, match="cleanSource"):
        Driver(text_source(out, cleanSource="delete")).rows()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"maxFilesPerTrigger": 0}, InvalidOption, "maxFilesPerTrigger"),
        ({"maxFilesPerTrigger": 1, "maxBytesPerTrigger": 1}, InvalidOption, "exclude each other"),
        ({"maxFileAge": "old"}, InvalidOption, "maxFileAge"),
        ({"cleanSource": "burn"}, InvalidOption, "ARCHIVE"),
        ({"cleanSource": "archive"}, InvalidOption, "sourceArchiveDir"),
        ({"modifiedAfter": "2020-01-01"}, UnsupportedPlan, "modifiedafter"),
        ({"headway.pollInterval": "0"}, InvalidOption, "headway.pollInterval"),
    ],
)
def test_bad_options(tmp_path, options, error, words):
    with pytest.raises(error, match=words):
        Driver(text_source(tmp_path, **options))


def test_bad_paths(tmp_path):
    with pytest.raises(InvalidOption, match="does not exist"):
        Driver(text_source(tmp_path / "nowhere"))
    with pytest.raises(InvalidOption, match="has no path"):
        Driver(source_of("text", "value string"))
    with pytest.raises(InvalidOption, match="come again"):
        Driver(text_source(tmp_path, cleanSource="archive", sourceArchiveDir=tmp_path / "old"))
    with pytest.raises(UnsupportedPlan, match="file system of dbfs://x/"):
        Driver(text_source("dbfs://x/y"))


def test_files_may_vanish_only_if_the_user_says_so(tmp_path):
    for options in ({}, {"ignoreMissingFiles": True}):
        put(tmp_path, "a", "1", 100)
        driver = Driver(text_source(tmp_path, **options))
        end = driver.planner.latest()
        [(_, task)] = driver.planner.tasks(driver.position, end)
        (tmp_path / "a").unlink()
        if options:
            assert list(driver.source.read(task)) == []
        else:
            with pytest.raises(FileNotFoundError):
                list(driver.source.read(task))


EVERYTHING = (
    "a byte, b short, c int, d long, e float, f double, g boolean, h decimal(10,2), i decimal(30,5), j string,"
    " k binary, l date, m timestamp, n timestamp_ntz"
)


def everything(spark):
    row = (1, 2, 3, 4, 0.5, 0.25, True, Decimal("1.50"), Decimal("2.00001"), "x", b"y", date(1999, 12, 31))
    rows = [(*row, datetime(2020, 3, 8, 12, 30, 1, 5), datetime(2020, 3, 8, 2, 30)), (None,) * 14]
    return spark.createDataFrame(rows, struct_of(EVERYTHING)).coalesce(1)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_columns_of_every_type(spark, tmp_path, format):
    path = str(tmp_path / "t")
    everything(spark).write.format(format).save(path)
    expected = arrow_rows(spark.read.format(format).schema(struct_of(EVERYTHING)).load(path).toArrow())
    assert multiset(arrow_rows(Driver(source_of(format, EVERYTHING, path=path)).tables())) == multiset(expected)


def test_old_timestamps_of_parquet(spark, tmp_path):
    path = str(tmp_path / "t")
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    try:
        everything(spark).select("m").write.parquet(path)
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    expected = arrow_rows(spark.read.parquet(path).toArrow())
    assert multiset(arrow_rows(Driver(source_of("parquet", "m timestamp", path=path)).tables())) == multiset(expected)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_columns_are_found_by_name_and_widened(spark, tmp_path, format):
    path = str(tmp_path / "t")
    wanted = "missing string, C long, day int" if format == "parquet" else "missing string, C int, day int"
    everything(spark).withColumn("day", F.lit(7)).write.partitionBy("day").format(format).save(path)
    expected = arrow_rows(spark.read.format(format).schema(struct_of(wanted)).load(path).toArrow())
    assert multiset(arrow_rows(Driver(source_of(format, wanted, path=path)).tables())) == multiset(expected)


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_file_that_is_not_what_its_name_says(tmp_path, format):
    put(tmp_path, f"a.{format}", "hello", 100)
    with pytest.raises(BadFile, match=rf"a\.{format} is not a .* pathGlobFilter"):
        Driver(source_of(format, "a int", path=tmp_path)).rows()


def test_a_column_that_cannot_be_read_as_asked(spark, tmp_path):
    path = str(tmp_path / "t")
    everything(spark).select("j").write.parquet(path)
    with pytest.raises(BadFile, match="does not fit the schema"):
        Driver(source_of("parquet", "j int", path=path)).rows()


def test_a_large_file_comes_in_pieces(tmp_path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"a": range(200_000)}), tmp_path / "a.parquet")
    driver = Driver(source_of("parquet", "a long", path=tmp_path))
    end = driver.planner.latest()
    [(lane, task)] = driver.planner.tasks(driver.position, end)
    batches = list(driver.source.read(task))
    assert lane == 0
    assert len(batches) > 1
    assert sum(batch.num_rows for batch in batches) == 200_000
