"""The jobs of the experiments, and how their sizes follow from what the nodes can take.

Scaled down from the paper: two nodes for 32 servers, 16 sources per job for 64. Rows per message, messages per second
of latency-sensitive sources, windows and targets are the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bench.cameo.arrivals import Arrivals

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


def tenant(number: int) -> Job:
    """A query that does nothing, of one source, for the scheduler's overhead."""
    return Job(f"tenant{number}", "ls", Arrivals(500 + number, 1, 1.0, 1), 1, 1, LS_TARGET, "noop")


def flooded(job: Job) -> Job:
    """The same job with a source that always has more than the nodes can take."""
    return replace(job, arrivals=replace(job.arrivals, rate=20_000.0))
