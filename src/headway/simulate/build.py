"""From a scenario to its operators, wired and placed."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from headway.scheduling import Converter, Lag, ProgressMap
from headway.simulate.arrivals import streams
from headway.simulate.checks import edge_of, input_names
from headway.simulate.jobs import WINDOWED, Job, StageSpec
from headway.simulate.operators import Channel, Edge, Operator, SourceOperator, WindowOperator
from headway.simulate.scenario import Scenario


@dataclass
class Built:
    """A job's operators, by stage, upstream first."""

    name: str
    spec: Job
    stages: dict[str, list[Operator]] = field(default_factory=dict)
    lag: Lag = field(default_factory=Lag)

    @property
    def operators(self) -> list[Operator]:
        return [operator for stage in self.stages.values() for operator in stage]

    @property
    def sources(self) -> list[SourceOperator]:
        return [operator for operator in self.operators if isinstance(operator, SourceOperator)]


def build(scenario: Scenario) -> list[Built]:
    """The jobs, each as often as its count says."""
    named = [(name, job) for job in scenario.jobs for name in job.names()]
    builder = _Builder(scenario)
    return [builder.job(number, name, job) for number, (name, job) in enumerate(named)]


class _Builder:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._operators = 0
        self._start = 0
        """The node of the next job's first operators."""

    def job(self, number: int, name: str, job: Job) -> Built:
        built = Built(name, job)
        for i, stage in enumerate(job.stages):
            made = [self._operator(built, number, stage, place) for place in range(stage.parallelism)]
            built.stages[stage.name] = made
            if stage.kind == "source":
                self._feed(built, number, i, stage)
            for upstream in input_names(job, i):
                self._wire(built, upstream, stage)
        for operator in built.operators:
            operator.wired()
        # One further than the widest stage reached, so that stages of one operator do not meet on a node either.
        self._start += max(stage.parallelism for stage in job.stages) + 1
        return built

    def _operator(self, built: Built, job: int, stage: StageSpec, place: int) -> Operator:
        self._operators += 1
        own = Converter(built.name, inf if built.spec.latency is None else built.spec.latency)
        kind = SourceOperator if stage.kind == "source" else WindowOperator if stage.kind in WINDOWED else Operator
        made = kind(self._operators, job, stage.name, place, self._node(stage, place), stage.cost, own)
        made.selectivity = stage.selectivity
        flow = made.profile.flow
        flow.stage, flow.place, flow.lag = stage.name, self._operators, built.lag
        made.random = np.random.default_rng([self._scenario.seed, self._operators])
        if isinstance(made, WindowOperator):
            assert stage.window is not None
            made.windows = stage.window.windows()
            made.copies = stage.window.copies
            made.groups = stage.groups
        return made

    def _node(self, stage: StageSpec, place: int) -> int:
        if stage.nodes is not None:
            return stage.nodes[place % len(stage.nodes)]
        return (self._start + place) % self._scenario.cluster.nodes

    def _feed(self, built: Built, job: int, stage_number: int, stage: StageSpec) -> None:
        assert stage.arrivals is not None
        end = min(self._scenario.seconds, inf if built.spec.end is None else built.spec.end)
        seed = (self._scenario.seed, job, stage_number)
        drawn = streams(stage.arrivals, stage.parallelism, built.spec.start, max(end, built.spec.start), seed)
        for operator, stream in zip(built.sources[-stage.parallelism :], drawn, strict=True):
            operator.stream = stream
            operator.scheduled = stage.cost.message > 0.0 or stage.cost.row > 0.0 or stream.seconds is not None
            operator.inputs.append(Channel(None, None, operator, 0))

    def _wire(self, built: Built, upstream: str, stage: StageSpec) -> None:
        senders, receivers = built.stages[upstream], built.stages[stage.name]
        kind = edge_of(stage, next(s for s in built.spec.stages if s.name == upstream))
        counts = isinstance(senders[0], SourceOperator) and not senders[0].edges
        for place, sender in enumerate(senders):
            edge = Edge(self._converter(built.spec, sender, stage))
            sender.edges.append(edge)
            for receiver in [receivers[place % len(receivers)]] if kind == "forward" else receivers:
                channel = Channel(sender, edge, receiver, self._scenario.cluster.channel)
                channel.counts = counts
                edge.channels.append(channel)
                receiver.inputs.append(channel)

    def _converter(self, job: Job, sender: Operator, stage: StageSpec) -> Converter:
        windows = stage.window.windows() if stage.window is not None else None
        if windows is not None and _slide(job, sender.name) >= windows.slide:
            windows = None  # rows that come are of windows as long: they complete them
        progress = ProgressMap() if windows is not None and job.event_time else None
        return Converter(sender.own.query, sender.own.latency, windows, progress)


def _slide(job: Job, name: str) -> int:
    """The longest slide of windows up to a stage, microseconds."""
    number = next(i for i, stage in enumerate(job.stages) if stage.name == name)
    window = job.stages[number].window
    if window is not None:
        return window.windows().slide
    return max((_slide(job, upstream) for upstream in input_names(job, number)), default=0)
