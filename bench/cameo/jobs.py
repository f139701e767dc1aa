"""The jobs of the experiments, and how their sizes follow from what the nodes can take.

Scaled down from the paper: two nodes for 32 servers, 16 sources per job for 64. Rows per message, messages per second
of latency-sensitive sources, windows and targets are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from bench.answers import agrees, whole_until
from bench.cameo.arrivals import Arrivals
from bench.cameo.queries import KEYS, RIGHT_SEED, exact, query
from bench.cameo.source import CameoSource
from bench.lines import Line, windows

SOURCES = 16
LS_JOBS = 4
LS_TARGET = 0.8
BA_TARGET = 7200.0
ROWS = 1000


@dataclass(frozen=True)
class Job:
    """A query with its stream and its target. `window` and `slide` are seconds."""

    name: str
    group: str
    arrivals: Arrivals
    window: int
    slide: int
    target: float
    shape: str = "ipq1"
    begin: float = 0.0
    """Seconds after the others at which its first message is due."""

    @property
    def streams(self) -> int:
        return 2 if self.shape == "ipq4" else 1

    @property
    def rows_per_s(self) -> float:
        return self.arrivals.rows_per_s * self.streams

    @property
    def written(self) -> bool:
        return self.shape != "noop"

    def frame(self, spark: SparkSession, t0_us: int) -> DataFrame:
        spark.dataSource.register(CameoSource)
        options = [{**self.arrivals.options(), "t0_us": self._begin_us(t0_us)} for _ in range(self.streams)]
        for number, one in enumerate(options):
            one["seed"] += number * RIGHT_SEED
        streams = [spark.readStream.format("cameo").options(**one).load() for one in options]
        if self.shape == "noop":
            return streams[0].select("event_time", "event_id")
        return query(self.shape, streams, f"{self.window} seconds", f"{self.slide} seconds")

    def _begin_us(self, t0_us: int) -> int:
        return t0_us + int(self.begin * 1e6)

    def check(self, lines: list[Line], t0_us: int) -> tuple[bool, int]:
        answer, once = windows(lines)
        window_us, slide_us = self.window * 1_000_000, self.slide * 1_000_000
        until = max((start for start, _ in answer), default=0) + window_us
        begin = self._begin_us(t0_us)
        expected = exact(self.shape, self.arrivals, begin, window_us, slide_us, until) if answer else {}
        whole = whole_until(answer, expected, window_us)
        ended = len({start for start, _ in answer if start + window_us <= whole})
        return once and agrees(answer, expected, window_us), ended

    def due(self, seconds: float) -> int:
        # A window of a constant stream is complete within an interval of its end; the last second may not be told yet.
        patience = self.target + 1 / self.arrivals.rate + 1.0
        return max(0, int((seconds - patience) / self.slide)) * KEYS.get(self.shape, 0)


def latency_sensitive(number: int, sources: int = SOURCES) -> Job:
    """A dashboard: a message of a thousand rows per source and second, windows of a second."""
    return Job(f"ls{number}", "ls", Arrivals(100 + number, sources, 1.0, ROWS), 1, 1, LS_TARGET)


def bulk(number: int, rows_per_s: float, rows: int = ROWS, process: str = "constant", sources: int = SOURCES) -> Job:
    """Analytics of so much volume, in windows of ten seconds."""
    arrivals = Arrivals(200 + number, sources, rows_per_s / (sources * rows), rows, process)
    return Job(f"ba{number}", "ba", arrivals, 10, 10, BA_TARGET)


def mix(bulk_jobs: int, bulk_rows_per_s: float, rows: int = ROWS, process: str = "constant") -> list[Job]:
    """Four latency-sensitive jobs, and bulk jobs that share so much volume."""
    share = bulk_rows_per_s / bulk_jobs
    return [latency_sensitive(n) for n in range(LS_JOBS)] + [bulk(n, share, rows, process) for n in range(bulk_jobs)]


def single(shape: str, rows_per_s: float, target: float = LS_TARGET) -> Job:
    """A query alone: IPQ2 slides by a second over ten, the others tumble every second."""
    streams = 2 if shape == "ipq4" else 1
    arrivals = Arrivals(300, SOURCES, rows_per_s / (SOURCES * ROWS * streams), ROWS)
    return Job(shape, "ls", arrivals, 10 if shape == "ipq2" else 1, 1, target, shape)


def tenant(number: int, rows: int) -> Job:
    """A query that does nothing, of a few sources, for the scheduler's overhead."""
    return Job(f"tenant{number}", "ls", Arrivals(500 + number, 4, 1.0, rows), 1, 1, LS_TARGET, "noop")


def flooded(job: Job) -> Job:
    """The same job with a source that always has more than the nodes can take."""
    return replace(job, arrivals=replace(job.arrivals, rate=20_000.0))
