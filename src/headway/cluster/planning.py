"""From a query to what nodes deploy: its stages, its sources' partitions, and the states to go on from."""

from __future__ import annotations

import time
import zlib
from typing import Any

from headway.cluster.checkpoints import CheckpointStore, Manifest
from headway.cluster.protocol import Deployment, SourcePlan
from headway.cluster.target import Target
from headway.connectors.api import Connector
from headway.connectors.sources import open_sources
from headway.dataflow.graph import Source
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import InlineStage, PlanStage, Stage, WatermarkPolicy, cut, has_watermark
from headway.errors import InvalidOption
from headway.intervals import seconds

SHORTEST_FLUSH = 0.001
LONGEST_FLUSH = 0.1
CHECKPOINT_INTERVAL = "2 seconds"
SHORTEST_CHECKPOINT = 0.1


def plan_stages(spec: QuerySpec, conf: dict[str, str]) -> tuple[tuple[Stage, ...], dict[Source, Connector]]:
    """The stages of a query and the connectors of its sources."""
    plan, connectors = open_sources(spec.plan)
    inline = frozenset(source for source, connector in connectors.items() if hasattr(connector, "partitions"))
    fuse = _one_of(query_settings(spec, conf), "headway.fuse", "true", "false") == "true"
    return cut(plan, inline, spec.output_mode, spec.watermarks, fuse), connectors


def begin_at(
    store: CheckpointStore, stages: tuple[Stage, ...], connectors: dict[Source, Connector]
) -> dict[int, list[Any]]:
    """Where a new query begins in the sources that have to be asked, as a manifest has it: found once, then kept."""
    asked = [s for s in stages if isinstance(s, InlineStage) and hasattr(connectors[s.source], "settle")]
    if not asked or store.latest() is not None:
        return {}
    found = store.beginning()
    if found is None:
        found = {stage.id: [[(0, connectors[stage.source].settle())]] for stage in asked}  # type: ignore[union-attr]
        store.begin(found)
    return found


def query_settings(spec: QuerySpec, conf: dict[str, str]) -> dict[str, str]:
    """The settings of a query, names in lower case: its own options, else the session's."""
    return {name.lower(): value for name, value in (conf | spec.options).items() if name.lower().startswith("headway.")}


def members_of(spec: QuerySpec, conf: dict[str, str], nodes: int) -> tuple[int, ...]:
    """Which of the session's nodes a query runs on: one if its results must come in order.

    The first is the home of the stages that run on one node; queries are spread over the nodes by their ids.
    """
    asked = "1" if spec.ordered else query_settings(spec, conf).get("headway.nodes", str(nodes))
    if not asked.isdigit() or not 1 <= int(asked) <= nodes:
        raise InvalidOption(f"headway.nodes is {asked!r}; use a whole number from 1 to {nodes}, the nodes there are")
    home = zlib.crc32(spec.id.encode()) % nodes
    return tuple((home + i) % nodes for i in range(int(asked)))


def checkpoint_interval(spec: QuerySpec, conf: dict[str, str]) -> float:
    """Seconds between checkpoints; where rows show only then, the target sets the pace."""
    if spec.trigger.kind == "continuous" and spec.trigger.interval is not None:
        return spec.trigger.interval
    chosen = seconds(query_settings(spec, conf).get("headway.checkpointinterval", CHECKPOINT_INTERVAL))
    if spec.sink.visible_at_commit and spec.latency is not None:
        return min(chosen, max(spec.latency / 2, SHORTEST_CHECKPOINT))
    return chosen


def flush_every(spec: QuerySpec, latency: float | None) -> float:
    """How long changed groups may wait for others before they leave: a small part of the target."""
    if spec.trigger.kind == "processingTime":
        assert spec.trigger.interval is not None
        return spec.trigger.interval
    return LONGEST_FLUSH if latency is None else min(max(latency / 20, SHORTEST_FLUSH), LONGEST_FLUSH)


def make_deployment(
    spec: QuerySpec,
    stages: tuple[Stage, ...],
    connectors: dict[Source, Connector],
    number: int,
    members: tuple[int, ...],
    manifest: Manifest | None,
    beginning: dict[int, list[Any]],
    checkpoint: str,
    conf: dict[str, str],
    target: Target,
    first_epoch: int = 0,
) -> Deployment:
    """A try to run the query, from `manifest` on, or from its `beginning`.

    `first_epoch` is the one with which this run of the query began: what is of an earlier one is of another run.
    """
    kept = beginning if manifest is None else manifest.values
    anew = manifest is not None and manifest.epoch < first_epoch
    values = _remembered(kept, stages, spec.watermarks) if anew else kept
    settings = query_settings(spec, conf)
    plans = _source_plans(stages, connectors, len(members), values)
    return Deployment(
        number=number,
        query=spec.id,
        name=spec.name or spec.id,
        stages=stages,
        sources=plans,
        sink=spec.sink,
        output_mode=spec.output_mode.lower(),
        watermarks=spec.watermarks,
        latency=target.urgency,
        measuring=target.measuring,
        members=members,
        epoch=0 if manifest is None else manifest.epoch + 1,
        checkpoint=checkpoint,
        states={} if manifest is None else {stage: tuple(files) for stage, files in manifest.files.items()},
        values={stage: tuple(found) for stage, found in values.items() if stage not in plans},
        flush_every=flush_every(spec, target.urgency),
        idle_after=seconds(settings.get("headway.idletimeout", "5 seconds")),
        compile=_one_of(settings, "headway.compile", "background", "first", "never"),
        isolation=_one_of(settings, "headway.udf.isolation", "inline", "process"),
        code_limit=seconds(settings.get("headway.udf.timeout", "10 seconds")),
    )


def _remembered(
    values: dict[int, list[Any]], stages: tuple[Stage, ...], policy: WatermarkPolicy
) -> dict[int, list[Any]]:
    """Of the values of stages, those that a query still knows which was stopped and started."""
    forgotten = streams_ahead(stages, policy)
    return {stage: found for stage, found in values.items() if stage not in forgotten}


def streams_ahead(stages: tuple[Stage, ...], policy: WatermarkPolicy) -> frozenset[int]:
    """The stages whose own watermark a restarted query forgets: Spark forgets which of several streams was ahead.

    So no watermark is ahead of Spark's; that of the query, which state has reached, is kept. After the failure of a
    node, of which Spark's driver would not forget anything either, all is kept.
    """
    begin = [stage.id for stage in stages if has_watermark(stage)]
    return frozenset(begin if policy == "min" and len(begin) > 1 else ())


def _source_plans(
    stages: tuple[Stage, ...], connectors: dict[Source, Connector], nodes: int, values: dict[int, list[Any]]
) -> dict[int, SourcePlan]:
    return {
        stage.id: _source_plan(stage.source, connectors[stage.source], stage.id, nodes, values.get(stage.id))
        for stage in stages
        if isinstance(stage, InlineStage | PlanStage)
    }


def _source_plan(source: Source, connector: Connector, stage: int, nodes: int, values: list[Any] | None) -> SourcePlan:
    key = f"{source.format}-{stage}"
    if hasattr(connector, "partitions"):
        restored = None
        if values is not None:
            restored = [position for _, position in sorted((pair for node in values for pair in node), key=_number)]
        positions = tuple(connector.partitions(nodes, restored, time.time()))  # type: ignore[arg-type]
        return SourcePlan(key, source.format, connector, positions=positions)
    return SourcePlan(key, source.format, connector, start=values[0] if values else None)


def _one_of(settings: dict[str, str], name: str, *choices: str) -> str:
    """A setting that has these choices, the first if it is not set."""
    found = settings.get(name, choices[0])
    if found not in choices:
        raise InvalidOption(f"{name} is {found!r}; use {', '.join(choices[:-1])} or {choices[-1]}")
    return found


def _number(numbered: Any) -> int:
    number: int = numbered[0]
    return number
