"""The query: chained aggregations, a join of windows, and an outer join with what accidents close.

`window` is the length of what the benchmark calls a minute, in seconds; other windows follow from it, as in Enjima's
variations. A result has the end of the minute it is made of, which is when the toll comes into effect.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.lrb.traffic import SEGMENTS

PLACE = ("xway", "dir", "seg")
MINUTES = 5
STOPPED = 4
"""Reports of speed zero that make a car a stopped one."""
ZONE = 4
"""Segments before an accident that it makes free."""


def tolls(events: DataFrame, window: int = 60) -> DataFrame:
    """(at, xway, dir, seg, cars, speed, toll), a row per segment with cars and minute; `at` is the minute's last
    microsecond."""
    reports = events.where("type = 0").select("event_time", "vid", "speed", "xway", "lane", "dir", "seg", "pos")
    reports = reports.withWatermark("event_time", "0 seconds")
    minutes = _minutes(reports, window)
    counted = minutes.select(F.window_time("window").alias("at"), *PLACE, "cars")
    speeds = _speeds(minutes, window)
    known = counted.join(speeds, [counted["at"] == speeds["until"], *_same(counted, speeds)]).select(
        counted["at"], *[counted[name] for name in PLACE], "cars", "speed"
    )
    closed = _closed(reports, window)
    both = known.join(closed, [known["at"] == closed["until"], *_same(known, closed)], "left_outer")
    toll = F.when(F.expr("accidents is null and cars > 50 and speed < 40"), F.expr("2 * (cars - 50) * (cars - 50)"))
    return both.select(
        known["at"], *[known[name] for name in PLACE], "cars", "speed", toll.otherwise(F.lit(0)).alias("toll")
    )


def _same(one: DataFrame, other: DataFrame) -> list[Column]:
    return [one[name] == other[name] for name in PLACE]


def _minutes(reports: DataFrame, window: int) -> DataFrame:
    """Per segment and minute: cars, the sum of their speeds, and readings. A car counts once: it is grouped first."""
    each = reports.groupBy(F.window("event_time", f"{window} seconds"), *PLACE, "vid")
    cars = each.agg(F.sum("speed").alias("speeds"), F.count("*").alias("readings"))
    again = cars.groupBy(F.window(F.window_time("window"), f"{window} seconds"), *PLACE)
    return again.agg(F.count("*").alias("cars"), F.sum("speeds").alias("speeds"), F.sum("readings").alias("readings"))


def _speeds(minutes: DataFrame, window: int) -> DataFrame:
    """Per segment: the rounded mean of all readings of the last five minutes, every minute."""
    lasting = F.window(F.window_time("window"), f"{MINUTES * window} seconds", f"{window} seconds")
    sums = minutes.groupBy(lasting, *PLACE).agg(F.sum("speeds").alias("speeds"), F.sum("readings").alias("readings"))
    mean = F.expr("(2 * speeds + readings) div (2 * readings)").alias("speed")
    return sums.select(F.window_time("window").alias("until"), *PLACE, mean)


def _closed(reports: DataFrame, window: int) -> DataFrame:
    """The segments in whose zone there are accidents, every half minute."""
    # Speed zero, said with the event time: Spark would filter before it looks at the time, and while nobody stands
    # event time would stand too.
    standing = reports.where("coalesce(speed, unix_micros(event_time)) = 0 and lane between 1 and 3")
    half = f"{500 * window} milliseconds"
    lately = F.window("event_time", f"{2 * window} seconds", half)
    stopped = standing.groupBy(lately, "xway", "dir", "lane", "pos", "vid").count().where(f"count >= {STOPPED}")
    then = F.window(F.window_time("window"), half)
    accidents = stopped.groupBy(then, "xway", "dir", "lane", "pos").count().where("count >= 2")
    before, after = f"sequence(greatest(seg - {ZONE}, 0), seg)", f"sequence(seg, least(seg + {ZONE}, {SEGMENTS - 1}))"
    zone = f"explode(if(dir = 0, {before}, {after}))"
    free = accidents.selectExpr("window", "xway", "dir", "pos div 5280 as seg").selectExpr(
        "window", "xway", "dir", f"{zone} as seg"
    )
    again = F.window(F.window_time("window"), half)
    once = free.groupBy(again, *PLACE).agg(F.count("*").alias("accidents"))
    return once.select(F.window_time("window").alias("until"), *PLACE, "accidents")
