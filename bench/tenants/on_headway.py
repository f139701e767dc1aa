"""A thousand tenants on Headway: all are started, observed at rest, then driven by their schedules, then compared.

The schedules begin at a moment that every source must know when its query is started, so it is set from how long the
first starts took.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import headway
from bench.lines import Lines, read_lines
from bench.report import Result
from bench.tenants.answer import correct, query
from bench.tenants.schedule import schedule
from bench.tenants.source import TenantSource
from bench.tenants.usage import Usage
from headway.observe.metrics import QueryMetrics

WARM_UP = 10
"""Queries that are started first, to know how long a start takes."""
SLACK = 1.5
SETTLE = 12.0
QUIET = 10.0
"""Seconds for which all are observed at rest."""
READY_EVERY = 25
"""Of every so many queries it is measured when it runs."""
DRAINS_AT_ONCE = 32


class Tenants:
    """One session and its queries."""

    def __init__(self, count: int, seconds: float, target: str, policy: str, seed: int) -> None:
        self._count = count
        self._seconds = seconds
        self._target = target
        self._seed = seed
        self._settings: dict[str, Any] = {"target": target, "policy": policy, "seed": seed}
        self._headway = headway.start(policy=policy, conf={"headway.compile": "first"})
        self._spark = self._headway.spark
        self._spark.sparkContext.setLogLevel("ERROR")
        self._spark.dataSource.register(TenantSource)
        self._queries: list[Any] = []
        self._frame_ms: list[float] = []
        self._start_ms: list[float] = []
        self._ready_ms: list[float] = []

    def run(self) -> Result:
        with TemporaryDirectory(ignore_cleanup_errors=True) as root:
            t0 = self._begin(Path(root))
            at_rest = self._observe_rest(t0)
            time.sleep(max(0.0, t0 - time.time()))
            _totals(self._queries)
            usage = Usage(self._pids())
            time.sleep(max(0.0, t0 + self._seconds + 1.0 - time.time()))
            self._settings |= {"idle_cpu_percent": at_rest, "active_cpu_percent": usage.percent()}
            time.sleep(2.0)  # what was counted last is in the progress of the next second
            totals = _totals(self._queries)
            return self._result(totals, self._check(Path(root), t0))

    def _begin(self, root: Path) -> float:
        """Start all queries; when their schedules begin."""
        each = self._warm_up(root)
        t0 = time.time() + SLACK * each * self._count + SETTLE + QUIET
        for tenant in range(self._count):
            self._queries.append(self._start(root / str(tenant), tenant, t0, self._seconds))
            self._say_started(tenant)
        self._settings |= {
            "start_ms": _percentiles(self._start_ms),
            "ready_ms": _percentiles(self._ready_ms),
            "dataframe_ms": _percentiles(self._frame_ms),
            "driver_threads": threading.active_count(),
        }
        return t0

    def _warm_up(self, root: Path) -> float:
        """Start a few queries that have no events; how long one took when the first had its kernels compiled."""
        ended = []
        for number in range(WARM_UP + 1):
            ended.append(self._start(root / f"warm-up-{number}", 0, t0=0.0, seconds=0.0))
            if number == 0:
                self._settings["first_ready_ms"] = round(self._ready_ms[0], 1)
                began = time.time()
        each = (time.time() - began) / WARM_UP
        for one in ended:
            one.stop()
        for measured in (self._frame_ms, self._start_ms, self._ready_ms):
            measured.clear()
        return each

    def _start(self, folder: Path, tenant: int, t0: float, seconds: float) -> Any:
        folder.mkdir()
        began = time.perf_counter()
        options = {"tenant": tenant, "seed": self._seed, "t0_us": int(t0 * 1e6), "seconds": seconds}
        frame = query(self._spark.readStream.format("tenant").options(**options).load())
        made = time.perf_counter()
        writer = self._headway.writeStream(frame).foreach(Lines(str(folder))).queryName(f"tenant {folder.name}")
        started = writer.latency(self._target).start(fallback=False)
        done = time.perf_counter()
        self._frame_ms.append((made - began) * 1000)
        self._start_ms.append((done - made) * 1000)
        if tenant % READY_EVERY == 0:
            _await_running(started)
            self._ready_ms.append((time.perf_counter() - made) * 1000)
        return started

    def _say_started(self, tenant: int) -> None:
        if (tenant + 1) % 100 == 0:
            print(f"{tenant + 1} started, the last 100 in {sum(self._start_ms[-100:]) / 100:.1f} ms each", flush=True)

    def _observe_rest(self, t0: float) -> dict[str, float]:
        for one in self._queries:
            _await_running(one)
        time.sleep(SETTLE)
        if time.time() + QUIET > t0:
            raise SystemExit("the starts took longer than the first of them promised: run again on a quieter machine")
        usage = Usage(self._pids())
        time.sleep(QUIET)
        return usage.percent()

    def _pids(self) -> dict[str, int]:
        nodes = {f"node {hello.node}": hello.pid for hello in self._headway._runtime.coordinator.hellos()}
        jvm: Any = self._spark._jvm
        return {"driver": os.getpid(), "jvm": int(jvm.java.lang.ProcessHandle.current().pid()), **nodes}

    def _check(self, root: Path, t0: float) -> bool:
        with ThreadPoolExecutor(DRAINS_AT_ONCE) as threads:
            list(threads.map(lambda one: one.processAllAvailable(), self._queries))
            list(threads.map(lambda one: one.stop(), self._queries))
        wrong = [n for n in range(self._count) if not correct(read_lines(root / str(n)), self._runs(n, t0))]
        self._settings["wrong_tenants"] = len(wrong)
        return not wrong

    def _runs(self, tenant: int, t0: float) -> list[Any]:
        return schedule(self._seed, tenant, int(t0 * 1e6), self._seconds)

    def _result(self, totals: QueryMetrics, right: bool) -> Result:
        runs = [self._runs(tenant, 0.0) for tenant in range(self._count)]
        offered = sum(run.rows for tenant in runs for run in tenant)
        judged = totals.met + totals.missed
        self._settings |= {
            "results": totals.output_rows,
            "within_target": round(totals.met / judged, 5) if judged else None,
        }
        return Result(
            "tenants",
            "headway",
            self._count,
            offered / self._seconds,
            totals.input_rows / self._seconds,
            totals.e2e.summary(),
            self._seconds,
            totals.input_rows,
            right,
            self._settings,
        )

    def close(self) -> None:
        self._headway.stop()


def _await_running(one: Any) -> None:
    while one._run._running.life.value != "Running":
        if one.exception() is not None:
            raise one.exception()
        time.sleep(0.001)


def _totals(queries: list[Any]) -> QueryMetrics:
    """What all queries counted since the last call."""
    totals = QueryMetrics()
    for one in queries:
        if one.exception() is not None:
            raise one.exception()
        totals.merge(one._run._running.totals())
    return totals


def _percentiles(values: list[float]) -> dict[str, float]:
    found = np.percentile(values, [50, 95, 100]) if values else [0.0, 0.0, 0.0]
    return {name: round(float(value), 1) for name, value in zip(("p50", "p95", "max"), found, strict=True)}
