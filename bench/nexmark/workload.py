"""A query as a workload: its streams at their rates, and its answer compared with Spark's batch."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame

import headway
from bench.answers import same
from bench.lines import Line, Lines, flat, read_lines
from bench.nexmark.events import KINDS
from bench.nexmark.queries import QUERIES, Streams
from bench.nexmark.source import NexmarkSource, from_numbers
from bench.nexmark.winning import NAMES
from bench.workload import Workload

CHECKED_GROUPS = 400
"""Groups of 50 events whose answers are compared."""
CHECKED_SECONDS = 40
DELAY_US = 4_000_000
PROMPT, WHEN_ENDED = "50 ms", "200 ms"
"""Targets of queries whose rows come at once, and of those that tell of many groups together when these have ended."""


class Nexmark(Workload):
    """One query; `rate` is of all the streams that it reads, shared as the kinds are among the events.

    Results go nowhere while speed is measured; before that they are compared once.
    """

    name = "nexmark"
    source = NexmarkSource
    written = False

    def __init__(self, query: str, seed: int) -> None:
        super().__init__(seed)
        self.asked = QUERIES[query]
        self.mode = self.asked.mode
        self.first_guess = {name: int(m * 1e6) for name, m in zip(("headway", "spark"), self.asked.guess, strict=True)}
        self.prompt = self.asked.ends is None
        self.target = PROMPT if self.prompt else WHEN_ENDED
        self.on_rocksdb = self.asked.batch is not None
        self._checked = False

    def prepare(self, running: headway.Headway) -> None:
        self._checked = self.check(running)

    def correct(self, lines: list[Line], t0_us: int, rate: int | str) -> bool:
        return self._checked

    def rates(self, rate: int) -> dict[str, int]:
        """Rows/s by kind."""
        weights = {kind: KINDS[kind].weight for kind in self.asked.kinds}
        return {kind: max(1, rate * weight // sum(weights.values())) for kind, weight in weights.items()}

    def stream(self, rate: int | str, t0_us: int, groups: int = 0) -> Streams:
        """For Headway; of `groups` times 50 events, or without an end."""
        read = {}
        for kind, share in self.rates(int(rate)).items():
            options = {"kind": kind, "seed": self.seed, "rate": share, "t0_us": t0_us}
            rows = groups * KINDS[kind].weight
            read[kind] = self.spark.readStream.format("nexmark").options(**options, rows=rows).load()
        return read

    def on_spark(self, rate: int, t0_us: int) -> Streams:
        """For Structured Streaming, from the numbers that its rate source gives."""
        read = {}
        for kind, share in self.rates(rate).items():
            source = self.spark.readStream.format("rate").option("rowsPerSecond", share).option("numPartitions", 2)
            numbers = source.load().select("value")
            read[kind] = from_numbers(self.spark, numbers, kind, self.seed, share, t0_us)
        return read

    def batch(self, rate: int, t0_us: int, groups: int) -> Streams:
        """The same rows as tables."""
        read = {}
        for kind, share in self.rates(rate).items():
            numbers = self.spark.range(groups * KINDS[kind].weight).withColumnRenamed("id", "value")
            read[kind] = from_numbers(self.spark, numbers, kind, self.seed, share, t0_us)
        return read

    def query(self, streams: Streams) -> DataFrame:
        return self.asked.make(streams)

    def check(self, running: headway.Headway, groups: int = CHECKED_GROUPS) -> bool:
        """Whether Headway's results are those of Spark's batch over the same rows."""
        kinds = sum(KINDS[kind].weight for kind in self.asked.kinds)
        rate = groups // CHECKED_SECONDS * kinds
        t0_us = (int(time.time()) - CHECKED_SECONDS - 60) * 1_000_000
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            frame = self.query(self.stream(rate, t0_us, groups))
            writer = running.writeStream(frame).outputMode(self.mode).foreach(Lines(folder))
            one = writer.start(fallback=False)
            one.processAllAvailable()
            one.stop()
            found = read_lines(Path(folder))
        expected = (self.asked.batch or self.asked.make)(self.batch(rate, t0_us, groups))
        # The last row comes a moment before the end, and the watermark stays behind it.
        passed = t0_us + (CHECKED_SECONDS - 1) * 1_000_000 - DELAY_US
        return self.agrees(found, [tuple(flat(row)) for row in expected.collect()], frame.columns, passed)

    def agrees(self, found: list[Line], expected: list[Line], columns: list[str], passed: int) -> bool:
        """The same rows; groups need not be there that end after `passed`, the event time that is known to be over. In
        update mode, the newest row of every key, or their sums."""
        keys = self.asked.keys
        if self.asked.last:
            return _means_agree({line[0]: line for line in found}, expected, columns[0], self.asked.last, passed)
        if keys:
            newest = {line[:keys]: line for line in found}
            wanted = {line[:keys]: line for line in expected}
            if self.asked.summed:
                return _sums(newest.values()) == _sums(wanted.values())
            return newest.keys() == wanted.keys() and all(same(newest[key], wanted[key]) for key in wanted)
        if self.asked.ends is None:
            return Counter(found) == Counter(expected)
        at = columns.index(self.asked.ends)
        due = Counter(line for line in expected if line[at] < passed)
        return bool(due) and due <= Counter(found) <= Counter(expected)


def _means_agree(found: dict[Any, Line], won: list[Line], by: str, last: int, passed: int) -> bool:
    """Whether the means of all keys are those of their auctions that have ended: by their ends, the first of them, and
    at least those that end before `passed`."""
    ended, price, key = (NAMES.index(name) for name in ("expires_us", "price", by))
    of_key: dict[Any, list[Line]] = defaultdict(list)
    for line in sorted(won, key=lambda line: (line[ended], line[0])):
        of_key[line[key]].append(line)
    for which, auctions in of_key.items():
        _, count, mean = found.get(which, (which, 0, None))
        if count < sum(line[ended] < passed for line in auctions):
            return False
        counted = [line[price] for line in auctions[:count]][-last:]
        if counted and not same((sum(counted) / len(counted),), (mean,)):
            return False
    return bool(found) and found.keys() <= of_key.keys()


def _sums(lines: Iterable[Line]) -> Counter[Any]:
    """Of the last field, by the first."""
    sums: Counter[Any] = Counter()
    for line in lines:
        sums[line[0]] += line[-1]
    return sums
