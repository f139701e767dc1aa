"""The multi-tenant experiments at the paper's size, for the simulator: 32 nodes of 4 workers, 64 sources a job.

From the paper: sizes, windows, targets, the load of latency-sensitive jobs. Ours: costs (a worker takes some 325,000
rows/s), four stages as in Fig. 7c, bulk messages of 4000 rows, and volumes such that the cluster is full where the
paper's latencies begin to part: at 12 bulk jobs in Fig. 8b, at 30,000 rows/s per source in Fig. 8a (of 20 jobs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench.cameo.arrivals import SHAPE, SKEW
from bench.cameo.jobs import BA_TARGET, LS_JOBS, LS_TARGET
from headway.scheduling.tokens import Tokens
from headway.simulate import Arrivals, Cluster, Cost, Job, Scenario, StageSpec, Window

NODES, WORKERS, SOURCES = 32, 4, 64
BULK_ROWS = 4000
ROW = 3e-6
"""Seconds of a worker that a row takes in all stages; messages add a little."""
_PARSE = Cost(message=0.0002, row=2e-6, scv=0.1)
_COLLECT = Cost(message=0.0002, row=1e-6, trigger=0.0005, scv=0.1)
_CLIENT, _POLL = Cost(), Cost(message=0.0002, row=1e-6, scv=0.1)
SECONDS, WARM_UP = 20.0, 5.0

Points = list[tuple["float | str", Scenario]]


def capacity() -> float:
    """Rows/s of bulk messages that the cluster takes."""
    message = _PARSE.message + _COLLECT.message
    return NODES * WORKERS / (ROW + message / BULK_ROWS)


def job(
    name: str,
    group: str,
    arrivals: Arrivals,
    window: float,
    target: float | None,
    count: int = 1,
    poll: Cost = _CLIENT,
) -> Job:
    """IPQ1's shape: parse, aggregate per source, merge by key, give out. Sources are clients, or cost a poll."""
    panes = Window(window)
    return Job(
        name,
        (
            StageSpec("source", "source", SOURCES, poll, arrivals=arrivals),
            StageSpec("parse", "regular", SOURCES, _PARSE),
            StageSpec("aggregate", "window", SOURCES, _COLLECT, window=panes, groups=100),
            StageSpec("merge", "merge", 4, _COLLECT, window=panes, groups=25),
            StageSpec("output", "output", 1, Cost(message=0.0002, row=1e-6)),
        ),
        target,
        group,
        count,
    )


def urgent() -> Job:
    return job("ls", "ls", Arrivals(1.0, 1000, phase="random"), 1.0, LS_TARGET, LS_JOBS)


def bulk(count: int, rows_per_s: float, rows: int = BULK_ROWS, pareto: float | None = None) -> Job:
    """Jobs that share so much volume."""
    arrivals = Arrivals(rows_per_s / (count * SOURCES * rows), rows, phase="random", pareto=pareto)
    return job("ba", "ba", arrivals, 10.0, BA_TARGET, count)


def _mix(name: str, *jobs: Job, workers: int = WORKERS, seconds: float = SECONDS) -> Scenario:
    return Scenario(f"cameo-{name}", jobs, Cluster(NODES, workers), seconds, WARM_UP)


def fig8a() -> Points:
    """20 bulk jobs of 10,000 to 50,000 rows/s per source."""
    return [(k * 1000, _mix("fig8a", urgent(), bulk(20, k * 1000 * 20 * SOURCES))) for k in (10, 20, 30, 40, 50)]


def fig8b() -> Points:
    """4 to 20 bulk jobs of a twelfth of the cluster each."""
    return [(n, _mix("fig8b", urgent(), bulk(n, n * capacity() / 12))) for n in (4, 8, 12, 16, 20)]


def fig8c() -> Points:
    """4 to 1 workers a node, with bulk jobs that take 45 % of four."""
    jobs = urgent(), bulk(12, 0.45 * capacity())
    return [(workers, _mix("fig8c", *jobs, workers=workers)) for workers in (4, 3, 2, 1)]


def fig9() -> Points:
    """Eight bulk jobs of Pareto distributed volume, 45 % of the cluster on average."""
    return [("pareto", _mix("fig9", urgent(), bulk(8, 0.45 * capacity(), pareto=SHAPE), seconds=60.0))]


def fig10() -> Points:
    """Eight jobs of each type, all urgent, that take 90 % of the cluster; type 2 has half the volume of type 1."""
    volume = 0.9 * capacity() / (8 * SOURCES * 1000)
    one = job("type1", "type1", Arrivals(volume * 2 / 3, 1000, phase="random"), 1.0, LS_TARGET, 8)
    two = job("type2", "type2", Arrivals(volume / 3, 1000, phase="random", skew=SKEW), 1.0, LS_TARGET, 8)
    return [("skew", _mix("fig10", one, two))]


def fig11() -> Points:
    """16 bulk jobs, a third more than the cluster can take."""
    return [("multi", _mix("fig11", urgent(), bulk(16, 4 / 3 * capacity())))]


def fig13() -> Points:
    """Bulk messages of 1,000 to 40,000 rows at the same rows/s, a third more than the cluster can take."""
    sizes = (1000, 5000, 10_000, 20_000, 40_000)
    return [(rows, _mix("fig13", urgent(), bulk(16, 4 / 3 * capacity(), rows))) for rows in sizes]


def fig14() -> Points:
    """11 bulk jobs, 92 % of the cluster."""
    return [("semantics", _mix("fig14", urgent(), bulk(11, 11 / 12 * capacity())))]


def fig15() -> Points:
    """Costs with errors of 0 to 1000 ms, 16 bulk jobs."""
    ((_, scenario),) = fig11()
    named = replace(scenario, name="cameo-fig15")
    return [
        (error, replace(named, settings={"headway.scheduling.costError": f"{error} ms"}))
        for error in (0, 1, 10, 100, 1000)
    ]


def fig6() -> Points:
    """Three dataflows of 2 million rows/s each, 60 s apart (the paper: 300 s), on as much as one of them needs."""
    jobs = []
    for number in range(3):
        name = f"d{number + 1}"
        arrivals = Arrivals(2e6 / (SOURCES * 1000), 1000, phase="random")
        # Polled, as the nodes' sources are: a client takes tokens for as many messages as there is room for.
        jobs.append(replace(job(name, name, arrivals, 10.0, None, poll=_POLL), start=number * 60.0))
    return [("tokens", Scenario("cameo-fig6", tuple(jobs), Cluster(2, 4), 240.0, 0.0, drain=False))]


SHARES = {"d1": 0.2, "d2": 0.4, "d3": 0.4}
TOKENS = Tokens({"d1": 60, "d2": 120, "d3": 120}, interval=5.0, grain=0.0)
"""Of every source, in five seconds: the paper's rates. Each source may take one token of the next interval ahead, the
same for all; in a second that would be a twelfth of the first dataflow's. A turn of a millisecond would let a source
take several at once."""
BLIND = {"headway.scheduling.semantics": "false"}
SCENARIOS: dict[str, Callable[[], Points]] = {
    made.__name__: made for made in (fig6, fig8a, fig8b, fig8c, fig9, fig10, fig11, fig13, fig14, fig15)
}
