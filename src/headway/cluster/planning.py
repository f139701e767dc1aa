"""From a query to what nodes deploy: its stages, its sources' partitions, and the states to go on from."""

from __future__ import annotations

import time
from typing import Any

from headway.cluster.checkpoints import Manifest
from headway.cluster.protocol import Deployment, SourcePlan
from headway.connectors.api import InlineSource, PlannedSource
from headway.connectors.sources import open_source
from headway.dataflow.graph import Source
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import InlineStage, PlanStage, Stage, cut, sources

Connector = InlineSource | PlannedSource
SHORTEST_FLUSH = 0.001
LONGEST_FLUSH = 0.1


def plan_stages(spec: QuerySpec) -> tuple[tuple[Stage, ...], dict[Source, Connector]]:
    """The stages of a query and the connectors of its sources."""
    connectors = {source: open_source(source) for source in sources(spec.plan)}
    inline = frozenset(source for source, connector in connectors.items() if hasattr(connector, "partitions"))
    return cut(spec.plan, inline, spec.output_mode), connectors


def flush_every(spec: QuerySpec) -> float:
    """How long changed groups may wait for others before they leave: a small part of the target."""
    if spec.trigger.kind == "processingTime":
        assert spec.trigger.interval is not None
        return spec.trigger.interval
    return LONGEST_FLUSH if spec.latency is None else min(max(spec.latency / 20, SHORTEST_FLUSH), LONGEST_FLUSH)


def make_deployment(
    spec: QuerySpec,
    stages: tuple[Stage, ...],
    connectors: dict[Source, Connector],
    number: int,
    nodes: int,
    home: int,
    manifest: Manifest | None,
    checkpoint: str,
    conf: dict[str, str],
) -> Deployment:
    """A try to run the query, from `manifest` on."""
    values: dict[int, list[Any]] = {} if manifest is None else manifest.values
    plans = {
        stage.id: _source_plan(stage.source, connectors[stage.source], stage.id, nodes, values.get(stage.id))
        for stage in stages
        if isinstance(stage, InlineStage | PlanStage)
    }
    return Deployment(
        number=number,
        query=spec.id,
        stages=stages,
        sources=plans,
        sink=spec.sink,
        output_mode=spec.output_mode.lower(),
        latency=spec.latency,
        nodes=nodes,
        home=home,
        epoch=0 if manifest is None else manifest.epoch + 1,
        checkpoint=checkpoint,
        states={} if manifest is None else {stage: tuple(files) for stage, files in manifest.files.items()},
        values={stage: tuple(found) for stage, found in values.items() if stage not in plans},
        flush_every=flush_every(spec),
        idle_after=float(conf.get("headway.idleTimeout", "5")),
        compile=conf.get("headway.compile", "true") == "true",
    )


def _source_plan(source: Source, connector: Connector, stage: int, nodes: int, values: list[Any] | None) -> SourcePlan:
    key = f"{source.format}-{stage}"
    if hasattr(connector, "partitions"):
        restored = None
        if values is not None:
            restored = [position for _, position in sorted((pair for node in values for pair in node), key=_number)]
        positions = tuple(connector.partitions(nodes, restored, time.time()))
        return SourcePlan(key, source.format, connector, positions=positions)
    return SourcePlan(key, source.format, connector, start=values[0] if values else None)


def _number(numbered: Any) -> int:
    number: int = numbered[0]
    return number
