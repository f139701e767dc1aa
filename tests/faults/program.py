"""A user's program that a test kills: two queries over a directory that grows, one to files and one to memory.

    python program.py INPUT OUTPUT CHECKPOINTS [--finish RESULT]

Prints a line per progress that had rows. With --finish it takes all that is there, writes what the memory tables hold
to RESULT as JSON, and ends.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headway
from headway.java import ensure_java
from headway.session import NODE_DAEMON

SCHEMA = "k bigint, v bigint"


def main(source: str, output: str, checkpoints: str, result: str | None) -> None:
    ensure_java()
    builder = SparkSession.builder.master("local[4]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.python.daemon.module", NODE_DAEMON).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    hw = headway.start(spark, nodes=2, conf={"headway.checkpointInterval": "300 ms", "headway.compile": "never"})
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(source)
    counts = rows.groupBy("k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
    files = hw.writeStream(rows).format("parquet").option("path", output)
    memory = hw.writeStream(rows).format("memory").queryName("rows")
    totals = hw.writeStream(counts).format("memory").queryName("totals").outputMode("complete")
    queries = [
        writer.option("checkpointLocation", f"{checkpoints}/{number}").start(fallback=False)
        for number, writer in enumerate((files, memory, totals))
    ]
    if result is None:
        while all(query.isActive for query in queries):
            for query in queries:
                if query.lastProgress and query.lastProgress["numInputRows"]:
                    print("rows", flush=True)
            time.sleep(0.05)
        sys.exit(f"a query ended: {[query.exception() for query in queries]}")
    for query in queries:
        query.processAllAvailable()
    tables = {name: [list(row) for row in spark.table(name).collect()] for name in ("rows", "totals")}
    Path(result).write_text(json.dumps(tables))
    hw.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:4], sys.argv[5] if len(sys.argv) > 5 else None)
