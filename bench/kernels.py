"""Micro-benchmark of the compiled tier: the chain of the Yahoo benchmark over batches that a node would see."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Literal
from headway.dataflow.graph import AggCall, Aggregate, Filter, Project, Source, StaticJoin, StaticTable, Watermark
from headway.dataflow.types import Field
from headway.kernels.api import Chain
from headway.kernels.compiled import compile_now

_COLUMNS = ("user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip", "extra")
_WINDOW = T.StructType([T.StructField("start", T.TimestampType()), T.StructField("end", T.TimestampType())])
_LONG, _TIME = T.LongType(), T.TimestampType()


def ysb_chain(ads: int = 1000, campaigns: int = 100, watermark: bool = True) -> Chain:
    """Views of ads, joined with their campaign, counted by campaign in windows of ten seconds."""
    fields = tuple(Field(name, _TIME if name == "event_time" else _LONG, False) for name in _COLUMNS)
    source = Source(fields, "rate", ())
    views = Filter(fields, source, Call(T.BooleanType(), "EqualTo", (Column(_LONG, 4), Literal(_LONG, 0))))
    table = pa.table({"ad": np.arange(ads), "campaign": np.arange(ads) % campaigns})
    joined_fields = (*fields, Field("ad", _LONG), Field("campaign", _LONG))
    joined = StaticJoin(
        joined_fields, views, StaticTable("ads", table), (Column(_LONG, 2),), (Column(_LONG, 0),), "inner"
    )
    timed = Watermark(joined_fields, joined, 5, 1_000_000)
    options = (("duration", 10_000_000), ("slide", 10_000_000), ("offset", 0), ("index", 0))
    window = Call(_WINDOW, "TimeWindow", (Column(_TIME, 5),), options)
    keyed_fields = (Field("window", _WINDOW), Field("campaign", _LONG))
    keyed = Project(keyed_fields, timed if watermark else joined, (window, Column(_LONG, 9)))
    count = AggCall("count", (), _LONG)
    keys = (Column(_WINDOW, 0), Column(_LONG, 1))
    aggregate = Aggregate((*keyed_fields, Field("count", _LONG)), keyed, keys, (count,), 0)
    steps = (views, joined, timed, keyed) if watermark else (views, joined, keyed)
    return Chain(source, steps, aggregate)


def ysb_batches(count: int, rows: int, ads: int = 1000, seed: int = 1) -> Iterator[pa.RecordBatch]:
    """Batches in the order of event time, a million rows per second."""
    random = np.random.default_rng(seed)
    for number in range(count):
        columns = {name: random.integers(0, 1 << 40, rows) for name in _COLUMNS}
        columns["ad_id"] = random.integers(0, ads, rows)
        columns["event_type"] = random.integers(0, 3, rows)
        times = pa.array(1_700_000_000_000_000 + number * rows + np.arange(rows)).view(pa.timestamp("us", "UTC"))
        arrays = [times if name == "event_time" else pa.array(columns[name]) for name in _COLUMNS]
        yield pa.RecordBatch.from_arrays(arrays, list(_COLUMNS))


def rows_per_second(rows: int = 32_768, seconds: float = 1.0) -> float:
    """The best of short runs of the chain, single-threaded, as others may use the machine too."""
    kernel = compile_now(ysb_chain())
    batches = list(ysb_batches(16, rows))
    best, until = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < until:
        start = time.perf_counter()
        for batch in batches:
            kernel.process(batch)
        best = max(best, len(batches) * rows / (time.perf_counter() - start))
    return best


def seconds_per_call() -> float:
    """What a call costs beyond its rows: a batch of one row, the best of many."""
    kernel = compile_now(ysb_chain())
    batch = next(ysb_batches(1, 1))
    best = 1.0
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(200):
            kernel.process(batch)
        best = min(best, (time.perf_counter() - start) / 200)
    return best


if __name__ == "__main__":
    print(f"{rows_per_second() / 1e6:.0f} M rows/s, {seconds_per_call() * 1e6:.1f} microseconds per call")
