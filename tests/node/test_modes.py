"""Modes for experiments: a thread per operator, memory from the heap. Answers stay what they are."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import headway
from headway.testing import MemoryStream

conf = {"headway.scheduling.threads": "operators", "headway.memory.mode": "queue"}
with headway.start(nodes=2, conf=conf) as hw:
    fast = hw.spark.readStream.format("rate").option("rowsPerSecond", 1000).load().selectExpr("value % 5 AS k")
    other = hw.writeStream(fast.groupBy("k").count()).format("memory").queryName("other").outputMode("complete")
    other = other.start(fallback=False)
    rows = MemoryStream(hw.spark, "k long, v long")
    sums = rows.toDF().where("v % 2 = 0").groupBy("k").sum("v")
    query = hw.writeStream(sums).format("memory").queryName("sums").outputMode("complete").start(fallback=False)
    for first in (0, 500):
        rows.addData(*[(n % 3, n) for n in range(first, first + 500)])
        query.processAllAvailable()
    print(sorted(tuple(row) for row in hw.spark.table("sums").collect()))
    other.processAllAvailable()
    print(len(hw.spark.table("other").collect()))
"""


@pytest.mark.long
def test_a_thread_per_operator_and_no_blocks() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    expected = [(k, sum(v for v in range(1000) if v % 3 == k and v % 2 == 0)) for k in range(3)]
    assert done.stdout.splitlines() == [str(expected), "5"], done.stderr
