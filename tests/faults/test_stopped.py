"""A query that was stopped goes on where its last checkpoint was, and refuses a checkpoint that is not its own."""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway import Headway, InvalidOption
from headway.testing import MemoryStream

Step = Callable[[], None]


def run(
    hw: Headway, df: DataFrame, name: str, mode: str, checkpoint: Path, nodes: int = 2, steps: Iterable[Step] = ()
) -> None:
    """All that is there, and then what each step brings: an epoch each."""
    writer = hw.writeStream(df).queryName(name).outputMode(mode).format("memory").option("headway.nodes", nodes)
    query = writer.option("checkpointLocation", str(checkpoint)).start(fallback=False)
    try:
        query.processAllAvailable()
        for step in steps:
            step()
            query.processAllAvailable()
    finally:
        query.stop()


def parts(checkpoint: Path) -> int:
    """In how many files the largest state of the last epoch is."""
    manifests = sorted((checkpoint / "headway" / "epochs").iterdir(), key=lambda file: int(file.stem))
    return max(len(files) for files in json.loads(manifests[-1].read_text())["files"].values())


def test_rows_of_both_runs_are_there_once(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "v bigint")
    for step in range(3):
        stream.addData(*[(value,) for value in range(step * 10, step * 10 + 10)])
        run(hw, stream.toDF(), "stopped_rows", "append", tmp_path)
    assert sorted(row.v for row in spark.table("stopped_rows").collect()) == list(range(30))


def test_aggregates_and_watermarks_go_on(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "second bigint")
    seconds = stream.toDF().select(F.timestamp_seconds("second").alias("ts"))
    counts = seconds.withWatermark("ts", "0 seconds").groupBy(F.window("ts", "10 seconds")).count()
    counts = counts.select(F.unix_seconds("window.start").alias("start"), "count")
    for step in ([1, 2, 3], [4, 11], [1, 2, 25], [3, 41]):
        stream.addData(*[(second,) for second in step])
        run(hw, counts, "stopped_counts", "append", tmp_path)
    assert {row.start: row["count"] for row in spark.table("stopped_counts").collect()} == {0: 4, 10: 1, 20: 1}


def test_a_join_in_parts_goes_on_on_another_number_of_nodes(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    lefts, rights = MemoryStream(spark, "k bigint, a bigint"), MemoryStream(spark, "k bigint, b bigint")
    random = Random(1)
    given: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])

    def more() -> None:
        for stream, rows in zip((lefts, rights), given, strict=True):
            new = [(random.randrange(40), random.randrange(1000)) for _ in range(30)]
            stream.addData(*new)
            rows.extend(new)

    for nodes in (1, hw.nodes, 1):
        run(hw, lefts.toDF().join(rights.toDF(), "k"), "stopped_join", "append", tmp_path, nodes, [more] * 4)
        assert parts(tmp_path) > nodes
    expected = Counter((k, a, b) for k, a in given[0] for other, b in given[1] if k == other)
    assert Counter(tuple(row) for row in spark.table("stopped_join").collect()) == expected


def test_groups_in_parts_go_on_on_another_number_of_nodes(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream, random = MemoryStream(spark, "k string, v bigint"), Random(1)
    given: list[tuple[str, int]] = []
    sums = stream.toDF().groupBy("k").agg(F.sum("v").alias("v"), F.size(F.collect_set("v")).alias("n"))

    def more() -> None:
        new = [(f"k{random.randrange(20)}", random.randrange(50)) for _ in range(30)]
        stream.addData(*new)
        given.extend(new)

    for nodes in (1, hw.nodes, 1):
        run(hw, sums, "stopped_sums", "complete", tmp_path, nodes, [more] * 4)
        assert parts(tmp_path) > nodes
    values = {k: [v for other, v in given if other == k] for k, _ in given}
    expected = {k: (sum(found), len(set(found))) for k, found in values.items()}
    assert {row.k: (row.v, row.n) for row in spark.table("stopped_sums").collect()} == expected


def test_a_changed_query_is_refused(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "k bigint, v bigint")
    stream.addData((1, 2))
    run(hw, stream.toDF().groupBy("k").count(), "changed", "complete", tmp_path)
    with pytest.raises(InvalidOption, match="changed since the checkpoint"):
        run(hw, stream.toDF().groupBy("k").agg(F.max("v")), "changed", "complete", tmp_path)
