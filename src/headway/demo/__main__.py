"""`python -m headway.demo`: run it, watch, read the summary."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.live import Live
from rich.table import Table

import headway
from headway.demo.board import Line, table
from headway.demo.ticks import Probe, Ticks, latencies
from headway.intervals import seconds
from headway.query import StreamingQuery
from headway.writer import DataStreamWriter

WARM_UP = 8.0
PRINT_EVERY = 5.0
COMPARED = "compared"


def main() -> None:
    arguments = _arguments()
    console = Console()
    console.print("Starting Spark and Headway …")
    with headway.start() as hw, tempfile.TemporaryDirectory(prefix="headway-demo-") as directory:
        hw.spark.sparkContext.setLogLevel("ERROR")
        ours = _watch(console, hw, arguments.seconds, arguments.rate, os.path.join(directory, "headway"))
        console.print("The same query on Structured Streaming, with the machine to itself …")
        theirs = _on_spark(hw.spark, arguments.seconds / 2, os.path.join(directory, "spark"))
    console.print(_summary(ours, theirs))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="headway.demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long to watch (default 30)")
    parser.add_argument("--rate", type=int, default=200_000, help="rows per second of the stream (default 200,000)")
    return parser.parse_args()


def _watch(console: Console, hw: headway.Headway, length: float, rate: int, directory: str) -> list[float]:
    """Run the queries and show how they do; the latencies of the one that is compared."""
    os.mkdir(directory)
    lines = _start_queries(hw, rate, directory)
    console.print("The queries start interpreted and are compiled meanwhile; counting begins in a few seconds …")
    hw.streams.awaitAnyTermination(WARM_UP)
    begun = time.time()
    for line in lines:
        line.forget()
    title = f"{len(lines)} queries, {hw.nodes} nodes, {rate:,} rows/s into each of the first four"
    _show(console, lambda: table(title, lines), length)
    for line in lines:
        line.query.stop()
    return latencies(directory, begun)


def _start_queries(hw: headway.Headway, rate: int, directory: str) -> list[Line]:
    clicks = hw.spark.readStream.format("rate").option("rowsPerSecond", rate).load()
    timed = clicks.withWatermark("timestamp", "0 seconds")
    campaign = (F.col("value") % 100).alias("campaign")
    counts = timed.groupBy(F.window("timestamp", "1 second"), campaign).count()
    trend = timed.groupBy(F.window("timestamp", "5 seconds", "1 second")).agg(F.avg(F.col("value") % 997))
    totals = clicks.groupBy((F.col("value") % 10).alias("shop")).count()
    return [
        _start(hw.writeStream(clicks.where("value % 10000 = 0")).format("memory"), "alerts", "50 ms"),
        _start(hw.writeStream(counts).format("memory"), "campaigns", "200 ms"),
        _start(hw.writeStream(trend).format("noop"), "trend", "1 second"),
        _start(hw.writeStream(totals).format("noop").outputMode("update"), "totals", None),
        _start(hw.writeStream(_compared(hw.spark)).foreach(Probe(directory)), COMPARED, "100 ms"),
    ]


def _start(writer: DataStreamWriter, name: str, target: str | None) -> Line:
    if target is not None:
        writer.latency(target)
    query: StreamingQuery = writer.queryName(name).start(fallback=False)
    return Line(query, None if target is None else seconds(target))


def _compared(spark: SparkSession) -> DataFrame:
    """The query that both engines run."""
    spark.dataSource.register(Ticks)
    ticks = spark.readStream.format(Ticks.name()).load()
    return ticks.where("value % 2 = 0").select("value", "due", (F.col("value") * 3).alias("tripled"))


def _on_spark(spark: SparkSession, length: float, directory: str) -> list[float]:
    os.mkdir(directory)
    query = _compared(spark).writeStream.foreach(Probe(directory)).start()
    while query.lastProgress is None:
        query.awaitTermination(0.2)
    begun = time.time()
    query.awaitTermination(WARM_UP + length)
    spark.sparkContext.setLogLevel("OFF")  # Spark logs the batch that stop() cuts short as an error
    query.stop()
    return latencies(directory, begun + WARM_UP)


def _show(console: Console, make: Callable[[], Table], length: float) -> None:
    """Show what `make` gives: live on a terminal, now and then elsewhere."""
    end = time.time() + length
    if console.is_terminal:
        with Live(make(), console=console, refresh_per_second=4) as live:
            while time.time() < end:
                time.sleep(0.25)
                live.update(make())
        return
    while time.time() < end:
        time.sleep(max(0.0, min(PRINT_EVERY, end - time.time())))
        console.print(make())


def _summary(ours: list[float], theirs: list[float]) -> Table:
    made = Table(title=f"Query '{COMPARED}', from the moment a row was due to the moment it could be seen")
    for name in ("engine", "p50", "p95", "p99", "rows"):
        made.add_column(name, justify="left" if name == "engine" else "right")
    for engine, measured in (("Headway, with 4 other queries", ours), ("Structured Streaming, alone", theirs)):
        made.add_row(engine, *(_percentile(measured, share) for share in (0.5, 0.95, 0.99)), f"{len(measured):,}")
    if ours and theirs:
        ratio = theirs[len(theirs) // 2] / ours[len(ours) // 2]
        made.caption = f"At the median Structured Streaming takes {ratio:.1f} times as long."
    return made


def _percentile(measured: list[float], share: float) -> str:
    return f"{measured[min(len(measured) - 1, int(share * len(measured)))] * 1000:,.1f} ms" if measured else "-"


if __name__ == "__main__":
    main()
