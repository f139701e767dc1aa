"""What a deployment goes on from."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as T

from headway.cluster.checkpoints import Manifest
from headway.cluster.planning import make_deployment, streams_ahead
from headway.cluster.target import Target
from headway.connectors.api import SinkContext
from headway.connectors.sinks.noop import NoopSink
from headway.connectors.sources import open_source
from headway.dataflow.expr import Column
from headway.dataflow.graph import AggCall, Aggregate, Relation, Source, Union, Watermark
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import MergeStage, Stage, cut, has_watermark, sources
from headway.dataflow.types import Field

SCHEMA = (Field("timestamp", T.TimestampType()), Field("value", T.LongType()))


def stages(streams: int, policy: Any = "min") -> tuple[tuple[Stage, ...], Relation]:
    """Of an aggregation of so many streams, each with its watermark."""
    read = [Source(SCHEMA, "rate", (("rowspersecond", str(n + 1)),)) for n in range(streams)]
    timed = tuple(Watermark(SCHEMA, source, 0, 1000) for source in read)
    rows = timed[0] if streams == 1 else Union(SCHEMA, timed)
    counts = (AggCall("count", (), T.LongType()),)
    root = Aggregate(SCHEMA, rows, (Column(T.TimestampType(), 0),), counts, event_key=0)
    return cut(root, frozenset(read), "append", policy), root


@pytest.mark.parametrize(("streams", "policy", "forgotten"), [(1, "min", 0), (2, "min", 2), (2, "max", 0)])
def test_a_restart_forgets_which_of_several_streams_was_ahead(streams: int, policy: Any, forgotten: int) -> None:
    made, _ = stages(streams, policy)
    ahead = streams_ahead(made, policy)
    assert len(ahead) == forgotten
    assert ahead <= {stage.id for stage in made if has_watermark(stage)}


@pytest.mark.parametrize(("first_epoch", "known"), [(8, False), (7, True), (0, True)])
def test_what_this_run_knew_of_its_streams_is_not_forgotten(first_epoch: int, known: bool) -> None:
    made, root = stages(2)
    watermarked = {stage.id for stage in made if has_watermark(stage)}
    [merge] = [stage.id for stage in made if isinstance(stage, MergeStage)]
    manifest = Manifest(7, values={id: [10, 20] for id in (*watermarked, merge)})
    sink = NoopSink("noop", SinkContext(None, None, "id", SCHEMA, "append", {}, (), None))
    spec = QuerySpec("id", "run", None, root, sink, "append", None, "/nowhere")
    connectors = {source: open_source(source) for source in sources(root)}
    deployment = make_deployment(
        spec, made, connectors, 0, (0,), manifest, {}, "/nowhere", {}, Target(None), first_epoch
    )
    assert merge in deployment.values
    assert watermarked.isdisjoint(deployment.values) is not known
