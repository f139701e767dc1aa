"""Fig. 12: what scheduling costs a message.

Left: tenants whose queries do nothing, on one node, with always something to do; the policy changes while they run. The
paper raises the number of tenants at one message a second until the thread is saturated (300 to 350); here a thread
takes some thousands of messages a second, so 100 tenants of four sources send as fast as they are read. Execution time
is the inverse of throughput: under FIFO, under LLF with contexts that are made once (priority scheduling alone), and
under LLF. The same with messages of a thousand rows.
Right: jobs with a local aggregation, by the rows of a message.
The policies take turns many times; the overhead is the median of what each turn tells beside FIFO's turn before it, for
a shared machine is faster at times than at others. Then each policy runs once more with its steps timed in the node:
which part of the time they take does not depend on how fast the machine is.
Besides, the scheduler's own steps are timed in this process, without a node.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf
from statistics import median
from typing import Any

from bench.cameo.jobs import ROWS, Job, bulk, flooded, tenant
from bench.cameo.plots import colour, save
from bench.cameo.results import CameoResult
from bench.cameo.timed import Timed, read
from bench.cameo.trials import Trials
from bench.cluster import Trial
from headway.scheduling import make_policy
from headway.scheduling.api import Policy
from headway.scheduling.contexts import EARLIEST, Converter, PriorityContext, Profile, ReplyContext
from headway.scheduling.llf import Llf
from headway.scheduling.progress import ProgressMap, Windows

TENANTS = 100
ROUNDS = 4
SETTLE = 6.0
"""Seconds. Under FIFO a tenant waits ten for its turn; for a while after it, any policy is slower than later on."""
LOCAL_JOBS = 8
NO_OPS = (1, ROWS)
BATCHES = (1, 100, 1000, 10_000)


class ConstantLlf(Llf):
    """LLF whose contexts are made once per query: what is left is the cost of the priority queue."""

    name = "llf-constant"

    def at_source(self, converter: Converter, t: float, now: float) -> PriorityContext:
        return self._once(converter, inf)

    def at_operator(
        self, converter: Converter, cause: PriorityContext, p: int | None, t: float, partition: Hashable, now: float
    ) -> PriorityContext:
        return self._once(converter, -inf)

    def _once(self, converter: Converter, priority: float) -> PriorityContext:
        if converter.own is None:
            converter.own = PriorityContext(0.0, priority, None, 0.0, converter.latency, converter.query)
        made: PriorityContext = converter.own
        return made

    def process_reply(self, converter: Converter, sender: Hashable, reply: ReplyContext) -> None:
        """Costs are not used."""


POLICIES: dict[str, Any] = {"fifo": "fifo", "llf-constant": ConstantLlf(), "llf": "llf"}


def fig12(trials: Trials) -> None:
    """See the module."""
    trials.results += in_process(trials.workload)
    for result in trials.results:
        trials.say(_line(result))
    for rows in NO_OPS:
        tenants = [flooded(tenant(number, rows)) for number in range(TENANTS)]
        _compare(trials, f"no-op {rows}", tenants, rows, POLICIES)
    both = {name: POLICIES[name] for name in ("fifo", "llf")}
    for rows in BATCHES:
        jobs = [flooded(bulk(number, 1e6, rows)) for number in range(LOCAL_JOBS)]
        _compare(trials, rows, jobs, rows, both)


def _compare(trials: Trials, x: float | str, jobs: list[Job], rows: int, policies: dict[str, Any]) -> None:
    """Change between the policies on running queries, so that all else is equal."""
    with trials.cluster.trial("fifo", jobs, 1, {"headway.checkpointInterval": "1 hour"}) as trial:
        trial.wait()
        messages: dict[str, list[float]] = {name: [] for name in policies}
        for _ in range(ROUNDS):
            for name, policy in policies.items():
                trial.headway.policy = policy
                messages[name].append(_messages_per_s(trial, rows, trials.seconds))
        parts = {name: _timed(trial, name, 2 * trials.seconds) for name in ("fifo", "llf")}
    for name, rates in messages.items():
        made = _result(trials.workload, name, x, len(jobs), median(rates), rows, trials.seconds)
        made.settings["rounds_messages_per_s"] = rates
        made.settings["overhead"] = _overhead(messages["fifo"], rates)
        if name in parts:
            made.settings["scheduling"], made.settings["microseconds_per_call"] = parts[name]
        trials.results.append(made)
        trials.say(_line(made))


def _timed(trial: Trial, policy: str, seconds: float) -> tuple[float, float]:
    """Which part of a node's time its scheduler takes, and the microseconds of a step of it."""
    with tempfile.TemporaryDirectory(prefix="headway-timed-") as folder:
        path = f"{folder}/{policy}.json"
        trial.headway.policy = Timed(policy, path)
        time.sleep(SETTLE)
        began, before, first = read(path)
        time.sleep(seconds)
        ended, after, last = read(path)
        trial.headway.policy = policy
        time.sleep(SETTLE)  # it writes to the folder until it is told
    return (after - before) / (ended - began), 1e6 * (after - before) / max(1, last - first)


def _overhead(fifo: Sequence[float], rates: Sequence[float]) -> float:
    """Which part of a message's time FIFO would not have taken.

    >>> round(_overhead([10.0, 20.0, 10.0], [8.0, 19.0, 9.0]), 3)
    0.1
    """
    return 1 - median(rate / alone for rate, alone in zip(rates, fifo, strict=True))


def _messages_per_s(trial: Trial, rows: int, seconds: float) -> float:
    """Counted by the nodes, from when all that they did under the policy before has been told.

    Progress would not do: that of a query which waited for its turn for ten seconds says what it did in all of them.
    """
    time.sleep(SETTLE)
    trial.totals()
    began = time.perf_counter()
    time.sleep(seconds)
    taken = sum(counted.input_rows for counted in trial.totals().values())
    return taken / rows / (time.perf_counter() - began)


def _result(
    workload: str, policy: str, x: float | str, queries: int, per_s: float, rows: int, seconds: float
) -> CameoResult:
    settings = {"microseconds_per_message": 1e6 / per_s if per_s else 0.0, "rows_per_message": rows, "nodes": 1}
    return CameoResult(
        workload, "headway", queries, 0.0, per_s * rows, {}, seconds, round(per_s * rows * seconds), True, settings,
        policy, "ls", x, 0.0,
    )  # fmt: skip


def in_process(workload: str, messages: int = 200_000) -> list[CameoResult]:
    """The steps of a policy for one message to a windowed operator: context, queue, reply; no node, no message."""
    made = []
    for name, policy in POLICIES.items():
        micros = median(_steps(make_policy(policy), messages) for _ in range(ROUNDS)) * 1e6
        result = _result(workload, name, "in process", 1, 1e6 / micros, 1, 0.0)
        made.append(replace(result, system="in process"))
    return made


def _steps(policy: Policy, messages: int) -> float:
    """Seconds a message: 100 tenants take turns."""
    windows = Windows(0, 1_000_000)
    converters = [Converter(number, 0.8, windows, ProgressMap()) for number in range(100)]
    profile, queue = Profile(0.001, 0.001), policy.queue()
    began = time.perf_counter()
    for number in range(messages):
        converter, now = converters[number % 100], number * 1e-5
        context = policy.at_operator(converter, EARLIEST, number * 10, now, 0, now)
        queue.push(number % 100, context, number, now)
        if number >= 50:
            operator = queue.pop(now)
            queue.done(operator, now)
        if number % 16 == 0:
            policy.process_reply(converter, 0, policy.prepare_reply(profile, [], 1))
    return (time.perf_counter() - began) / messages


def table(results: list[CameoResult]) -> list[str]:
    """Per size and policy: a message's time, its part more than FIFO's, and the part of the scheduler's steps."""
    return [_line(result) for result in results]


def _line(result: CameoResult) -> str:
    told = result.settings
    line = f"  {result.x!s:>11}  {result.policy:<13} {told['microseconds_per_message']:9.2f} us"
    if result.policy != "fifo" and "overhead" in told:
        line += f", {told['overhead']:6.1%} of it more than FIFO"
    if "scheduling" in told:
        line += f", {told['scheduling']:5.2%} of the time scheduling ({told['microseconds_per_call']:.2f} us a step)"
    return line


def draw(results: list[CameoResult], path: str) -> None:
    """Left: execution time of the no-op message of a thousand rows by scheduler. Right: of LLF by rows per message."""
    save(path, 5, [lambda axis: _left(axis, results), lambda axis: _right(axis, results)], "Fig. 12: overhead")


def _left(axis: Any, results: list[CameoResult]) -> None:
    chosen = [r for r in results if r.x == f"no-op {ROWS}"]
    times = [r.settings["microseconds_per_message"] for r in chosen]
    axis.bar([r.policy for r in chosen], times, color=[colour(r.policy) for r in chosen])
    axis.set(ylabel="execution time of a no-op message (us)")


def _right(axis: Any, results: list[CameoResult]) -> None:
    for policy in ("fifo", "llf"):
        chosen = [r for r in results if r.policy == policy and not isinstance(r.x, str)]
        times = [r.settings["microseconds_per_message"] for r in chosen]
        axis.plot([r.x for r in chosen], times, marker="o", color=colour(policy), label=policy)
    axis.set(xscale="log", ylim=(0, None), xlabel="rows per message", ylabel="execution time of a message (us)")
    axis.legend()
