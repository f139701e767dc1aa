"""The query and its exact answer."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.answers import right
from bench.flink.job import FlinkJob, micros
from bench.libraries.job import LibraryJob
from bench.lines import Line, windows
from bench.numbered import Pace
from bench.ring import occurrences
from bench.workload import RingWorkload
from bench.ysb.source import ADS, CAMPAIGNS, RING, YsbSource

WINDOW_US = 10_000_000
Answer = dict[tuple[int, int], int]


def campaign_ids(seed: int) -> list[int]:
    """A hundred distinct campaign ids; ads 1..10 belong to the first, 11..20 to the second, …"""
    return [int(n) for n in np.random.default_rng(seed).choice(1_000_000, CAMPAIGNS, replace=False) + 1]


def exact(t0_us: int, rate: int | str, until_us: int, seed: int, drift: int = 0) -> Answer:
    """The counts of all windows that end by `until_us`, from the definition of the events alone."""
    pace, ids = Pace(str(rate), t0_us), np.array(campaign_ids(seed))
    answer: Answer = {}
    for start in range(t0_us // WINDOW_US * WINDOW_US, until_us // WINDOW_US * WINDOW_US, WINDOW_US):
        views = sum(
            (_views(pace, begin, end, odd) for begin, end, odd in _phases(start, start + WINDOW_US, t0_us, drift)),
            np.zeros(CAMPAIGNS, np.int64),
        )
        answer |= {(start, int(ids[c])): int(views[c]) for c in np.flatnonzero(views)}
    return answer


def _phases(start: int, end: int, t0_us: int, drift: int) -> list[tuple[int, int, bool]]:
    """The parts of a window between changes of the events, and whether the changed ones come."""
    if not drift:
        return [(start, end, False)]
    length = drift * 1_000_000
    parts, at = [], max(start, t0_us)
    while at < end:
        phase = (at - t0_us) // length
        until = min(end, t0_us + (phase + 1) * length)
        parts.append((at, until, phase % 2 == 1))
        at = until
    return parts


def _views(pace: Pace, begin: int, end: int, drifted: bool) -> Any:
    """Views per campaign among the events that are due in a stretch of time."""
    number = np.arange(RING)
    kinds = number % 3 & 1 if drifted else number % 3
    seen = occurrences(pace.first_at(begin), pace.first_at(end), RING) * (kinds == 0)
    return np.bincount(number % ADS // (ADS // CAMPAIGNS), seen, CAMPAIGNS).astype(np.int64)


class Ysb(RingWorkload):
    """Views per campaign and ten seconds."""

    name = "ysb"
    target = "5 ms"
    source = YsbSource
    settings = {"drift": (0, "seconds after which two of three events are views instead of one, and back; 0: never")}  # noqa: RUF012
    window_us = WINDOW_US
    first_guess = {  # noqa: RUF012
        "headway": 700_000_000, "spark": 15_000_000, "flink": 14_000_000, "bytewax": 110_000, "pathway": 600_000,
    }  # fmt: skip

    def open(self, spark: SparkSession) -> None:
        super().open(spark)
        keys, values = self._campaigns
        self._ads = spark.createDataFrame(list(zip(keys, values, strict=True)), "ad_id bigint, campaign_id bigint")

    @cached_property
    def _campaigns(self) -> tuple[list[int], list[int]]:
        """The static table (ad_id, campaign_id)."""
        ids = campaign_ids(self.seed)
        return list(range(1, ADS + 1)), [ids[ad // (ADS // CAMPAIGNS)] for ad in range(ADS)]

    def query(self, events: DataFrame) -> DataFrame:
        return (
            events.where("event_type = 0")
            .select("event_time", "ad_id")
            .withWatermark("event_time", "0 seconds")
            .join(F.broadcast(self._ads), "ad_id")
            .groupBy(F.window("event_time", "10 seconds"), "campaign_id")
            .count()
        )

    def ring(self) -> pa.Table:
        number = np.arange(RING)
        return pa.table({"ad_id": number % ADS + 1, "event_type": number % 3})

    def numbered(self, numbers: DataFrame, rate: int, t0_us: int) -> DataFrame:
        """From their numbers by arithmetic, which costs Spark less than a look into a ring."""
        kind = "value % 3"
        if self.told["drift"]:
            kind = f"if(value div {self.told['drift'] * rate} % 2 = 1, value % 3 & 1, value % 3)"
        time = f"timestamp_micros({t0_us} + value * 1000000 div {rate}) as event_time"
        return numbers.selectExpr(time, f"value % {ADS} + 1 as ad_id", f"{kind} as event_type")

    def flink(self) -> FlinkJob:
        seen = "SELECT event_time, campaign_of(ad_id) AS campaign_id FROM events WHERE event_type = 0"
        query = (
            f"SELECT {micros('window_start')}, {micros('window_end')}, campaign_id, COUNT(*) FROM TABLE(TUMBLE(TABLE "
            "seen, DESCRIPTOR(event_time), INTERVAL '10' SECOND)) GROUP BY window_start, window_end, campaign_id"
        )
        return FlinkJob(self.ring(), query, {"seen": seen}, {"campaign_of": self._campaigns})

    def library(self) -> LibraryJob:
        return LibraryJob(self.ring(), self.window_us, {"campaigns": self._campaigns})

    def correct(self, lines: list[Line], t0_us: int, rate: int | str) -> bool:
        return right(*windows(lines), lambda until: exact(t0_us, rate, until, self.seed, self.told["drift"]), WINDOW_US)
