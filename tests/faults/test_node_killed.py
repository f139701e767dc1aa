"""A node's process is killed with SIGKILL; its queries go on from their last checkpoint, others stay right too."""

from pathlib import Path

from node_processes import kill, pids
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headway import Headway
from headway.testing import MemoryStream

ROWS = 200


def test_no_row_is_lost_or_doubled(spark: SparkSession, hw: Headway, tmp_path: Path) -> None:
    stream = MemoryStream(spark, "k bigint, v bigint", partitions=2)
    rows = stream.toDF()
    counts = rows.groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
    files = hw.writeStream(rows).format("parquet").option("path", str(tmp_path / "out"))
    memory = hw.writeStream(rows).format("memory").queryName("killed_rows")
    totals = hw.writeStream(counts).format("memory").queryName("killed_totals").outputMode("complete")
    queries = [
        writer.option("checkpointLocation", str(tmp_path / str(number)))
        .option("headway.checkpointInterval", "200 ms")
        .start(fallback=False)
        for number, writer in enumerate((files, memory, totals))
    ]
    try:
        before = pids(hw)
        for step in range(8):
            values = range(step * ROWS, (step + 1) * ROWS)
            stream.addData(*[(value % 7, value) for value in values], partition=step % 2)
            if step == 2:
                queries[0].processAllAvailable()
            if step in (3, 5):
                kill(hw, -1)
        for query in queries:
            query.processAllAvailable()
            assert query.exception() is None
        assert pids(hw) != before
        expected = [(value % 7, value) for value in range(8 * ROWS)]
        assert sorted(map(tuple, spark.table("killed_rows").collect())) == sorted(expected)
        assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "out")).collect())) == sorted(expected)
        found = {row.k: (row.n, row.s) for row in spark.table("killed_totals").collect()}
        assert found == {k: (len(range(k, 8 * ROWS, 7)), sum(range(k, 8 * ROWS, 7))) for k in range(7)}
    finally:
        for query in queries:
            query.stop()
