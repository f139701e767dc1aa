"""A simulation as a value, checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.simulate.checks import check_jobs
from headway.simulate.jobs import Cluster, Job, above_zero, invalid


@dataclass(frozen=True)
class Scenario:
    """A simulation. Sources run for `seconds`; what came in the first `warm_up` of them does not count. Then the
    cluster works off what waits, if `drain`. `x` is a figure's horizontal value."""

    name: str
    jobs: tuple[Job, ...]
    cluster: Cluster = field(default_factory=Cluster)
    seconds: float = 30.0
    warm_up: float = 0.0
    seed: int = 1
    drain: bool = True
    x: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings of policies that are given by name: `headway.scheduling.*`."""

    def __post_init__(self) -> None:
        self.cluster.check("cluster")
        above_zero("seconds", self.seconds)
        if not 0.0 <= self.warm_up < self.seconds:
            raise invalid("warm_up", f"{self.warm_up:g} will not do; use at least 0 and less than seconds")
        check_jobs(self.jobs, self.cluster.nodes)
