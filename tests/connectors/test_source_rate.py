"""Rate sources give the rows that Spark's arithmetic gives, when they are due, and go on where they stopped."""

from __future__ import annotations

import doctest
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from source_helpers import open_remote, source_of

import headway.connectors.sources
from headway.errors import InvalidOption, UnsupportedPlan

SCHEMA = "timestamp timestamp, value long"
START = 1_700_000_000.123


def polled(partition, now, max_rows=1 << 20):
    rows = []
    while (got := partition.poll(now, max_rows)) is not None:
        times, values = got.batch.column(0).cast("int64").to_pylist(), got.batch.column(1).to_pylist()
        assert got.first_arrival == times[0] / 1e6
        assert got.last_arrival == times[-1] / 1e6
        rows += list(zip(times, values, strict=True))
    return rows


def polled_at(partition, now):
    rows = []
    while (got := partition.poll(now, 2)) is not None:
        assert got.first_arrival == got.last_arrival <= now
        rows += zip(got.batch.column(0).cast("int64").to_pylist(), got.batch.column(1).to_pylist(), strict=True)
    return rows


def spark_value_at(second, rate, ramp):
    """Spark's valueAtSecond, as its documentation tabulates it."""
    step = rate // (ramp + 1)
    if second <= ramp:
        return step * second * (second + 1) // 2
    return step * ramp * (ramp + 1) // 2 + (second - ramp) * rate


def spark_rows(rate, ramp, seconds, start_ms):
    """The rows of micro-batches of one second each."""
    for second in range(seconds):
        first, end = spark_value_at(second, rate, ramp), spark_value_at(second + 1, rate, ramp)
        for value in range(first, end):
            relative = math.floor((value - first) * (1000 / (end - first)) + 0.5)
            yield (start_ms + second * 1000 + relative) * 1000, value


@pytest.mark.parametrize(("rate", "ramp"), [(1, 0), (3, 0), (10, 4), (1000, 0), (1500, 3), (7, 9), (2000, 0)])
def test_rows_are_those_of_spark(rate, ramp):
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=rate, rampUpTime=f"{ramp}s", numPartitions=1))
    [position] = source.partitions(4, None, START)
    end = START + 12 - 0.001
    got = polled(source.open(position), end)
    expected = [row for row in spark_rows(rate, ramp, 14, math.floor(START * 1000)) if row[0] <= end * 1e6]
    assert got == expected


@given(
    rate=st.integers(1, 3000),
    ramp=st.integers(0, 4),
    partitions=st.integers(1, 4),
    looks=st.lists(st.tuples(st.floats(0, 2), st.integers(1, 700)), min_size=1, max_size=8),
)
@settings(max_examples=60, deadline=None)
def test_looks_and_restarts_do_not_change_the_rows(rate, ramp, partitions, looks):
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=rate, rampUpTime=ramp, numPartitions=partitions))
    positions = source.partitions(2, None, START)
    seen, now = [], START
    for wait, most in looks:
        now += wait
        positions = source.partitions(3, positions, now)
        opened = [source.open(position) for position in positions]
        for partition in opened:
            backlog = partition.backlog(now)
            assert (partition.next_due(now) <= now + 1e-6) == (backlog > 0)
            rows = polled(partition, now, most)
            assert len(rows) == backlog
            assert partition.next_due(now) > now
            seen += rows
        positions = [partition.position() for partition in opened]
    whole = open_remote(source_of("rate", SCHEMA, rowsPerSecond=rate, rampUpTime=ramp, numPartitions=1))
    assert sorted(seen) == polled(whole.open(whole.partitions(1, None, START)[0]), now)


def test_a_row_is_due_when_next_due_says():
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=7))
    partition = source.open(source.partitions(1, None, START)[0])
    now = START
    for value in range(200):
        now = partition.next_due(now)
        assert partition.poll(now, 10).batch.column(1).to_pylist() == [value]
        assert partition.poll(now, 10) is None


def test_a_source_that_lags_shows_when_its_rows_came():
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=1000))
    partition = source.open(source.partitions(1, None, 1000.0)[0])
    first = partition.poll(1005.0, 100)
    assert (first.first_arrival, first.last_arrival) == (1000.0, 1000.099)
    assert partition.backlog(1005.0) == 5001 - 100


def test_partitions_share_the_values_and_default_to_nodes():
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=100))
    partitions = [source.open(position) for position in source.partitions(3, None, START)]
    values = [[value for _, value in polled(p, START + 1)] for p in partitions]
    assert [v[:3] for v in values] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


@pytest.mark.parametrize("columns", [(0,), (1,), (1, 0)])
def test_columns_of_it_are_those_of_the_whole(columns):
    whole = open_remote(source_of("rate", "timestamp timestamp, value long", rowsPerSecond=700))
    (position,) = whole.partitions(1, None, 50.0)
    rows = whole.open(position).poll(52.0, 5000).batch
    narrow = whole.narrowed(columns).open(position).poll(52.0, 5000).batch
    assert narrow.equals(rows.select([rows.schema.names[i] for i in columns]))


def test_far_values_and_times_do_not_overflow():
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=2_000_000_000))
    position = {**source.partitions(1, None, 0.0)[0], "next": 6 * 10**17}
    got = source.open(position).poll(1e10, 3)
    assert got.batch.column(1).to_pylist() == [6 * 10**17, 6 * 10**17 + 1, 6 * 10**17 + 2]
    assert got.batch.column(0).cast("int64").to_pylist() == [3 * 10**14] * 3


def test_batches_of_rate_micro_batch_are_those_of_spark():
    source = open_remote(
        source_of(
            "rate-micro-batch", SCHEMA, rowsPerBatch=5, numPartitions=2, startTimestamp=1000, advanceMillisPerBatch=100
        )
    )
    partitions = [source.open(position) for position in source.partitions(1, None, START)]
    rows = [row for partition in partitions for row in polled_at(partition, START + 0.25)]
    rows = sorted((value, time) for time, value in rows)
    assert rows == [(value, (1000 + value // 5 * 100) * 1000) for value in range(15)]
    assert [p.backlog(START + 0.45) for p in partitions] == [5, 5]


def test_rate_micro_batch_goes_on_with_the_next_batch_at_once():
    source = open_remote(source_of("rate-micro-batch", SCHEMA, rowsPerBatch=4, advanceMillisPerBatch=3_600_000))
    partition = source.open(source.partitions(1, None, START)[0])
    assert partition.poll(START, 100).batch.num_rows == 4
    assert partition.next_due(START) == pytest.approx(START + 1, abs=0.002)
    later = START + 1000
    [position] = source.partitions(1, [partition.position()], later)
    got = source.open(position).poll(later, 100)
    assert got.batch.column(1).to_pylist() == [4, 5, 6, 7]
    assert got.batch.column(0).cast("int64").to_pylist() == [3_600_000_000] * 4


@pytest.mark.parametrize(
    ("format", "options", "words"),
    [
        ("rate", {"rowsPerSecond": 0}, "rowsPerSecond"),
        ("rate", {"rowsPerSecond": "fast"}, "'fast'"),
        ("rate", {"rowPerSecond": 5}, "did you mean rowsPerSecond"),
        ("rate", {"rampUpTime": "soon"}, "rampUpTime"),
        ("rate", {"numPartitions": -1}, "numPartitions"),
        ("rate-micro-batch", {}, "rowsPerBatch"),
        ("rate-micro-batch", {"rowsPerBatch": 1, "startTimestamp": -1}, "startTimestamp"),
    ],
)
def test_bad_options_are_named(format, options, words):
    with pytest.raises(InvalidOption, match=words):
        open_remote(source_of(format, SCHEMA, **options))


def test_the_example_of_open_source():
    result = doctest.testmod(headway.connectors.sources)
    assert (result.attempted, result.failed) == (6, 0)


def test_what_only_spark_has_falls_back():
    with pytest.raises(UnsupportedPlan, match="usemanualclock"):
        open_remote(source_of("rate", SCHEMA, useManualClock=True))
    with pytest.raises(UnsupportedPlan, match="source pulsar"):
        open_remote(source_of("pulsar", "value binary"))


@pytest.mark.parametrize(("rate", "ramp", "partitions"), [(1, 0, 1), (3, 0, 2), (10, 4, 3), (1500, 3, 1), (7, 9, 2)])
def test_progress_counts_whole_seconds_as_spark_does(rate, ramp, partitions):
    source = open_remote(source_of("rate", SCHEMA, rowsPerSecond=rate, rampUpTime=f"{ramp}s", numPartitions=partitions))
    opened = [source.open(position) for position in source.partitions(1, None, START)]
    for seconds in (0, 1, 5, 12):
        rows = [row for partition in opened for row in polled(partition, START + seconds + 0.2)]
        assert rows or not spark_value_at(seconds, rate, ramp)
        nexts = [partition.position()["next"] for partition in opened]
        reached = min(partition.reached() for partition in opened)
        assert spark_value_at(reached.shown, rate, ramp) <= min(nexts) < spark_value_at(reached.shown + 1, rate, ramp)


def test_progress_counts_whole_batches_as_spark_does():
    options = {"rowsPerBatch": 10, "numPartitions": 3, "advanceMillisPerBatch": 50, "startTimestamp": 1000}
    source = open_remote(source_of("rate-micro-batch", SCHEMA, **options))
    opened = [source.open(position) for position in source.partitions(1, None, START)]
    assert {partition.reached().shown["offset"] for partition in opened} == {0}
    for partition in opened:
        polled_at(partition, START + 0.11)
    assert [partition.reached().shown for partition in opened] == 3 * [{"offset": 30, "timestamp": 1150}]
    opened[1].poll(START + 0.16, 2)
    assert min(partition.reached() for partition in opened).shown == {"offset": 30, "timestamp": 1150}
