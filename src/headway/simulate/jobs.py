"""Of what a scenario is made: a cluster, and jobs whose stages have parallelism, costs and windows. Plain values.

1. A stage of kind "source" has arrivals, one stream for each of its operators. Without a cost its operators are clients
   outside the cluster; with one they are scheduled as any other.
2. A regular stage passes messages on. A window collects rows and gives a result when all its inputs are past its end; a
   merge brings together what windows upstream gave for the same end; a join is a window over several inputs. A stage
   that nobody reads gives the job's results; "output" is a regular one that nobody may read.
3. A stage reads those that it names, or else the one before it. Edges: "forward" sends everything of operator i to
   operator i modulo the parallelism, "key" deals the rows of every message to all operators, "one" is to a single one.
4. Operators are dealt to the nodes in turn: operator i of all of a job's stages to the same node, and the next job
   begins where this one's widest stage has ended. Where a stage names nodes, operator i is on the i-th of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Literal, get_args

from headway.errors import InvalidOption
from headway.scheduling import Windows

Kind = Literal["source", "regular", "window", "merge", "join", "output"]
EdgeKind = Literal["forward", "key", "one"]
Process = Literal["constant", "poisson"]
WINDOWED = ("window", "merge", "join")


def invalid(where: str, problem: str) -> InvalidOption:
    """The error of a bad value; `where` is the path of its key."""
    return InvalidOption(f"{where}: {problem}")


def at_least(where: str, value: float, least: float) -> None:
    if not is_number(value) or not value >= least:
        raise invalid(where, f"{value!r} will not do; use a number from {least:g} on")


def above_zero(where: str, value: float) -> None:
    if not is_number(value) or not 0.0 < value < inf:
        raise invalid(where, f"{value!r} will not do; use a number above 0")


def whole(where: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise invalid(where, f"{value!r} will not do; use a whole number from {least} on")


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


@dataclass(frozen=True)
class Spread:
    """A random length of time: gamma with this mean and squared coefficient of variation (0: constant, 1:
    exponential)."""

    mean: float
    scv: float = 0.0

    def check(self, where: str) -> None:
        at_least(f"{where}.mean", self.mean, 0.0)
        at_least(f"{where}.scv", self.scv, 0.0)


@dataclass(frozen=True)
class Bursts:
    """Every `every` seconds the rate is `factor` times as high, for `length` seconds."""

    every: float
    length: float
    factor: float

    def check(self, where: str) -> None:
        above_zero(f"{where}.every", self.every)
        above_zero(f"{where}.length", self.length)
        at_least(f"{where}.factor", self.factor, 0.0)
        if self.length > self.every:
            raise invalid(f"{where}.length", "a burst is longer than the time from one to the next; make it shorter")


@dataclass(frozen=True)
class Arrivals:
    """Messages that come to each operator of a source stage.

    `rate` is messages per second and source, on average; a message has `rows` rows. `phase`: when a constant stream
    begins, in seconds; "even" spreads the sources over a period, "random" draws. `pareto`: the volume of every second
    of every source is Pareto of this shape, with the mean that `rate` says. `skew`: the rates of the sources lie
    geometrically between 1 and so many, with the mean that `rate` says. `delay`: how far event time is behind arrival;
    a source's event time never goes back.
    """

    rate: float
    rows: int = 1
    process: Process = "constant"
    phase: float | Literal["even", "random"] = "even"
    pareto: float | None = None
    skew: float = 1.0
    bursts: Bursts | None = None
    delay: Spread = Spread(0.0)

    def check(self, where: str) -> None:
        at_least(f"{where}.rate", self.rate, 0.0)
        whole(f"{where}.rows", self.rows, 1)
        if self.process not in get_args(Process):
            raise invalid(f"{where}.process", f"there is no process {self.process!r}; use constant or poisson")
        if self.phase not in ("even", "random"):
            if isinstance(self.phase, str):
                raise invalid(f"{where}.phase", f"{self.phase!r} is none; use even, random or a length of time")
            at_least(f"{where}.phase", self.phase, 0.0)
        if self.pareto is not None and not self.pareto > 1.0:
            raise invalid(f"{where}.pareto", f"a shape of {self.pareto:g} has no mean; use one above 1")
        above_zero(f"{where}.skew", self.skew)
        self.delay.check(f"{where}.delay")
        if self.bursts is not None:
            self.bursts.check(f"{where}.bursts")


@dataclass(frozen=True)
class Recorded:
    """Messages as they came: per source operator, (t, rows, p in microseconds, what the poll took in seconds)."""

    points: tuple[tuple[tuple[float, int, int, float], ...], ...]

    def check(self, where: str) -> None:
        for points in self.points:
            if any(later[0] < earlier[0] or later[2] < earlier[2] for earlier, later in pairwise(points)):
                raise invalid(where, "recorded messages go back in time; sort them by arrival, event time rising")


@dataclass(frozen=True)
class Cost:
    """What a run takes: `message` + `row` x rows, and `trigger` more if windows end; times gamma noise of this scv."""

    message: float = 0.0
    row: float = 0.0
    trigger: float = 0.0
    scv: float = 0.0

    def check(self, where: str) -> None:
        for name in ("message", "row", "trigger", "scv"):
            at_least(f"{where}.{name}", getattr(self, name), 0.0)


@dataclass(frozen=True)
class Window:
    """Windows of `size`, one every `slide` (None: as long as they are), ends counted from `first`. Their results leave
    when event time is `delay` past their end."""

    size: float
    slide: float | None = None
    delay: float = 0.0
    first: float = 0.0

    @property
    def step(self) -> float:
        return self.size if self.slide is None else self.slide

    @property
    def copies(self) -> int:
        """How many windows a row is in."""
        return round(self.size / self.step)

    def windows(self) -> Windows:
        return Windows(round(self.first * 1e6), round(self.step * 1e6), round(self.delay * 1e6))

    def check(self, where: str) -> None:
        above_zero(f"{where}.size", self.size)
        above_zero(f"{where}.slide", self.step)
        at_least(f"{where}.delay", self.delay, 0.0)
        if self.copies < 1 or abs(self.copies * self.step - self.size) > 1e-6:
            raise invalid(f"{where}.slide", f"the size, {self.size:g} s, must be a multiple of it")


@dataclass(frozen=True)
class StageSpec:
    """One stage of a job; see the module. `groups`: a window's result has at most so many rows. `selectivity`: rows
    given per row taken."""

    name: str
    kind: Kind = "regular"
    parallelism: int = 1
    cost: Cost = Cost()
    inputs: tuple[str, ...] = ()
    edge: EdgeKind | None = None
    window: Window | None = None
    arrivals: Arrivals | Recorded | None = None
    selectivity: float = 1.0
    groups: int | None = None
    nodes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Job:
    """`count` equal jobs. `latency`: the target, None for bulk. `end` None: when the simulation's sources end."""

    name: str
    stages: tuple[StageSpec, ...]
    latency: float | None = None
    group: str = "all"
    count: int = 1
    start: float = 0.0
    end: float | None = None
    event_time: bool = True
    """False: progress is arrival time, so that no fit is needed to tell when a window will be complete."""

    def names(self) -> list[str]:
        return [self.name] if self.count == 1 else [f"{self.name}-{i}" for i in range(self.count)]


@dataclass(frozen=True)
class Cluster:
    """Nodes with workers. A message to another node takes `exchange` + `exchange_row` x rows, an acknowledgement
    `exchange`. A channel holds `channel` messages. `overhead`: what a worker spends on scheduling per run, `switch`:
    and more if it did not run the same operator before."""

    nodes: int = 1
    workers: int = 1
    exchange: float = 0.0005
    exchange_row: float = 0.0
    channel: int = 64
    overhead: float = 0.0
    switch: float = 0.0

    def check(self, where: str) -> None:
        for name, least in (("nodes", 1), ("workers", 1), ("channel", 1)):
            whole(f"{where}.{name}", getattr(self, name), least)
        for name in ("exchange", "exchange_row", "overhead", "switch"):
            at_least(f"{where}.{name}", getattr(self, name), 0.0)
