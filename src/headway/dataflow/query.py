"""A query as the user described it and as the runtime takes it: the plan, the sink, and how it should run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from headway.connectors.api import Sink
from headway.dataflow.graph import Relation
from headway.dataflow.stages import WatermarkPolicy

TriggerKind = Literal["continuous", "processingTime", "availableNow", "once"]


@dataclass(frozen=True)
class Trigger:
    """When results are computed.

    continuous: as rows come, the default; `interval`, if not None, is the time between checkpoints.
    processingTime: results at most once per `interval` seconds (never None).
    availableNow, once: everything that is there at the start, then the query ends; `interval` is None.
    """

    kind: TriggerKind = "continuous"
    interval: float | None = None

    @property
    def ends(self) -> bool:
        return self.kind in ("availableNow", "once")


@dataclass(frozen=True)
class QuerySpec:
    """All that the runtime needs to run a query.

    `id` outlives restarts from the same checkpoint, `run_id` does not. `latency` is the target in seconds, None for a
    bulk query; it is found by measuring iff `auto_latency`. `checkpoint` is a directory, None iff the query cannot
    resume. `options` are the writer's, as the user wrote them. `ordered`: results leave in the order of their events.
    `watermarks` says which of several counts.
    """

    id: str
    run_id: str
    name: str | None
    plan: Relation
    sink: Sink
    output_mode: str
    latency: float | None
    checkpoint: str | None
    trigger: Trigger = field(default_factory=Trigger)
    options: dict[str, str] = field(default_factory=dict)
    ordered: bool = False
    auto_latency: bool = False
    watermarks: WatermarkPolicy = "min"
