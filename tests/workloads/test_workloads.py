"""Every workload's exact answer is Spark's over the same rows, and Headway's."""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headway
from bench.lines import Line, Lines, flat, read_lines
from bench.nyt.workload import Nyt
from bench.workload import RingWorkload
from bench.ysb.workload import Ysb

RATE, SECONDS = 1009, 31
T0 = 1_700_000_004_000_000
WORKLOADS = [pytest.param(Ysb(3), id="ysb"), pytest.param(Ysb(3, drift=7), id="drift"), pytest.param(Nyt(4), id="nyt")]


def ended(lines: list[Line]) -> list[Line]:
    """Those of windows that the last row has ended."""
    return [line for line in lines if line[1] <= T0 + SECONDS * 1_000_000]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_sparks_answer_is_the_exact_one(workload: RingWorkload, spark: SparkSession) -> None:
    workload.open(spark)
    rows = workload.numbered(spark.range(RATE * SECONDS).withColumnRenamed("id", "value"), RATE, T0)
    lines = ended([tuple(flat(row)) for row in workload.query(rows).collect()])
    assert len({line[0] for line in lines}) > 1
    assert workload.correct(lines, T0, RATE)
    assert not workload.correct([(*lines[0][:3], lines[0][3] + 1, *lines[0][4:]), *lines[1:]], T0, RATE)


@pytest.mark.parametrize(
    ("workload", "rate"),
    [pytest.param(*workload.values, RATE, id=str(workload.id)) for workload in WORKLOADS]
    + [pytest.param(Ysb(3), 40_009, id="many blocks at once")],
)
def test_headways_answer_is_the_exact_one(
    workload: RingWorkload, rate: int, hw: headway.Headway, tmp_path: Path
) -> None:
    workload.open(hw.spark)
    t0 = int((time.time() - SECONDS) * 1e6)
    writer = hw.writeStream(workload.query(workload.stream(rate, t0))).foreach(Lines(str(tmp_path)))
    query = writer.start(fallback=False)
    query.processAllAvailable()
    query.stop()
    lines = read_lines(tmp_path)
    assert len({line[0] for line in lines}) > 1
    assert workload.correct(lines, t0, rate)
