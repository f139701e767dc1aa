"""Python data sources of each kind, run as a node runs them; and the stream that tests use."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import Row
from pyspark.sql import types as T
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)
from pyspark.sql.streaming.datasource import ReadMaxRows
from source_helpers import Driver, multiset, open_remote, source_of, struct_of

from headway.errors import HeadwayError, InvalidOption
from headway.testing import FORMAT, MemoryStream, MemoryStreamSource

SCHEMA = "id long, word string"


class Range(InputPartition):
    def __init__(self, start, end):
        self.start, self.end = start, end


class Reader(DataSourceStreamReader):
    """Ten rows a look, at most `limit`, in two partitions; `events` tells what was called."""

    def __init__(self, options):
        self.limit = int(options.get("Limit", 10))
        self.shape = options.get("shape", "tuple")
        self.events = []

    def initialOffset(self):
        return {"at": 0}

    def getDefaultReadLimit(self):
        return ReadMaxRows(self.limit)

    def latestOffset(self, start, limit):
        return {"at": min(start["at"] + limit.max_rows, 25)}

    def partitions(self, start, end):
        middle = (start["at"] + end["at"]) // 2
        return [Range(start["at"], middle), Range(middle, end["at"])]

    def read(self, partition):
        ids = range(partition.start, partition.end)
        if self.shape == "arrow":
            yield pa.RecordBatch.from_pydict({"id": list(ids), "word": [f"w{i}" for i in ids]})
        elif self.shape == "narrow":
            yield pa.RecordBatch.from_arrays([[f"w{i}" for i in ids], pa.array(ids, pa.int32())], ["word", "id"])
        else:
            for i in ids:
                yield Row(word=f"w{i}", id=i) if self.shape == "row" else (i, f"w{i}")

    def commit(self, end):
        self.events.append(("commit", end))

    def stop(self):
        self.events.append("stop")


class Counter(DataSource):
    def streamReader(self, schema):
        return Reader(self.options)


class OldReader(Reader):
    def latestOffset(self):
        return {"at": 4}


class OldCounter(DataSource):
    def streamReader(self, schema):
        return OldReader(self.options)


class SimpleReader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {"at": 0}

    def read(self, start):
        at = start["at"]
        end = min(at + 3, 8)
        return iter([(i, f"w{i}") for i in range(at, end)]), {"at": end}

    def readBetweenOffsets(self, start, end):
        return iter([(i, f"again {i}") for i in range(start["at"], end["at"])])


class SimpleCounter(DataSource):
    def simpleStreamReader(self, schema):
        return SimpleReader()


class StuckReader(SimpleReader):
    def read(self, start):
        return iter([(1, "x")]), start


class StuckCounter(DataSource):
    def simpleStreamReader(self, schema):
        return StuckReader()


class Dull(DataSource):
    pass


class Inline(DataSource):
    def headwaySource(self, schema):
        return ("inline", schema.names, dict(self.options))


def python_source(cls, schema=SCHEMA, **options):
    return source_of(cls.__name__, schema, cloudpickle.dumps(cls), **options)


def rows(start, end):
    return [(i, f"w{i}") for i in range(start, end)]


@pytest.mark.parametrize("shape", ["tuple", "row", "arrow", "narrow"])
def test_a_stream_reader_is_planned_and_read(shape):
    driver = Driver(python_source(Counter, shape=shape))
    assert driver.source.poll_interval == 0.01
    assert [len(task) for task in driver.round()] == [5, 5]
    assert driver.position == {"at": 10}
    assert driver.rows() == rows(10, 20)
    assert driver.rows() == rows(20, 25)
    assert driver.rows() == []


def test_read_limits_and_restart():
    first = Driver(python_source(Counter, LIMIT=7))
    assert first.rows() == rows(0, 7)
    kept = json.loads(json.dumps(first.position))
    assert Driver(python_source(Counter, limit=7), kept).rows() == rows(7, 14)


def test_arrow_batches_are_not_copied():
    driver = Driver(python_source(Counter, shape="arrow"))
    batch = pa.RecordBatch.from_pydict({"id": [1], "word": ["x"]})
    [same] = driver.source.batches(iter([batch]))
    assert same.column(0).buffers()[1].address == batch.column(0).buffers()[1].address


def test_commit_and_close_reach_the_reader():
    driver = Driver(python_source(Counter))
    driver.round()
    driver.planner.commit(driver.position)
    driver.planner.close()
    assert driver.planner._reader.events == [("commit", {"at": 10}), "stop"]


def test_latest_offset_without_limits():
    driver = Driver(python_source(OldCounter))
    assert driver.rows() == rows(0, 4)
    assert driver.rows() == []


def test_a_simple_reader_is_read_where_it_is_planned():
    driver = Driver(python_source(SimpleCounter))
    assert driver.rows() == rows(0, 3)
    start = driver.position
    driver.planner.latest()
    end = driver.planner.latest()
    [(lane, task)] = driver.planner.tasks(start, end)
    assert lane == 0
    assert driver._rows(task) == [{"id": i, "word": f"w{i}"} for i in range(3, 8)]
    driver.position = end
    assert driver.rows() == []
    # What was handed out before a restart is asked of the reader again.
    [(_, task)] = driver.planner.tasks({"at": 0}, {"at": 2})
    assert [row["word"] for row in driver._rows(task)] == ["again 0", "again 1"]


def test_times_are_converted_as_spark_converts_them():
    class Times(DataSource):
        def simpleStreamReader(self, schema):
            class OneRow(SimpleReader):
                def read(self, start):
                    row = (datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 2, 3), 5)
                    return iter([] if start["at"] else [row]), {"at": 1}

            return OneRow()

    driver = Driver(python_source(Times, "t timestamp, n timestamp_ntz, i int"))
    assert driver.rows() == [(datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 1, 2, 3), 5)]


def test_errors_name_what_is_wrong():
    with pytest.raises(InvalidOption, match="Dull cannot be read as a stream"):
        open_remote(python_source(Dull))
    with pytest.raises(InvalidOption, match="left its offset"):
        Driver(python_source(StuckCounter)).rows()
    with pytest.raises(HeadwayError, match="its schema says"):
        Driver(python_source(Counter, "id long, other string", shape="arrow")).rows()
    with pytest.raises(PySparkRuntimeError, match="DATA_SOURCE_RETURN_SCHEMA_MISMATCH"):
        Driver(python_source(Counter, "id long")).rows()


def test_a_source_may_be_inline():
    assert open_remote(python_source(Inline, Key="v")) == ("inline", ["id", "word"], {"key": "v"})


def memory_source(stream, schema):
    options = {"directory": stream._directory, "partitions": len(stream._files), "headway.pollInterval": 0.002}
    return source_of(FORMAT, schema, cloudpickle.dumps(MemoryStreamSource), **options)


def test_memory_stream_is_read_by_headway_and_by_spark_alike(spark, tmp_path):
    stream = MemoryStream(spark, "id long, word string, at timestamp", partitions=2)
    noon = datetime(2020, 1, 2, 12, tzinfo=UTC)
    stream.addData((1, "a", noon), Row(word="b", id=2, at=None))
    stream.addData(pa.table({"id": [3], "word": ["c"], "at": pa.array([noon], pa.timestamp("us", "UTC"))}))
    stream.addData((4, None, noon), partition=1)
    driver = Driver(memory_source(stream, "id long, word string, at timestamp"))
    assert driver.source.poll_interval == 0.002
    got = driver.rows()
    assert driver.position == {"0": 1, "1": 2}
    stream.addData((5, "e", None))
    got += driver.rows()
    query = stream.toDF().writeStream.format("memory").queryName("spooled").trigger(availableNow=True).start()
    query.awaitTermination(60)
    expected = [tuple(row) for row in spark.sql("select id, word, unix_micros(at) from spooled").collect()]
    micros = [(i, word, at and int(at.timestamp() * 1e6)) for i, word, at in got]
    assert multiset(micros) == multiset(expected)
    assert len(got) == 5


def test_memory_stream_goes_on_in_a_directory_of_its_own(spark, tmp_path):
    first = MemoryStream(spark, struct_of("v int"), directory=tmp_path)
    first.addData(1, 2)
    driver = Driver(memory_source(first, "v int"))
    assert driver.rows() == [(1,), (2,)]
    again = MemoryStream(spark, T.StructType().add("v", "integer"), directory=tmp_path)
    again.addData(3)
    restarted = Driver(memory_source(again, "v int"), json.loads(json.dumps(driver.position)))
    assert restarted.rows() == [(3,)]
    assert restarted.rows() == []
