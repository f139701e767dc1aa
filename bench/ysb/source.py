"""The event generator, a Python data source that Headway polls inside its nodes.

1. Event number i is a function of i and the seed alone: seven fields and a padding of 64 bits each. user_id and page_id
   are pseudo-random in 1..1,000,000; ad_id = i mod 1000 + 1, ad_type = i mod 5, event_type = i mod 3. No row repeats.
2. Its event time is its scheduled emission, t0 + i / rate: a system that lags shows it as latency, never as fewer rows.
3. Partition k of n has the events whose number is k mod n.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader

from headway.connectors.api import Polled

ADS = 1000
CAMPAIGNS = 100
FIELDS = ("event_time", "user_id", "page_id", "ad_id", "ad_type", "event_type", "ip_address", "padding")
DDL = "event_time timestamp, " + ", ".join(f"{name} bigint" for name in FIELDS[1:])
_TYPES = (pa.timestamp("us", "UTC"), *[pa.int64()] * 7)
_SCHEMA = pa.schema([pa.field(name, type_) for name, type_ in zip(FIELDS, _TYPES, strict=True)])


@numba.njit(nogil=True, cache=True, inline="always")
def _mix(x: Any) -> Any:
    """A bijection of 64 bits (the finalizer of splitmix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@numba.njit(nogil=True, cache=True)
def _times(first: int, step: int, t0_us: int, rate: int, column: Any) -> None:
    """Scheduled emissions, t0 + floor(i * 1e6 / rate), with one division for all."""
    whole, rest = divmod(first * 1_000_000, rate)
    whole_step, rest_step = divmod(step * 1_000_000, rate)
    at = t0_us + whole
    for row in range(column.shape[0]):
        column[row] = at
        rest += rest_step
        carry = 1 if rest >= rate else 0
        rest -= carry * rate
        at += whole_step + carry


@numba.njit(nogil=True, cache=True)
def _random(first: int, step: int, seed: int, users: Any, pages: Any) -> None:
    scale = np.uint64(1_000_000)
    for row in range(users.shape[0]):
        random = _mix(np.uint64(first + row * step) + np.uint64(seed))
        # The high part of a product maps 32 random bits to a range without a division.
        users[row] = np.int64(((random & np.uint64(0xFFFFFFFF)) * scale) >> np.uint64(32)) + 1
        pages[row] = np.int64(((random >> np.uint64(32)) * scale) >> np.uint64(32)) + 1


@numba.njit(nogil=True, cache=True)
def _repeat(pattern: Any, phase: int, column: Any) -> None:
    """`pattern` over and over, from `phase` on."""
    period, rows = pattern.shape[0], column.shape[0]
    at, row = phase % period, 0
    while row < rows:
        length = min(period - at, rows - row)
        column[row : row + length] = pattern[at : at + length]
        row += length
        at = 0


@numba.njit(nogil=True, cache=True)
def generate(
    first: int, step: int, t0_us: int, rate: int, seed: int, ads: Any, kinds: Any, events: Any, out: Any
) -> None:
    """Fill `out` (8 columns by rows) with the events first, first + step, …

    The three patterns are those of a partition; they repeat every 1000, 5 and 3 of its events.
    """
    turn = first // step
    _times(first, step, t0_us, rate, out[0])
    _random(first, step, seed, out[1], out[2])
    _repeat(ads, turn, out[3])
    _repeat(kinds, turn, out[4])
    _repeat(events, turn, out[5])
    out[6] = -1
    out[7] = 0


def _pattern(first: int, step: int, period: int, added: int) -> Any:
    """Enough turns of (i mod period) + added over a partition's events that copying them is cheap."""
    turns = period * max(1, 4096 // period)
    return (first % step + np.arange(turns) * step) % period + added


class YsbPartition:
    """One partition, polled by a node."""

    def __init__(self, position: dict[str, int]) -> None:
        self._at = dict(position)
        first, step = position["next"], position["step"]
        self._patterns = _pattern(first, step, ADS, 1), _pattern(first, step, 5, 0), _pattern(first, step, 3, 0)

    def _due(self, now: float) -> int:
        """Events of this partition that are scheduled up to `now` and not given yet."""
        at = self._at
        scheduled = int((now * 1e6 - at["t0_us"]) * at["rate"] // 1_000_000) + 1
        if scheduled <= at["next"]:
            return 0
        return (scheduled - at["next"] + at["step"] - 1) // at["step"]

    def _time(self, number: int) -> float:
        return (self._at["t0_us"] + number * 1_000_000 // self._at["rate"]) / 1e6

    def poll(self, now: float, max_rows: int) -> Polled | None:
        rows = min(self._due(now), max_rows)
        if rows <= 0:
            return None
        at = self._at
        block = pa.allocate_buffer(len(FIELDS) * rows * 8)
        columns = np.frombuffer(block, np.int64).reshape(len(FIELDS), rows)
        generate(at["next"], at["step"], at["t0_us"], at["rate"], at["seed"], *self._patterns, columns)
        last = at["next"] + (rows - 1) * at["step"]
        arrived = self._time(at["next"]), self._time(last)
        at["next"] = last + at["step"]
        width = rows * 8
        arrays = [
            pa.Array.from_buffers(type_, rows, [None, block.slice(n * width, width)], 0)
            for n, type_ in enumerate(_TYPES)
        ]
        return Polled(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA), *arrived)

    def next_due(self, now: float) -> float:
        return self._time(self._at["next"])

    def backlog(self, now: float) -> int:
        return self._due(now)

    def position(self) -> dict[str, int]:
        return dict(self._at)


class YsbInline:
    """The partitions, one per node."""

    replayable = True

    def __init__(self, options: dict[str, str]) -> None:
        self._options = options

    def partitions(self, nodes: int, restored: Sequence[Any] | None, now: float) -> list[Any]:
        if restored is not None:
            return list(restored)
        t0 = int(self._options.get("t0_us", int(now * 1e6)))
        rate, seed = int(self._options["rate"]), int(self._options.get("seed", "1"))
        return [{"t0_us": t0, "rate": rate, "seed": seed, "next": k, "step": nodes} for k in range(nodes)]

    def open(self, position: dict[str, int]) -> YsbPartition:
        return YsbPartition(position)


class YsbReader(DataSourceStreamReader):
    """The same events for engines that read Python data sources by offsets."""

    def __init__(self, options: dict[str, str]) -> None:
        self._parts = YsbInline(options).partitions(1, None, time.time())

    def initialOffset(self) -> dict[str, int]:
        return {"next": 0}

    def latestOffset(self) -> dict[str, int]:
        return {"next": YsbPartition(self._parts[0])._due(time.time())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[Any]:
        from pyspark.sql.datasource import InputPartition

        return [InputPartition((start["next"], end["next"]))]

    def read(self, partition: Any) -> Any:
        start, end = partition.value
        reader = YsbPartition({**self._parts[0], "next": start})
        while start < end:
            polled = reader.poll(time.time(), min(1 << 16, end - start))
            assert polled is not None
            start += polled.batch.num_rows
            yield polled.batch


class YsbSource(DataSource):
    """`spark.readStream.format("ysb")` with options rate (events/s), seed and t0_us."""

    @classmethod
    def name(cls) -> str:
        return "ysb"

    def schema(self) -> str:
        return DDL

    def streamReader(self, schema: Any) -> YsbReader:
        return YsbReader(dict(self.options))

    def headwaySource(self, schema: Any) -> YsbInline:
        return YsbInline(dict(self.options))
