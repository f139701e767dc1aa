"""The source, the query and its exact answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.answers import right
from bench.flink.job import FlinkJob, micros
from bench.libraries.job import LibraryJob
from bench.lines import Line
from bench.numbered import TIME, NumberedSource, Pace
from bench.nyt.cells import CELLS, EAST_STEP, NORTH, SOUTH_STEP, WEST
from bench.nyt.trips import PLACES, RING, VTS, trips
from bench.ring import RingPartition, occurrences
from bench.workload import RingWorkload

READ = ("vendor_id", "trip_distance", *PLACES)


class NytPartition(RingPartition):
    """One partition, polled by a node."""

    schema = pa.schema([pa.field("event_time", TIME), *trips(0).schema])

    @classmethod
    def ring(cls, position: dict[str, Any]) -> pa.Table:
        return trips(position["seed"])


class NytSource(NumberedSource):
    """`spark.readStream.format("nyt")` with options rate (trips/s), seed and t0_us."""

    opened = NytPartition
    ddl = "event_time timestamp, " + ", ".join(
        f"{field.name} {'double' if field.type == pa.float64() else 'bigint'}" for field in trips(0).schema
    )

    @classmethod
    def name(cls) -> str:
        return "nyt"


def cell(longitude: str, latitude: str) -> Column:
    """The number of a place's cell, row by row from the north-west; 0 outside of the grid."""
    east = F.floor((F.col(longitude) - WEST) / EAST_STEP + 0.5)
    south = F.floor((NORTH - F.col(latitude)) / SOUTH_STEP + 0.5)
    inside = (east >= 0) & (east < CELLS) & (south >= 0) & (south < CELLS)
    return F.when(inside, south * CELLS + east + 1).otherwise(F.lit(0))


def _cells(longitude: Any, latitude: Any) -> Any:
    """The same with numpy."""
    east = np.floor((longitude - WEST) / EAST_STEP + 0.5).astype(np.int64)
    south = np.floor((NORTH - latitude) / SOUTH_STEP + 0.5).astype(np.int64)
    inside = (east >= 0) & (east < CELLS) & (south >= 0) & (south < CELLS)
    return np.where(inside, south * CELLS + east + 1, 0)


def _flink_cell(longitude: str, latitude: str) -> str:
    """The same in Flink's SQL."""
    east = f"FLOOR(({longitude} - CAST({WEST} AS DOUBLE)) / CAST({EAST_STEP} AS DOUBLE) + 0.5e0)"
    south = f"FLOOR((CAST({NORTH} AS DOUBLE) - {latitude}) / CAST({SOUTH_STEP} AS DOUBLE) + 0.5e0)"
    inside = f"{east} >= 0 AND {east} < {CELLS} AND {south} >= 0 AND {south} < {CELLS}"
    return f"CASE WHEN {inside} THEN CAST({south} * {CELLS} + {east} + 1 AS BIGINT) ELSE CAST(0 AS BIGINT) END"


class Nyt(RingWorkload):
    """Trips and their mean distance per pickup cell."""

    name = "nyt"
    source = NytSource
    settings = {"window": (2, "seconds of a window")}  # noqa: RUF012
    first_guess = {  # noqa: RUF012
        "headway": 80_000_000, "spark": 9_000_000, "flink": 3_500_000, "bytewax": 100_000, "pathway": 170_000,
    }  # fmt: skip

    def __init__(self, seed: int, **told: int) -> None:
        super().__init__(seed, **told)
        self.window_us = self.told["window"] * 1_000_000

    def query(self, events: DataFrame) -> DataFrame:
        # What costs little is asked first, as in Flink's form of the query: no system has to find that out.
        long = events.where((F.col("vendor_id") == VTS) & (F.col("trip_distance") > 1))
        pickup, dropoff = cell(*PLACES[:2]).alias("cell"), cell(*PLACES[2:]).alias("dropoff")
        mapped = long.select("event_time", pickup, dropoff, "trip_distance")
        kept = mapped.where((F.col("cell") > 0) & (F.col("dropoff") > 0))
        seconds = F.window("event_time", f"{self.told['window']} seconds")
        grouped = kept.withWatermark("event_time", "0 seconds").groupBy(seconds, "cell")
        return grouped.agg(F.count("*").alias("trips"), F.avg("trip_distance").alias("distance"))

    def ring(self) -> pa.Table:
        return trips(self.seed).select(READ)

    def flink(self) -> FlinkJob:
        mapped = (
            f"SELECT event_time, {_flink_cell(*PLACES[:2])} AS cell, {_flink_cell(*PLACES[2:])} AS dropoff, "
            f"trip_distance FROM events WHERE vendor_id = {VTS} AND trip_distance > 1"
        )
        query = (
            f"SELECT {micros('window_start')}, {micros('window_end')}, cell, COUNT(*), AVG(trip_distance) "
            f"FROM TABLE(TUMBLE(TABLE kept, DESCRIPTOR(event_time), INTERVAL '{self.told['window']}' SECOND)) "
            "GROUP BY window_start, window_end, cell"
        )
        kept = "SELECT event_time, cell, trip_distance FROM mapped WHERE cell > 0 AND dropoff > 0"
        return FlinkJob(self.ring(), query, {"mapped": mapped, "kept": kept})

    def library(self) -> LibraryJob:
        return LibraryJob(self.ring(), self.window_us, {"vendor": VTS})

    def exact(self, t0_us: int, rate: int | str, until_us: int) -> dict[tuple[int, int], tuple[int, float]]:
        """The results of all windows that end by `until_us`, from the definition of the trips alone."""
        vendor, miles, *places = (column.to_numpy() for column in self.ring().columns)
        cells = _cells(*places[:2])
        kept = (cells > 0) & (_cells(*places[2:]) > 0) & (vendor == VTS) & (miles > 1)
        pace = Pace(str(rate), t0_us)
        answer: dict[tuple[int, int], tuple[int, float]] = {}
        for start in range(t0_us // self.window_us * self.window_us, until_us, self.window_us):
            first, last = pace.first_at(start), pace.first_at(start + self.window_us)
            seen = occurrences(first, last, RING) * kept
            counts, sums = (np.bincount(cells, seen * what) for what in (1, miles))
            answer |= {(start, int(c)): (int(counts[c]), float(sums[c] / counts[c])) for c in np.flatnonzero(counts)}
        return answer

    def correct(self, lines: list[Line], t0_us: int, rate: int | str) -> bool:
        found = {(start, key): (count, mean) for start, _, key, count, mean in lines}
        once = len(found) == len(lines)
        return right(found, once, lambda until: self.exact(t0_us, rate, until), self.window_us)
