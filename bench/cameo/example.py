"""Fig. 4, the worked example: two jobs, four messages, one worker, four schedules.

The text gives M2 (t = 30, target 50, cost 20, hence 60 as its latest start), the jobs of the messages (M1 and M3 are
the batch job's, M2 and M4 the urgent one's), and how many deadlines of the urgent job each schedule misses: a and b
two, c fewer, d none, with M2 and M4 before M1 and M3. The other numbers are ours, chosen to fit these. Milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from headway.scheduling import Knowledge, Windows, make_policy
from headway.scheduling.api import Policy
from headway.scheduling.contexts import EARLIEST, Converter, PriorityContext, ReplyContext
from headway.scheduling.fifo import Fifo
from headway.scheduling.llf import Llf

BEGIN = 50
"""When the worker is free; all messages have come by then, in the order of their names."""


class Task(NamedTuple):
    """A message to its job's last operator: its time (physical is logical time here) and its cost."""

    name: str
    job: str
    t: int
    cost: int


TASKS = (Task("M1", "J1", 10, 25), Task("M2", "J2", 30, 20), Task("M3", "J1", 35, 25), Task("M4", "J2", 40, 20))
TARGETS = {"J1": 80, "J2": 50}
WINDOWS = {"J1": Windows(first=100_000, slide=100_000)}
"""The batch job's window ends at 100."""


@dataclass(frozen=True)
class Schedule:
    """When each message ran, and which were out after their time."""

    name: str
    runs: tuple[tuple[str, int, int], ...]
    starts: dict[str, float]
    """Latest starts, where the policy has them."""
    violations: tuple[str, ...]

    @property
    def order(self) -> list[str]:
        return [name for name, _, _ in self.runs]


def policies() -> dict[str, Policy]:
    """The four schedulers of the figure, by its letters."""
    return {
        "a: turns of 1 ms": Fifo(quantum=0.001),
        "b: turns of 100 ms": Fifo(quantum=0.1),
        "c: topology": Llf(Knowledge(semantics=False)),
        "d: topology and semantics": make_policy("llf"),
    }


def _contexts(policy: Policy) -> dict[str, PriorityContext]:
    converters = {job: Converter(job, target / 1000, WINDOWS.get(job)) for job, target in TARGETS.items()}
    for task in TASKS:
        policy.process_reply(converters[task.job], "output", ReplyContext(task.cost / 1000, 0.0))
    return {
        task.name: policy.at_operator(
            converters[task.job], EARLIEST, task.t * 1000, task.t / 1000, task.job, BEGIN / 1000
        )
        for task in TASKS
    }


def _deadline(task: Task) -> int:
    """When its result must be out: the window's end counts for what waits for it."""
    windows = WINDOWS.get(task.job)
    begins = task.t if windows is None else windows.frontier(windows.number(task.t * 1000)) // 1000
    return begins + TARGETS[task.job]


def schedule(name: str, policy: Policy) -> Schedule:
    """Run the messages through a policy's own queue."""
    contexts = _contexts(policy)
    waiting = {job: sorted((t for t in TASKS if t.job == job), key=lambda t: contexts[t.name].local) for job in TARGETS}
    queue = policy.queue()
    for number, job in enumerate(waiting):
        queue.push(job, contexts[waiting[job][0].name], number, BEGIN / 1000)
    now, runs = BEGIN, []
    while (chosen := queue.pop(now / 1000)) is not None:
        task = waiting[chosen].pop(0)
        runs.append((task.name, now, now + task.cost))
        now += task.cost
        queue.done(chosen, now / 1000)
        if waiting[chosen]:
            queue.push(chosen, contexts[waiting[chosen][0].name], len(runs) + 2, now / 1000, worker=0)
    ends = {ran: end for ran, _, end in runs}
    late = tuple(task.name for task in TASKS if ends[task.name] > _deadline(task))
    starts = {} if isinstance(policy, Fifo) else {n: round(c.priority * 1000, 3) for n, c in contexts.items()}
    return Schedule(name, tuple(runs), starts, late)


def schedules() -> list[Schedule]:
    return [schedule(name, policy) for name, policy in policies().items()]


def table() -> str:
    """For people."""
    rows = []
    for made in schedules():
        runs = "  ".join(f"{name} {start}-{end}" for name, start, end in made.runs)
        late = f"{len(made.violations)} late" + (f": {', '.join(made.violations)}" if made.violations else "")
        rows.append(f"  {made.name:<26} {runs:<46} {late}")
    return "\n".join(rows)
