"""From what the user said of a query to a query that runs, on Headway's nodes or, where it must, on Spark.

1. Spark's own rules come first, whichever engine will run the query: what Spark refuses is refused here, at `start`.
2. What Headway cannot run natively runs on Structured Streaming from the very same settings, with one warning.
3. A name belongs to one active query; so does a checkpoint, and as in Spark the older run makes way for the newer
   one unless `spark.sql.streaming.stopActiveRunOnRestart` is false.
"""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from headway import checkpoint as checkpoints
from headway.checkpoint import Checkpoint
from headway.connectors.api import Sink, SinkContext
from headway.connectors.sinks import open_sink, table_sink
from headway.connectors.sources import open_source
from headway.dataflow.query import QuerySpec
from headway.dataflow.stages import WatermarkPolicy
from headway.dataflow.windows import groups_end
from headway.errors import FallbackWarning, InvalidOption, UnsupportedPlan
from headway.frontend import LoweredQuery, explain, lower
from headway.gateway import jvm_method
from headway.observe.progress import as_pyspark
from headway.query import StreamingQuery
from headway.runs import NativeRun, SparkRun
from headway.streams import StreamingQueryManager
from headway.writer import WriteSettings

if TYPE_CHECKING:
    from headway.cluster.runtime import Runtime

_CHECKS = "spark.sql.streaming.unsupportedOperationCheck"
_WATERMARKS = "spark.sql.streaming.multipleWatermarkPolicy"
_STOP_OLDER = "spark.sql.streaming.stopActiveRunOnRestart"
_TWO_PATHS = "spark.sql.legacy.pathOptionBehavior.enabled"
_TO_USER_CODE = 5


def launch(
    spark: SparkSession, runtime: Runtime, streams: StreamingQueryManager, settings: WriteSettings, fallback: bool
) -> StreamingQuery:
    """Start the query; see the module."""
    _check_name(spark, streams, settings.name)
    _check_trigger(settings)
    _check_path(spark, settings)
    _check_plan(spark, settings)
    format = _format(spark, settings)
    checkpoint = checkpoints.find(spark, settings.option("checkpointLocation"), settings.name, _where(settings, format))
    try:
        return _launch_native(spark, runtime, streams, settings, format, checkpoint)
    except UnsupportedPlan as reason:
        checkpoint.discard()
        if not fallback:
            raise
        return _launch_spark(spark, streams, settings, checkpoint, reason)
    except BaseException:
        checkpoint.discard()
        raise


def _check_name(spark: SparkSession, streams: StreamingQueryManager, name: str | None) -> None:
    if name is not None and (streams.named(name) or name in [query.name for query in spark.streams.active]):
        raise InvalidOption(f"a query with the name {name!r} is active already: stop it, or choose another queryName")


def _check_trigger(settings: WriteSettings) -> None:
    if settings.continuous_trigger and (settings.format or "").lower() == "foreachbatch":
        raise InvalidOption("foreachBatch does not go with a continuous trigger: leave out .trigger(continuous=…)")


def _check_path(spark: SparkSession, settings: WriteSettings) -> None:
    twice = settings.path is not None and settings.option("path") is not None
    if twice and str(spark.conf.get(_TWO_PATHS, "false")).lower() != "true":
        raise InvalidOption("the path is given twice, as an option and to start(): leave one of them out")


def _check_plan(spark: SparkSession, settings: WriteSettings) -> None:
    """Spark's rules on what may be streamed in which output mode."""
    if str(spark.conf.get(_CHECKS, "true")).lower() != "true":
        return
    catalyst = "org.apache.spark.sql.catalyst"
    mode = jvm_method(spark, f"{catalyst}.streaming.InternalOutputModes", "apply")(settings.output_mode)
    check = jvm_method(spark, f"{catalyst}.analysis.UnsupportedOperationChecker", "checkForStreaming")
    check(settings.df._jdf.queryExecution().analyzed(), mode)


def _format(spark: SparkSession, settings: WriteSettings) -> str:
    return settings.format or str(spark.conf.get("spark.sql.sources.default", "parquet"))


def _where(settings: WriteSettings, format: str) -> str:
    return f"table {settings.table}" if settings.table is not None else format


def _launch_native(
    spark: SparkSession,
    runtime: Runtime,
    streams: StreamingQueryManager,
    settings: WriteSettings,
    format: str,
    checkpoint: Checkpoint,
) -> StreamingQuery:
    if settings.cluster_by:
        raise UnsupportedPlan("clusterBy")
    lowered = lower(settings.df)
    if settings.output_mode.lower() == "append" and not groups_end(lowered.plan):
        raise UnsupportedPlan("aggregation in append mode", "none of its groups' columns is seen to be an event time")
    for source in lowered.sources:
        open_source(source)
    known = checkpoints.query_id(checkpoint)
    id = known or str(uuid.uuid4())
    sink = _sink(spark, settings, format, lowered, id)
    policy = _policy(checkpoints.watermarks(checkpoint) or str(spark.conf.get(_WATERMARKS, "min")).lower())
    if known is None:
        checkpoints.claim(checkpoint, id, policy)
    else:
        _make_way(spark, streams, id)
    spec = _spec(settings, id, lowered, sink, checkpoint, policy)
    running = runtime.submit(spec)
    query = StreamingQuery(NativeRun(spec, running, lambda: explain(settings.df)))
    running.add_progress_callback(lambda progress, idle: streams.progressed(as_pyspark(progress), idle))
    streams.started(query, checkpoint.discard)
    return query


def _sink(spark: SparkSession, settings: WriteSettings, format: str, lowered: LoweredQuery, id: str) -> Sink:
    options = settings.options | ({} if settings.path is None else {"path": settings.path})
    if settings.table is not None:
        format, options = table_sink(spark, settings.table, format, settings.partition_by, options, lowered.schema)
    context = SinkContext(
        spark=spark,
        query_name=settings.name,
        query_id=id,
        schema=lowered.schema,
        output_mode=settings.output_mode,
        options=options,
        partition_by=settings.partition_by,
        payload=settings.payload,
    )
    return open_sink(format, context)


def _spec(
    settings: WriteSettings,
    id: str,
    lowered: LoweredQuery,
    sink: Sink,
    checkpoint: Checkpoint,
    policy: WatermarkPolicy,
) -> QuerySpec:
    return QuerySpec(
        id=id,
        run_id=str(uuid.uuid4()),
        name=settings.name,
        plan=lowered.plan,
        sink=sink,
        output_mode=settings.output_mode,
        latency=settings.latency,
        checkpoint=checkpoint.location,
        trigger=settings.trigger,
        options=dict(settings.options),
        ordered=settings.ordered,
        auto_latency=settings.auto_latency,
        watermarks=policy,
    )


def _policy(policy: str) -> WatermarkPolicy:
    if policy not in ("min", "max"):
        raise InvalidOption(f"{_WATERMARKS} is {policy!r}; use min or max")
    return "max" if policy == "max" else "min"


def _make_way(spark: SparkSession, streams: StreamingQueryManager, id: str | None) -> None:
    """See that no other query runs on the checkpoint of `id`."""
    active = next((query for query in [*streams.active, *spark.streams.active] if query.id == id), None)
    if active is None:
        return
    if str(spark.conf.get(_STOP_OLDER, "true")).lower() != "true":
        raise InvalidOption(f"query {active.name or id} is active on this checkpointLocation: stop it, or use another")
    active.stop()


def _launch_spark(
    spark: SparkSession,
    streams: StreamingQueryManager,
    settings: WriteSettings,
    checkpoint: Checkpoint,
    reason: UnsupportedPlan,
) -> StreamingQuery:
    if not checkpoint.temporary:
        _make_way(spark, streams, checkpoints.check_for_spark(checkpoint))
    warnings.warn(
        f"{reason}; so query {settings.name or 'without a name'} runs on Structured Streaming "
        "(start(fallback=False) makes this an error)",
        FallbackWarning,
        stacklevel=_TO_USER_CODE,
    )
    writer = settings.spark_writer
    if settings.format == "foreach":
        writer.foreach(settings.payload)
    elif settings.format == "foreachBatch":
        writer.foreachBatch(settings.payload)
    started = writer.toTable(settings.table) if settings.table is not None else writer.start(settings.path)
    query = StreamingQuery(SparkRun(started, settings.latency))
    streams.started(query, lambda: None)
    return query
