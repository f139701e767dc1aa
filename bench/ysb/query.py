"""The query, the same DataFrame for every engine that speaks PySpark, and its exact answer."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bench.ysb.source import ADS, CAMPAIGNS

WINDOW_US = 10_000_000
Answer = dict[tuple[int, int], int]
"""(window start in microseconds, campaign) to count."""


def campaign_ids(seed: int) -> list[int]:
    """A hundred distinct campaign ids; ads 1..10 belong to the first, 11..20 to the second, …"""
    return [int(n) for n in np.random.default_rng(seed).choice(1_000_000, CAMPAIGNS, replace=False) + 1]


def campaigns(spark: SparkSession, seed: int) -> DataFrame:
    """The static table (ad_id, campaign_id)."""
    ids = campaign_ids(seed)
    rows = [(ad + 1, ids[ad // (ADS // CAMPAIGNS)]) for ad in range(ADS)]
    return spark.createDataFrame(rows, "ad_id bigint, campaign_id bigint")


def query(events: DataFrame, ads: DataFrame) -> DataFrame:
    """Views per campaign and ten seconds."""
    return (
        events.where("event_type = 0")
        .select("event_time", "ad_id")
        .withWatermark("event_time", "0 seconds")
        .join(F.broadcast(ads), "ad_id")
        .groupBy(F.window("event_time", "10 seconds"), "campaign_id")
        .count()
    )


@numba.njit(cache=True)
def _count(first: int, last: int, t0_us: int, rate: int, window_us: int, counts: Any) -> None:
    base = t0_us // window_us
    for number in range(first, last):
        if number % 3 == 0:
            window = (t0_us + number * 1_000_000 // rate) // window_us - base
            counts[window, (number % 1000) // 10] += 1


def exact(t0_us: int, rate: int, until_us: int, seed: int) -> Answer:
    """The counts of all windows that end by `until_us`, from the definition of the events alone."""
    windows = until_us // WINDOW_US - t0_us // WINDOW_US
    if windows <= 0:
        return {}
    end_us = (t0_us // WINDOW_US + windows) * WINDOW_US
    last = (end_us - t0_us) * rate // 1_000_000 + 2
    counts = np.zeros((windows + 1, CAMPAIGNS), np.int64)
    _count(0, last, t0_us, rate, WINDOW_US, counts)
    ids = campaign_ids(seed)
    return {
        ((t0_us // WINDOW_US + w) * WINDOW_US, ids[c]): int(counts[w, c])
        for w in range(windows)
        for c in range(CAMPAIGNS)
        if counts[w, c]
    }


def collected(spark: SparkSession, view: str) -> tuple[Answer, bool]:
    """What a query wrote to a memory table, and whether every key came once."""
    rows = spark.sql(
        f"select unix_micros(window.start) w, campaign_id c, `count` n from {view}"  # the names are ours
    ).collect()
    answer = {(row.w, row.c): row.n for row in rows}
    return answer, len(answer) == len(rows)


def correct(answer: Answer, once: bool, t0_us: int, rate: int, seed: int) -> bool:
    """Whether all windows that were written have exactly the right counts, and there are any.

    The newest window may be half written when the run is cut: it counts when all campaigns are there.
    """
    newest = max((window for window, _ in answer), default=0)
    if sum(window == newest for window, _ in answer) < CAMPAIGNS:
        answer = {key: count for key, count in answer.items() if key[0] != newest}
    if not answer or not once:
        return False
    until = max(window for window, _ in answer) + WINDOW_US
    return answer == exact(t0_us, rate, until, seed)
