"""Linear Road: traffic is as the benchmark says, and oracle, exact answer and Spark's answer agree."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headway
from bench.lines import Lines, flat, read_lines
from bench.lrb.oracle import Place, Toll, oracle
from bench.lrb.query import tolls
from bench.lrb.traffic import FEET, FIELDS, PERIOD, Size, reports
from bench.lrb.workload import Exact, Lrb, by_place
from headway.testing import MemoryStream

SIZE, SEED = Size(600, 4.0, 1, 80), 1
SECOND, MINUTE = 1_000_000, 60_000_000
UNTIL = SIZE.seconds - 60
"""The last minute has not ended for a stream: no row comes after it."""


def columns() -> dict[str, np.ndarray]:
    rows = reports(SEED, SIZE)
    kept = rows["type"].to_numpy() == 0
    return {name: rows[name].to_numpy()[kept] for name in FIELDS}


def expected() -> dict[tuple[int, Place], Toll]:
    told = oracle(reports(SEED, SIZE)).tolls(UNTIL)
    return {(at * SECOND, place): toll for (at, place), toll in told.items()}


def test_traffic_is_what_the_benchmark_says() -> None:
    told = columns()
    assert (told["seg"] == told["pos"] // FEET).all()
    assert set(np.unique(told["lane"])) == {0, 1, 2, 3, 4}
    assert ((told["speed"] >= 0) & (told["speed"] <= 100)).all()
    for vid in np.unique(told["vid"])[::97]:
        times = told["time"][told["vid"] == vid]
        assert (np.diff(times) == PERIOD).all()
    assert reports(SEED, SIZE).equals(reports.__wrapped__(SEED, SIZE))


def test_there_are_tolls_and_accidents_that_cancel_them() -> None:
    found = list(expected().values())
    assert any(toll > 0 for _, _, toll in found)
    assert any(cars > 50 and speed < 40 and toll == 0 for cars, speed, toll in found)


def test_two_stopped_cars_close_the_zone_until_one_moves() -> None:
    rows = [(0, 30 * n, vid, 0, 0, 1, 0, 10, 52_800) for n in range(6) for vid in (1, 2)]
    rows += [(0, 180, 1, 9, 0, 1, 0, 10, 53_000)]
    rows += [(0, 60 * m + n // 30, 100 + n, 20, 0, 2, 0, 8, 43_000 + n) for m in range(5) for n in range(60)]
    names = ("type", "time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")
    table = pa.table({name: [row[n] for row in sorted(rows, key=lambda r: r[1])] for n, name in enumerate(names)})
    told = oracle(table).tolls(300)
    effect = {at: told[at, (0, 0, 8)] for at in (60, 120, 180, 240, 300)}
    # Both are stopped from second 90, and one reports from elsewhere at 180: minutes 3 and 4 are free.
    assert effect == {at: (60, 20, 0 if at in (120, 180) else 200) for at in effect}


def exact(minute: int) -> dict[tuple[int, Place], Toll]:
    """With minutes of so many microseconds."""
    rows = reports(SEED, SIZE)
    time = rows["time"].to_numpy() * SECOND
    answer = Exact(rows, lambda start, end: ((time >= start) & (time < end)).astype(int), minute)
    return {key: toll for end in range(minute, UNTIL * SECOND + 1, minute) for key, toll in answer.at(end).items()}


def ended(found: dict[tuple[int, Place], Toll]) -> dict[tuple[int, Place], Toll]:
    return {key: toll for key, toll in found.items() if key[0] <= UNTIL * SECOND}


def test_the_exact_answer_is_the_oracles() -> None:
    assert exact(MINUTE) == expected()


@pytest.mark.parametrize("seconds", [60, 75])
def test_sparks_answer_is_the_exact_one(seconds: int, spark: SparkSession) -> None:
    """Also where a half of what is called a minute is no whole number of seconds."""
    wanted = exact(seconds * SECOND)
    assert any(cars > 50 and speed < 40 and toll == 0 for cars, speed, toll in wanted.values())
    rows = spark.createDataFrame(reports(SEED, SIZE))
    told = tolls(rows.selectExpr("timestamp_seconds(time) as event_time", "*"), seconds).collect()
    assert ended(by_place([tuple(flat(row)) for row in told])) == wanted


def test_headways_answer_is_the_oracles(hw: headway.Headway, tmp_path: Path) -> None:
    stream = MemoryStream(hw.spark, ", ".join(f"{name} long" for name in FIELDS), partitions=2)
    frame = tolls(stream.toDF().selectExpr("timestamp_seconds(time) as event_time", "*"))
    query = hw.writeStream(frame).foreach(Lines(str(tmp_path))).start(fallback=False)
    rows = reports(SEED, SIZE)
    minutes = rows["time"].to_numpy() // 60
    for minute in range(SIZE.seconds // 60):
        for partition in range(2):
            mine = (minutes == minute) & (np.arange(rows.num_rows) % 2 == partition)
            stream.addData(rows.filter(pa.array(mine)), partition=partition)
    query.processAllAvailable()
    query.stop()
    assert ended(by_place(read_lines(tmp_path))) == expected()


def test_a_wrong_toll_is_found() -> None:
    lrb, t0, rate = Lrb(2, window=2, minutes=4), 1_700_000_000_500_000, 40_000
    answer = lrb.exact(t0, rate, t0 + 9 * SECOND)
    lines = [(at - 1, *place, *toll) for (at, place), toll in answer.items()]
    assert lrb.correct(lines, t0, rate)
    assert not lrb.correct([(*lines[0][:6], lines[0][6] + 1), *lines[1:]], t0, rate)
    assert not lrb.correct(lines[1:], t0, rate)
    assert not lrb.correct([*lines, lines[0]], t0, rate)
    assert 4 <= len({line[0] for line in lines}) <= 5
