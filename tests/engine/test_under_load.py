"""More rows, keys and callers than a channel, a batch or a test of one row has room for."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow as pa
from engine_cases import Runner, same
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway import Headway

SCHEMA = "k long, v long"
ROWS = 600_000
PIECES = 6


def table(piece: int, keys: int) -> pa.Table:
    size = ROWS // PIECES
    values = np.arange(piece * size, (piece + 1) * size)
    return pa.table({"k": values * 7919 % keys, "v": values})


def test_more_keys_than_fit_in_a_message(run: Runner) -> None:
    stream = run.stream(SCHEMA)
    counted = stream.toDF().groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
    query = run.start(counted.where("k % 1000 = 17"), "update")
    for piece in range(PIECES):
        stream.addData(table(piece, 50_000))
    query.processAllAvailable()
    last = {row[0]: row[1:] for row in run.table(query)}
    values = np.arange(ROWS)
    keys = values * 7919 % 50_000
    assert last == {key: (np.sum(keys == key), values[keys == key].sum()) for key in range(17, 50_000, 1000)}


def test_every_row_passes_a_sink_that_is_slow(once: Runner, hw: Headway) -> None:
    counts: list[int] = []

    def slow(df: DataFrame, epoch: int) -> None:
        counts.append(df.count())

    stream = once.stream(SCHEMA)
    query = once.keep(hw.writeStream(stream.toDF().where("v % 3 = 0")).foreachBatch(slow).start(fallback=False))
    for piece in range(PIECES):
        stream.addData(table(piece, 10))
    query.processAllAvailable()
    assert sum(counts) == ROWS // 3


def test_changing_over_to_compiled_loses_nothing(once: Runner) -> None:
    stream = once.stream(SCHEMA)
    sums = stream.toDF().groupBy((F.col("k") % 13).alias("k")).agg(F.count("*"), F.sum("v"))
    query = once.start(sums, "complete", **{"headway.compile": "background"})
    added = 0
    compiled, deadline = False, time.monotonic() + 60
    while not compiled and time.monotonic() < deadline:
        stream.addData(*[(n, n) for n in range(added, added + 13)])
        added += 13
        query.processAllAvailable()
        assert query.lastProgress is not None
        compiled = query.lastProgress["headway"]["compiled"]
    assert compiled
    stream.addData(*[(n, n) for n in range(added, added + 13)])
    query.processAllAvailable()
    added += 13
    expected = [(key, added // 13, sum(range(key, added, 13))) for key in range(13)]
    assert same(once.table(query)) == same(expected)


def test_several_wait_for_all_rows_at_once(once: Runner) -> None:
    stream = once.stream(SCHEMA)
    query = once.start(stream.toDF())
    stream.addData(*[(n, n) for n in range(50)])
    waiting = [threading.Thread(target=query.processAllAvailable) for _ in range(8)]
    for thread in waiting:
        thread.start()
    for thread in waiting:
        thread.join(60)
    assert not any(thread.is_alive() for thread in waiting)
    assert len(once.table(query)) == 50
