"""Nexmark's rows are the same for Headway and for Spark, and so are the answers."""

import time

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headway
from bench.lines import flat
from bench.nexmark.events import KINDS
from bench.nexmark.queries import QUERIES
from bench.nexmark.source import NexmarkSource, from_numbers
from bench.nexmark.workload import Nexmark

SEED, RATE, T0 = 7, 2_000, 1_700_000_000_000_000
ROWS = 20_000
GROUPS = 80


def polled(kind: str, partitions: int) -> pa.Table:
    options = {"kind": kind, "seed": SEED, "rate": RATE, "t0_us": T0, "rows": ROWS}
    source = NexmarkSource({name: str(value) for name, value in options.items()}).headwaySource(None)
    batches = []
    for position in source.partitions(partitions, None, now=0.0):
        partition = source.open(position)
        while (found := partition.poll(time.time(), max_rows=3001)) is not None:
            batches.append(found.batch)
        assert partition.next_due(0.0) == float("inf")
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_same_for_spark(kind: str, spark: SparkSession) -> None:
    numbers = spark.range(ROWS).withColumnRenamed("id", "value")
    made = from_numbers(spark, numbers, kind, SEED, RATE, T0).collect()
    expected = sorted(tuple(flat(row)) for row in made)
    rows = polled(kind, 2)
    times = {name: rows[name].cast(pa.int64()) for name in ("date_time", "expires") if name in rows.schema.names}
    for name, column in times.items():
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
    assert sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True)) == expected


def test_references_are_to_what_is_there() -> None:
    bids, auctions = polled("bid", 1), polled("auction", 1)
    groups = np.arange(ROWS) // KINDS["bid"].weight
    assert (bids["auction"].to_numpy() < 1000 + 3 * (groups + 1)).all()
    assert (bids["bidder"].to_numpy() <= 1000 + groups).all()
    assert (auctions["expires"].cast(pa.int64()).to_numpy() > auctions["date_time"].cast(pa.int64()).to_numpy()).all()


def test_every_query_is_there() -> None:
    assert set(QUERIES) == {f"q{n}" for n in range(24)}


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_sparks(name: str, hw: headway.Headway) -> None:
    workload = Nexmark(name, SEED)
    workload.open(hw.spark)
    assert workload.check(hw, GROUPS)


def test_wrong_answers_are_found() -> None:
    stateless, windowed, grouped = (Nexmark(name, SEED) for name in ("q0", "q11", "q17"))
    rows = [(1, 5, "a"), (2, 6, "b"), (2, 6, "b")]
    assert stateless.agrees(rows, rows[::-1], ["k", "at", "v"], 0)
    assert not stateless.agrees(rows[:2], rows, ["k", "at", "v"], 0)
    columns = ["k", "ended", "v"]
    assert windowed.agrees(rows[:1], rows, columns, 6)
    assert not windowed.agrees(rows[:2], rows, columns, 7)
    assert not windowed.agrees([*rows, rows[0]], rows, columns, 6)
    assert grouped.agrees([(1, 5, "x"), *rows[:2]], rows[:2], columns, 0)
    clocked, mean = Nexmark("q12", SEED), Nexmark("q6", SEED)
    assert clocked.agrees([(1, 0, 9, 2), (1, 9, 18, 3), (1, 0, 9, 4)], [(1, 0, 9, 7)], ["bidder"], 0)
    assert not clocked.agrees([(1, 0, 9, 2), (1, 9, 18, 3)], [(1, 0, 9, 7)], ["bidder"], 0)
    won = [(n, 5, 10, 100 + n, 1, n, 50) for n in range(20)]
    for count, price, passed, right in ((15, 9.5, 110, True), (15, 9.5, 116, False), (15, 9.0, 110, False)):
        assert mean.agrees([(5, 1, 0.0), (5, count, price)], won, ["seller"], passed) == right
    assert not grouped.agrees([*rows[:2], (1, 5, "x")], rows[:2], columns, 0)
