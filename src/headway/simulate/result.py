"""What a simulation gives: a line per group of jobs with the fields of the benchmarks, and the series behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from headway.simulate.build import Built
from headway.simulate.engine import Measured
from headway.simulate.expected import correct
from headway.simulate.scenario import Scenario

_COLUMNS = (
    "policy", "group", "jobs", "offered rows/s", "rows/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "met %", "busy %",
    "correct",
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """The jobs of one group under one policy. Latency and `met` (None: no target) are of results whose last event came
    in the measured time; rates are of that time. `rows` were read in it; in `rows_per_s` a row counts by the part of
    its work that was done in it. `latency_ms` is empty if there was no result."""

    workload: str
    system: str
    policy: str
    group: str
    x: float | None
    queries: int
    offered_rows_per_s: float
    rows_per_s: float
    latency_ms: dict[str, float]
    met: float | None
    seconds: float
    rows: int
    correct: bool
    utilisation: float


@dataclass(frozen=True)
class JobResult:
    """One job's series: `time` when each result came out, `arrival` of the last event it needed, `p` its event time in
    microseconds, `rows` of the source that it stands for; and by second of the simulation, rows read and seconds that
    its runs took."""

    name: str
    group: str
    time: NDArray[np.float64]
    arrival: NDArray[np.float64]
    p: NDArray[np.int64]
    rows: NDArray[np.int64]
    reads: dict[int, int]
    work: dict[int, float]

    @property
    def latency(self) -> NDArray[np.float64]:
        """Seconds."""
        return self.time - self.arrival

    def rows_done(self, seconds: range) -> float:
        """Rows by the work that was done in these seconds: a row that was read and waits half done counts half.

        Policies differ in how many such rows they let wait, and in when: where they are many, rows read tell of that
        rather than of what was done."""
        work = sum(self.work.values())
        if not work:
            return sum(self.reads.get(second, 0) for second in seconds)
        return sum(self.reads.values()) * sum(self.work.get(second, 0.0) for second in seconds) / work


@dataclass(frozen=True)
class Result:
    """A simulation under one policy."""

    policy: str
    groups: tuple[Group, ...]
    jobs: dict[str, JobResult]
    utilisation: float
    runs: int
    end: float
    """When the last run was over, in simulated seconds."""
    timeline: dict[str, Any] | None = field(default=None, repr=False)

    def group(self, name: str) -> Group:
        """The group of this name."""
        return next(group for group in self.groups if group.group == name)


def summarise(scenario: Scenario, policy: str, jobs: list[Built], measured: Measured) -> Result:
    series = {job.name: _series(job, measured, i) for i, job in enumerate(jobs)}
    utilisation = _utilisation(scenario, measured)
    right = {job.name: correct(job, measured, i, scenario.drain) for i, job in enumerate(jobs)}
    names = dict.fromkeys(job.spec.group for job in jobs)
    groups = tuple(
        _group(scenario, policy, name, [job for job in jobs if job.spec.group == name], series, right, utilisation)
        for name in names
    )
    return Result(policy, groups, series, utilisation, measured.runs, measured.end)


def _series(job: Built, measured: Measured, number: int) -> JobResult:
    time, arrival, p, rows, _ = zip(*measured.results[number], strict=True) if measured.results[number] else ((),) * 5
    return JobResult(
        job.name, job.spec.group, np.array(time, float), np.array(arrival, float), np.array(p, np.int64),
        np.array(rows, np.int64), dict(sorted(measured.reads[number].items())), dict(measured.work[number]),
    )  # fmt: skip


def _utilisation(scenario: Scenario, measured: Measured) -> float:
    """The part of the measured time, in whole seconds, that workers worked."""
    seconds = range(int(scenario.warm_up), max(int(scenario.warm_up) + 1, int(scenario.seconds)))
    worked = sum(measured.busy.get(second, 0.0) for second in seconds)
    return worked / (len(seconds) * scenario.cluster.nodes * scenario.cluster.workers)


def _group(
    scenario: Scenario,
    policy: str,
    name: str,
    jobs: Sequence[Built],
    series: dict[str, JobResult],
    right: dict[str, bool],
    utilisation: float,
) -> Group:
    seconds = scenario.seconds - scenario.warm_up
    latencies = {job.name: _measured_latency(scenario, series[job.name]) for job in jobs}
    whole = range(int(scenario.warm_up), max(int(scenario.warm_up) + 1, int(scenario.seconds)))
    rows = sum(count for job in jobs for second, count in series[job.name].reads.items() if second in whole)
    done = sum(series[job.name].rows_done(whole) for job in jobs)
    return Group(
        scenario.name, "simulator", policy, name, scenario.x, len(jobs), _offered(scenario, jobs) / seconds,
        done / len(whole), _percentiles(np.concatenate(list(latencies.values()))), _met(jobs, latencies), seconds, rows,
        all(right[job.name] for job in jobs), utilisation,
    )  # fmt: skip


def _measured_latency(scenario: Scenario, series: JobResult) -> NDArray[np.float64]:
    return series.latency[(series.arrival >= scenario.warm_up) & (series.arrival < scenario.seconds)]


def _offered(scenario: Scenario, jobs: Iterable[Built]) -> int:
    streams = [source.stream for job in jobs for source in job.sources]
    return sum(int(stream.rows[stream.t >= scenario.warm_up].sum()) for stream in streams)


def _percentiles(latency: NDArray[np.float64]) -> dict[str, float]:
    if not len(latency):
        return {}
    p50, p95, p99 = np.percentile(latency, [50, 95, 99], method="inverted_cdf") * 1000
    found = {"mean": latency.mean() * 1000, "p50": p50, "p95": p95, "p99": p99, "max": latency.max() * 1000}
    return {name: float(value) for name, value in found.items()}


def _met(jobs: Iterable[Built], latencies: dict[str, NDArray[np.float64]]) -> float | None:
    # Sums of floats differ in their last bits; a result on the very moment is on time.
    within = [latencies[j.name] <= j.spec.latency + 1e-9 for j in jobs if j.spec.latency is not None]
    count = sum(len(met) for met in within)
    return float(sum(met.sum() for met in within) / count) if count else None


def write(results: Iterable[Result], path: str | Path) -> None:
    """Append a JSON object per policy and group to a file."""
    with Path(path).open("a") as out:
        out.writelines(json.dumps(asdict(group)) + "\n" for result in results for group in result.groups)


def table(scenario: Scenario, results: Iterable[Result]) -> Table:
    """The same, for people."""
    cluster = scenario.cluster
    made = Table(title=f"{scenario.name}: {cluster.nodes} nodes x {cluster.workers} workers, {scenario.seconds:g} s")
    for name in _COLUMNS:
        made.add_column(name, justify="left" if name in ("policy", "group") else "right", no_wrap=True)
    for result in results:
        for group in result.groups:
            made.add_row(*_cells(group))
    return made


def _cells(group: Group) -> list[str]:
    latency = [group.latency_ms.get(name) for name in ("p50", "p95", "p99", "max")]
    return [
        group.policy, group.group, str(group.queries), f"{group.offered_rows_per_s:,.0f}", f"{group.rows_per_s:,.0f}",
        *("-" if value is None else f"{value:,.1f}" for value in latency),
        "-" if group.met is None else f"{100 * group.met:.1f}", f"{100 * group.utilisation:.0f}",
        "yes" if group.correct else "NO",
    ]  # fmt: skip
