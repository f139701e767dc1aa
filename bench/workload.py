"""What a workload is to the systems that run it: rows by number, one query, and how its results are judged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource

import headway
from bench.flink.job import FlinkJob
from bench.libraries.job import LibraryJob
from bench.lines import Line


class Workload(ABC):
    """Made from a seed and the workload's own settings; `settings` has their defaults and what they mean."""

    name: ClassVar[str]
    source: ClassVar[type[DataSource]]
    settings: ClassVar[dict[str, tuple[int, str]]] = {}
    target: str = "1 second"
    mode: str = "append"
    written: ClassVar[bool] = True
    """Results are kept and judged; else they go nowhere."""
    prompt: bool = False
    """Events show in results as soon as they can, not when a window ends: then results are timed too."""
    on_rocksdb: bool = False
    """Spark can keep this state in RocksDB only."""
    window_us: int = 0
    first_guess: dict[str, int]
    """By system that can run it: rows/s to try first."""
    left_out: ClassVar[dict[str, str]] = {}
    """By system that does not run it: why."""

    def __init__(self, seed: int, **told: int) -> None:
        self.seed = seed
        self.told = {name: told.get(name, default) for name, (default, _) in self.settings.items()}

    def options(self) -> dict[str, Any]:
        """What the source's rows depend on."""
        return {"seed": self.seed, **self.told}

    def open(self, spark: SparkSession) -> None:
        """Make static tables and register the source, once per session."""
        self.spark = spark
        spark.dataSource.register(self.source)

    def stream(self, rate: int | str, t0_us: int) -> Any:
        """The rows as a stream of the source, for Headway."""
        options = {**self.options(), "rate": rate, "t0_us": t0_us}
        return self.spark.readStream.format(self.source.name()).options(**options).load()

    def prepare(self, running: headway.Headway) -> None:  # noqa: B027
        """Called once before anything is timed on Headway; most have nothing to do."""

    @abstractmethod
    def query(self, events: Any) -> DataFrame:
        """The query, the same DataFrame for every engine that speaks PySpark; of what `stream` or `on_spark` gives."""

    @abstractmethod
    def on_spark(self, rate: int, t0_us: int) -> Any:
        """The rows for Structured Streaming, made from the numbers that its rate source gives."""

    @abstractmethod
    def correct(self, lines: list[Line], t0_us: int, rate: int | str) -> bool:
        """Whether what a run wrote is right."""


class RingWorkload(Workload):
    """One whose rows, as far as the query reads them, repeat: they are kept in a ring."""

    @abstractmethod
    def ring(self) -> pa.Table:
        """The columns that the query reads but for the event time; row i is row i mod n of it."""

    def on_spark(self, rate: int, t0_us: int) -> DataFrame:
        source = self.spark.readStream.format("rate").option("rowsPerSecond", rate).option("numPartitions", 2)
        return self.numbered(source.load().select("value"), rate, t0_us)

    def numbered(self, numbers: DataFrame, rate: int, t0_us: int) -> DataFrame:
        """The rows from their numbers (`value`): a look into the ring, kept in every task's memory."""
        ring = self.ring()
        table = self.spark.createDataFrame(ring.append_column("at", pa.array(range(ring.num_rows), pa.int64())))
        time = F.expr(f"timestamp_micros({t0_us} + value * 1000000 div {rate})").alias("event_time")
        rows = numbers.select(time, (F.col("value") % ring.num_rows).alias("at"))
        return rows.join(F.broadcast(table), "at").drop("at")

    @abstractmethod
    def flink(self) -> FlinkJob:
        """The same query for Flink."""

    def library(self) -> LibraryJob:
        """The same for peers that are Python libraries; `bench.<workload>.on_<peer>` has their form of the query."""
        return LibraryJob(self.ring(), self.window_us)
