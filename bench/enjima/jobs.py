"""The queries of the experiments as jobs, and what the paper's rates are in parts of a system's capacity.

The paper's rates are those of its machine (24 threads), found by what the best system followed there. Here a rate is
the same part of the highest load (`HIGHEST` of what the nodes take) as the paper's is of what its own system took at
most: 94.5 M rows/s of YSB, 20.74 M of LRB, 80 M of NYT. It was offered more (120 M of YSB, 30 M of LRB by ten queries),
but not late for all that: its sources emit late where they get no processor, and latency counts from there. Here, rows
that were due are late. So queries of one kind are offered no more than that highest load together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from bench.lines import Line
from bench.lrb.workload import Lrb
from bench.nyt.workload import Nyt
from bench.workload import RingWorkload
from bench.ysb.workload import Ysb

WORKLOADS: dict[str, type[RingWorkload]] = {"ysb": Ysb, "lrb": Lrb, "nyt": Nyt}
MILLION = 1_000_000
PER_QUERY = {"ysb": 12 * MILLION, "lrb": 3 * MILLION, "nyt": 8 * MILLION}
MOST = {"ysb": 94.5 * MILLION, "lrb": 20.74 * MILLION, "nyt": 80.0 * MILLION}
HIGHEST = {"ysb": 0.8, "lrb": 0.7, "nyt": 0.7}
"""The highest part of a capacity that is offered where the paper's system follows. What nodes take when there is always
more they take in batches as large as can be; as rows come, those of Linear Road cost a sixth more, taxi trips more. And
some of the policies need more than others, who would have to read what those leave."""
FLOOD = 2_000 * MILLION
"""Rows/s that no node takes."""
TARGET = 1.0


@dataclass(frozen=True)
class QueryJob:
    """A query of a workload, which makes its own rows. `rate` may change with time, see `bench.numbered`."""

    name: str
    group: str
    workload: RingWorkload
    rate: str
    target: float = TARGET
    written: bool = True

    def frame(self, spark: SparkSession, t0_us: int) -> DataFrame:
        self.workload.open(spark)
        return self.workload.query(self.workload.stream(self.rate, t0_us))

    def check(self, lines: list[Line], t0_us: int) -> tuple[bool, int]:
        right = self.workload.correct(lines, t0_us, self.rate) if lines else True
        return right, len({line[0] for line in lines})

    def due(self, seconds: float) -> int:
        return 0  # latency is that of events, by markers, whether windows end or not

    @property
    def window(self) -> float:
        """Seconds from the end of one of its windows to the next."""
        return self.workload.window_us / 1e6

    @property
    def rows_per_s(self) -> float:
        """The rate that it ends with."""
        return float(self.rate.rpartition(":")[2])


def paper_rate(name: str, capacity: float, count: int = 1) -> int:
    """Rows/s of each of so many queries: the paper's rate, in parts of what the nodes take."""
    return max(1, round(min(PER_QUERY[name] / MOST[name], 1.0 / count) * HIGHEST[name] * capacity))


def queries(name: str, count: int, rate: int | str, seed: int = 1, **told: int) -> list[QueryJob]:
    """So many queries of a workload, at a rate each."""
    return [
        QueryJob(f"{name}{number}", name, WORKLOADS[name](seed + number, **told), str(rate)) for number in range(count)
    ]


def mixed(count: int, capacities: dict[str, float]) -> list[QueryJob]:
    """A third of each workload, at the paper's rates."""
    return [
        job
        for name in ("lrb", "ysb", "nyt")
        for job in queries(name, count // 3, paper_rate(name, capacities[name]), seed=10 * count)
    ]


def steps(rates: Sequence[float], seconds: float, lead: float = 0.0) -> str:
    """Rates that follow each other, each for an equal part of a run; the first one `lead` seconds longer."""
    length = seconds / len(rates)
    return ",".join(
        f"{round(rate)}" if number == 0 else f"{lead + number * length:g}:{round(rate)}"
        for number, rate in enumerate(rates)
    )
